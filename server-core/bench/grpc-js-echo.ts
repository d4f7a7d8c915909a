/**
 * What our gRPC server is compared with: a service made with @grpc/grpc-js and @grpc/proto-loader as they come, over the same .proto files, whose ModelInfer
 * answers each input as an output. Prints `PORT <n>`; ends with SIGTERM.
 */
import { fileURLToPath } from 'node:url'
import { loadPackageDefinition, Server, ServerCredentials, type ServiceDefinition, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

interface Message {
  readonly model_name: string
  readonly id: string
  readonly inputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly string[] }[]
  readonly raw_input_contents: readonly Buffer[]
}

const definition = loadSync('grpc_service.proto', {
  keepCase: true, longs: String, enums: String, defaults: true, oneofs: true, includeDirs: [fileURLToPath(new URL('../frontends/grpc/proto', import.meta.url))],
})
const { inference } = loadPackageDefinition(definition) as unknown as { readonly inference: { readonly GRPCInferenceService: { readonly service: ServiceDefinition } } }
const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
server.addService(inference.GRPCInferenceService.service, {
  ModelInfer({ request }: ServerUnaryCall<Message, object>, callback: sendUnaryData<object>): void {
    callback(null, {
      model_name: request.model_name, model_version: '1', id: request.id,
      outputs: request.inputs.map(({ name, datatype, shape }) => ({ name: name.replace('INPUT', 'OUTPUT'), datatype, shape })), raw_output_contents: request.raw_input_contents,
    })
  },
})
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.stdout.write(`PORT ${port}\n`)
})
process.once('SIGTERM', () => { server.forceShutdown() })
