/** The gRPC front end (port 8001): GRPCInferenceService and grpc.health.v1.Health over HTTP/2 without TLS (protocol section 9). */
import { type handleUnaryCall, logVerbosity, type Metadata, Server, ServerCredentials, type ServerDuplexStream, setLogVerbosity, status } from '@grpc/grpc-js'
import { ERROR_KINDS } from '../../contract/errors.ts'
import type { Logger } from '../../logger.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import { type Frontend, type FrontendOptions, listenError, logDraining, timerMilliseconds } from '../frontend.ts'
import { defaultServices } from '../frontend-services.ts'
import { type ApiCategory, type RestrictedApi, restrictionsByCategory } from '../restricted-api.ts'
import { type CallEnvironment, PermissionDeniedError, UNARY_METHODS, type UnaryMethod } from './methods.ts'
import { loadProtoServices } from './proto-services.ts'

export interface GrpcFrontendOptions extends FrontendOptions {
  /** Where a bundled server has its .proto files; default: beside the source. */
  readonly protoDirectory?: string | undefined
}

/** Both ways, as Triton's (2 GiB - 1). */
const MAX_MESSAGE_BYTES = 2_147_483_647
/** Metadata key prefix of `--grpc-restricted-protocol` headers. */
const RESTRICTED_HEADER_PREFIX = 'triton-grpc-protocol-'

const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.keepalive_time_ms': 7_200_000,
  'grpc.keepalive_timeout_ms': 20_000,
}

/** @throws ServerError UNAVAILABLE that names the port and `--grpc-port` when it cannot be bound. */
export async function startGrpcFrontend(options: GrpcFrontendOptions): Promise<Frontend> {
  const { address, log } = options
  // The library would write to standard error by itself; what matters arrives here as errors.
  setLogVerbosity(logVerbosity.NONE)
  const services = loadProtoServices(options.protoDirectory)
  const calls = new CallHandlers(options)
  const grpc = new Server(CHANNEL_OPTIONS)
  grpc.addService(services.inference, {
    ...Object.fromEntries(Object.entries(UNARY_METHODS).map(([name, method]) => [name, calls.unary(name, method)])),
    ModelStreamInfer: refuseStream,
  })
  grpc.addService(services.health, { Check: calls.health() })
  const port = await bind(grpc, address, options.port)
  log.verbose(1, 'gRPC service started', { address, port })
  return { address, port, stop: (timeoutSeconds) => shutDown(grpc, timeoutSeconds, log, calls) }
}

class CallHandlers {
  readonly #environment: CallEnvironment
  readonly #restrictions: ReadonlyMap<ApiCategory, RestrictedApi>
  readonly #log: Logger
  /** Calls that are not answered yet. */
  callCount = 0

  constructor(options: GrpcFrontendOptions) {
    this.#log = options.log
    this.#restrictions = restrictionsByCategory(options.restrictedApis ?? [])
    this.#environment = {
      server: options.server,
      services: options.services ?? defaultServices(),
      allowRepositoryControl: options.allowRepositoryControl || this.#restrictions.has('model-repository'),
    }
  }

  unary(name: string, method: UnaryMethod): handleUnaryCall<unknown, unknown> {
    return (call, callback) => {
      const controller = new AbortController()
      call.once('cancelled', () => { controller.abort() })
      this.callCount++
      this.#run(method, call.request, call.metadata, controller.signal).then(
        (value) => { callback(null, value) },
        (error: unknown) => { callback(this.#statusOf(name, error)) },
      ).finally(() => { this.callCount-- })
    }
  }

  /** The standard health service; `service` is ignored. */
  health(): handleUnaryCall<unknown, unknown> {
    return this.unary('Check', {
      category: 'health',
      run: (_request, { server }) => ({ status: server.isReady() ? 'SERVING' : 'NOT_SERVING' }),
    })
  }

  async #run(method: UnaryMethod, request: unknown, metadata: Metadata, signal: AbortSignal): Promise<unknown> {
    const restriction = this.#restrictions.get(method.category)
    if (restriction !== undefined) {
      const header = RESTRICTED_HEADER_PREFIX + restriction.header.toLowerCase()
      if (metadata.get(header)[0] !== restriction.value) {
        throw new ServerError('UNAVAILABLE', `This protocol is restricted, expecting header '${header}'`)
      }
    }
    // The service definition decoded the request to the message this method declares.
    return method.run(request as never, this.#environment, signal)
  }

  #statusOf(name: string, error: unknown): { code: number; details: string } {
    if (error instanceof PermissionDeniedError) return { code: status.PERMISSION_DENIED, details: error.message }
    if (!(error instanceof ServerError)) {
      const cause = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#log.error('unexpected error while answering a call', { call: name, cause })
    }
    const { kind, message } = toServerError(error)
    return { code: ERROR_KINDS[kind].grpcStatus, details: message }
  }
}

function refuseStream(call: ServerDuplexStream<unknown, unknown>): void {
  call.emit('error', { code: status.UNIMPLEMENTED, details: 'ModelStreamInfer is not served by this version of the server; use ModelInfer.' })
}

function bind(grpc: Server, address: string, port: number): Promise<number> {
  const target = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  return new Promise((resolve, reject) => {
    grpc.bindAsync(target, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) { resolve(bound); return }
      const code = /E(ADDRINUSE|ACCES|ADDRNOTAVAIL)/.exec(error.message)?.[0]
      reject(listenError(Object.assign(error, { port }, code === undefined ? {} : { code }), address, port, '--grpc-port'))
    })
  })
}

/** New calls are refused, calls in flight are waited for, then connections are cut. */
async function shutDown(grpc: Server, timeoutSeconds: number, log: Logger, calls: CallHandlers): Promise<void> {
  const endLog = logDraining(log, timeoutSeconds, () => `${calls.callCount} gRPC service connections and inference handlers`)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => { grpc.forceShutdown() }, timerMilliseconds(timeoutSeconds))
    grpc.tryShutdown(() => { clearTimeout(timer); resolve() })
  })
  endLog()
}
