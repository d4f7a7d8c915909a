/** The gRPC front end (port 8001): GRPCInferenceService and grpc.health.v1.Health (protocol section 9). */
import type { Tensor } from '../../contract/inference.ts'
import type { Logger } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import type { Frontend, FrontendOptions } from '../frontend.ts'
import { defaultServices } from '../frontend-services.ts'
import type { LinearPattern } from '../linear-pattern.ts'
import { type ApiCategory, type RestrictedApi, restrictionsByCategory } from '../restricted-api.ts'
import { statusOf } from './call-status.ts'
import { type ForwardedHeaders, forwardedHeaders } from './forwarded-headers.ts'
import { InferStream } from './infer-stream.ts'
import { type CallContext, type CallEnvironment, UNARY_METHODS, type UnaryMethod } from './methods.ts'
import { loadProtoServices, type ServiceMethods } from './proto-services.ts'
import { releasing } from './release-when-sent.ts'
import { type ConnectionOptions, DEFAULT_CONNECTION_OPTIONS } from './transport/connection.ts'
import type { GrpcCall } from './transport/grpc-call.ts'
import { type CallHandler, GrpcServer, type TlsOptions } from './transport/grpc-server.ts'
import { GRPC_STATUS, OK_STATUS } from './transport/grpc-status.ts'
import { type OutgoingMessage, outgoingMessage } from './transport/message.ts'
import { type CompressionLevel, encodingForLevel } from './transport/message-compression.ts'
import { readInferRequestMessage } from './wire/infer-request-reader.ts'
import { ProtobufError } from './wire/protobuf-reader.ts'
import { writeInferResponseMessage } from './wire/infer-response-writer.ts'
import type { WireInferResponse } from './wire/wire-types.ts'

export interface GrpcFrontendOptions extends FrontendOptions {
  /** Where a bundled server has its .proto files; default: beside the source. */
  readonly protoDirectory?: string | undefined
  readonly connection?: Partial<ConnectionOptions> | undefined
  /** Default: none, every byte is readable on the way. */
  readonly tls?: TlsOptions | null | undefined
  /** `--grpc-infer-response-compression-level`. */
  readonly responseCompression?: CompressionLevel | undefined
  /** `--grpc-header-forward-pattern`; null: nothing is forwarded. */
  readonly headerForwardPattern?: LinearPattern | null | undefined
  /** See `GrpcServerOptions`; default one minute. */
  readonly stallMilliseconds?: number | undefined
}

/** Metadata key prefix of `--grpc-restricted-protocol` headers. */
const RESTRICTED_HEADER_PREFIX = 'triton-grpc-protocol-'
const STALL_MILLISECONDS = 60_000

/** The standard health service; `service` is ignored. */
const HEALTH_CHECK: UnaryMethod = { category: 'health', run: async (_request, { server }) => ({ status: await server.askReady() ? 'SERVING' : 'NOT_SERVING' }) }

/** @throws ServerError UNAVAILABLE that names the port and `--grpc-port` when it cannot be bound. */
export async function startGrpcFrontend(options: GrpcFrontendOptions): Promise<Frontend> {
  const { log } = options
  const services = loadProtoServices(options.protoDirectory)
  const calls = new CallHandlers(options)
  const handlers = new Map<string, CallHandler>()
  const add = (methods: ServiceMethods, name: string, handle: (call: GrpcCall, codec: Codec) => void, isUnary = true) => {
    const definition = methods[name]
    if (definition === undefined) throw new ServerError('INTERNAL', `the protocol files have no call ${name}. Reinstall the application.`)
    const codec: Codec = name === 'ModelInfer' ? INFER_CODEC : {
      read: (bytes) => readMessage(definition.requestDeserialize, bytes), write: (reply) => outgoingMessage(definition.responseSerialize(reply as object)),
    }
    handlers.set(definition.path, { isUnary, handle: (call) => { handle(call, codec) } })
  }
  for (const [name, method] of Object.entries(UNARY_METHODS)) add(services.inference, name, (call, codec) => { calls.unary(call, name, method, codec) })
  add(services.health, 'Check', (call, codec) => { calls.unary(call, 'Check', HEALTH_CHECK, codec) })
  add(services.inference, 'ModelStreamInfer', (call) => { calls.stream(call, server) }, false)
  const server = new GrpcServer({
    connection: { ...DEFAULT_CONNECTION_OPTIONS, ...options.connection }, tls: options.tls ?? null, stallMilliseconds: options.stallMilliseconds ?? STALL_MILLISECONDS, log,
  }, handlers)
  const { address, port } = await server.listen(options.address, options.port, '--grpc-port', options.reusePort)
  log.verbose(1, 'gRPC service started', { address, port, tls: options.tls !== undefined && options.tls !== null })
  return { address, port, stop: (timeoutSeconds) => server.stop(timeoutSeconds) }
}

