/** A small gRPC client for tests over our own .proto files. */
import { Client, credentials, type ServiceError } from '@grpc/grpc-js'
import { loadProtoServices } from '../frontends/grpc/proto-services.ts'

const UNLIMITED = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

export type GrpcReply = Readonly<Record<string, unknown>>

export class GrpcClient {
  readonly #services = loadProtoServices()
  readonly #client: Client

  constructor(port: number) { this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), UNLIMITED) }

  /** Rejects with the ServiceError of a failed call. */
  call(method: string, request: object): Promise<GrpcReply> {
    const definition = this.#services.inference[method] ?? this.#services.health[method]
    if (definition === undefined) throw new Error(`no method ${method}`)
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(definition.path, definition.requestSerialize, definition.responseDeserialize, request,
        (error, reply) => { if (error === null) resolve(reply as GrpcReply); else reject(error) })
    })
  }

  /** Code and text of a call that must fail. */
  async failure(method: string, request: object): Promise<{ code: number; details: string }> {
    try {
      await this.call(method, request)
    } catch (error) {
      const { code, details } = error as ServiceError
      return { code, details }
    }
    throw new Error(`${method} did not fail`)
  }

  close(): void { this.#client.close() }
}