/** How a call's messages are read and written. */
interface Codec {
  /** @throws what cannot be read */
  read(bytes: Buffer): unknown
  write(reply: unknown): OutgoingMessage
}

const INFER_CODEC: Codec = { read: readInferRequestMessage, write: (reply) => writeInferResponseMessage(reply as WireInferResponse) }

/** @throws ProtobufError when the bytes are no such message; protobufjs itself throws errors of JavaScript */
function readMessage(deserialize: (bytes: Buffer) => object, bytes: Buffer): object {
  try {
    return deserialize(bytes)
  } catch (error) {
    // The only message that protobufjs decodes and then stumbles over.
    if (error instanceof TypeError) throw new ProtobufError('an entry of a map has no value', { cause: error })
    throw new ProtobufError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

class CallHandlers {
  readonly #environment: CallEnvironment
  readonly #restrictions: ReadonlyMap<ApiCategory, RestrictedApi>
  readonly #compression: CompressionLevel
  readonly #forwardPattern: LinearPattern | null
  readonly #log: Logger

  constructor(options: GrpcFrontendOptions) {
    this.#log = options.log
    this.#compression = options.responseCompression ?? 'none'
    this.#forwardPattern = options.headerForwardPattern ?? null
    this.#restrictions = restrictionsByCategory(options.restrictedApis ?? [])
    this.#environment = {
      server: options.server,
      services: options.services ?? defaultServices(),
      allowRepositoryControl: options.allowRepositoryControl || this.#restrictions.has('model-repository'),
    }
  }

  unary(call: GrpcCall, name: string, method: UnaryMethod, codec: Codec): void {
    const controller = new AbortController()
    let hasMessage = false
    const fail = (error: unknown) => { call.end(statusOf(error, name, this.#log)) }
    if (name === 'ModelInfer') this.#compressResponses(call)
    call.start({
      message: (bytes) => {
        if (hasMessage) {
          call.abort({ code: GRPC_STATUS.INTERNAL, details: `${name} takes one request message, and got another` })
          return
        }
        hasMessage = true
        const outputs: Tensor[] = []
        this.#answer(call, method, codec, bytes, { signal: controller.signal, releaseWhenSent: (made) => { outputs.push(...made) } }).then((reply) => {
          call.send(codec.write(reply), outputs.length === 0 ? undefined : releasing(outputs))
          call.end(OK_STATUS)
        }).catch(fail)
      },
      halfClosed: () => { if (!hasMessage) call.end({ code: GRPC_STATUS.INTERNAL, details: `${name} takes one request message, and got none` }) },
      cancelled: () => { controller.abort() },
    })
  }

  stream(call: GrpcCall, work: GrpcServer): void {
    let forwarded: ForwardedHeaders
    try {
      this.#checkRestriction('inference', call)
      forwarded = forwardedHeaders(call.headers, this.#forwardPattern)
    } catch (error) {
      call.start({ message: () => {}, halfClosed: () => {}, cancelled: () => {} })
      call.end(statusOf(error, 'ModelStreamInfer', this.#log))
      return
    }
    this.#compressResponses(call)
    call.start(new InferStream({ call, environment: this.#environment, forwarded, work, log: this.#log }))
  }

  async #answer(call: GrpcCall, method: UnaryMethod, codec: Codec, bytes: Buffer, context: Pick<CallContext, 'signal' | 'releaseWhenSent'>): Promise<unknown> {
    this.#checkRestriction(method.category, call)
    const forwarded = forwardedHeaders(call.headers, method.category === 'inference' ? this.#forwardPattern : null)
    // The codec made the message that this method declares.
    return method.run(codec.read(bytes) as never, this.#environment, { ...context, forwarded, inputsAreFree: () => { call.recycle(bytes) } })
  }

  #checkRestriction(category: ApiCategory, call: GrpcCall): void {
    const restriction = this.#restrictions.get(category)
    if (restriction === undefined) return
    const header = RESTRICTED_HEADER_PREFIX + restriction.header.toLowerCase()
    if (call.metadata(header) !== restriction.value) throw new ServerError('UNAVAILABLE', `This protocol is restricted, expecting header '${header}'`)
  }

  #compressResponses(call: GrpcCall): void {
    call.compressResponses(encodingForLevel(this.#compression, call.metadata('grpc-accept-encoding') ?? ''))
  }
}
