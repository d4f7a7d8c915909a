import type { NpuFallback, NpuSource } from './contract/devices.ts'
import type { ModelControlMode } from './contract/repository.ts'
import type { RepositoryTrustMode } from './contract/repository-trust.ts'
import type { LogFormat, LogSettings } from './logger.ts'
import { headerForwardPattern } from './frontends/header-forwarding.ts'
import { DEFAULT_GRPC_TRANSPORT_OPTIONS, type GrpcTransportOptions } from './frontends/grpc/grpc-options.ts'
import type { RestrictedApi } from './frontends/restricted-api.ts'
import { DEFAULT_METRICS_CONFIG, type MetricsConfig } from './metrics/metrics-config.ts'
import type { HostPolicies } from './model/host-policy.ts'
import type { RateLimitResource } from './scheduling/rate-limiter.ts'
import { DEFAULT_TRACE_CONFIG, type TraceConfig } from './tracing/trace-settings.ts'

/** Everything the server can be told, with Triton's option names. Built once, frozen, and handed to constructors. */
export interface ServerOptions {
  readonly id: string
  readonly modelRepositories: readonly string[]
  readonly modelControlMode: ModelControlMode
  /** Explicit mode: models loaded at start; `*` alone means all. */
  readonly loadModels: readonly string[]
  /** `configs/<name>.pbtxt` of a model is used instead of its config.pbtxt where it exists; '' : never. */
  readonly modelConfigName: string
  readonly repositoryPollSeconds: number
  readonly exitOnError: boolean
  readonly exitTimeoutSeconds: number
  readonly strictReadiness: boolean
  readonly disableAutoCompleteConfig: boolean
  /** Whether code of repositories (model.py, libraries beside a model) runs at once, or after somebody trusted them in the console. */
  readonly repositoryTrust: RepositoryTrustMode
  readonly modelLoadThreadCount: number
  /** How often a version that fails to load is tried again. */
  readonly modelLoadRetryCount: number
  /** `--cache-config=<cache>,<setting>=<value>`: cache name to settings. Only the cache `local` exists, with the setting `size` (bytes). */
  readonly cacheConfig: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** `--response-cache-byte-size`, deprecated: the size of the cache `local`; 0: not given. */
  readonly responseCacheByteSize: number
  /** `--backend-config=<backend>,<key>=<value>`: backend name ('' for all) to settings. */
  readonly backendConfig: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** `--backend-directory`: where backend libraries are looked for before those that come with the server; '' : only there. */
  readonly backendDirectory: string
  /** `execution_count`: instances wait for the resources of their `rate_limiter`. */
  readonly rateLimit: 'off' | 'execution_count'
  readonly rateLimitResources: readonly RateLimitResource[]
  /** `--host-policy=<name>,<setting>=<value>` */
  readonly hostPolicies: HostPolicies
  readonly allowHttp: boolean
  readonly httpAddress: string
  /** 0: any free port. */
  readonly httpPort: number
  /** Other processes may listen on the port as well, and share its connections (SO_REUSEPORT). */
  readonly reuseHttpPort: boolean
  /** Bytes; limits JSON documents, not the binary section. */
  readonly httpMaxInputSize: number
  readonly httpRestrictedApis: readonly RestrictedApi[]
  /** Headers whose names match become parameters of inference requests; '' : none. */
  readonly httpHeaderForwardPattern: string
  readonly allowGrpc: boolean
  readonly grpcAddress: string
  readonly grpcPort: number
  readonly reuseGrpcPort: boolean
  readonly grpcRestrictedProtocols: readonly RestrictedApi[]
  readonly grpcTransport: GrpcTransportOptions
  readonly allowMetrics: boolean
  readonly metricsAddress: string
  readonly metricsPort: number
  /** How often the machine's own gauges are read. */
  readonly metricsIntervalMilliseconds: number
  /** `--metrics-config=<setting>=<value>` */
  readonly metricsConfig: MetricsConfig
  /** Gauges of processors, memory and this process. */
  readonly allowCpuMetrics: boolean
  /** Gauges of cards: Triton's flag is named after GPUs. */
  readonly allowGpuMetrics: boolean
  /** `--trace-config` */
  readonly traceConfig: TraceConfig
  /** Clients may register shared memory regions. */
  readonly allowClientSharedMemory: boolean
  /** Load and unload from other machines without a restricting header. */
  readonly allowRemoteControl: boolean
  readonly console: boolean
  readonly consoleAddress: string
  readonly consolePort: number
  /** '' : one is made up at start. */
  readonly consoleToken: string
  /** The built console page; '' : none is served (the desktop has its own). */
  readonly rendererDirectory: string
  /** Where the sample repository is written; '' : the user's data folder. */
  readonly dataDirectory: string
  /** CANN's set_env.sh, or `auto`, or `none`: the process starts again with what it sets; '' : the environment stays as it is. */
  readonly cannSetEnv: string
  /** Where cards come from: this machine, the simulator, or nowhere. */
  readonly npu: NpuSource
  /** What becomes of a model that asks for an NPU and cannot get it. */
  readonly npuFallback: NpuFallback
  /** Profiles of the simulated cards, one a card. */
  readonly npuSimulatedCards: readonly string[]
  /** Factor on the times that simulated cards take; 0: as fast as this machine computes. */
  readonly npuSimulatedTimeScale: number
  /** What the log says once about flags of Triton's that were given and have no effect here. */
  readonly flagsWithoutEffect: readonly string[]
  readonly logVerbose: number
  readonly logInfo: boolean
  readonly logWarning: boolean
  readonly logError: boolean
  readonly logFormat: LogFormat
  /** Lines go there and not to standard error; '' : to standard error. */
  readonly logFile: string
}

export const DEFAULT_SERVER_OPTIONS: ServerOptions = Object.freeze({
  id: 'triton',
  modelRepositories: [],
  modelControlMode: 'none',
  loadModels: [],
  modelConfigName: '',
  repositoryPollSeconds: 15,
  exitOnError: true,
  exitTimeoutSeconds: 30,
  strictReadiness: true,
  disableAutoCompleteConfig: false,
  repositoryTrust: 'all',
  modelLoadThreadCount: 4,
  modelLoadRetryCount: 0,
  cacheConfig: {},
  responseCacheByteSize: 0,
  backendConfig: {},
  backendDirectory: '',
  rateLimit: 'off',
  rateLimitResources: [],
  hostPolicies: {},
  allowHttp: true,
  httpAddress: '127.0.0.1',
  httpPort: 8000,
  reuseHttpPort: false,
  httpMaxInputSize: 64 * 1024 * 1024,
  httpRestrictedApis: [],
  httpHeaderForwardPattern: '',
  allowGrpc: true,
  grpcAddress: '127.0.0.1',
  grpcPort: 8001,
  reuseGrpcPort: false,
  grpcRestrictedProtocols: [],
  grpcTransport: DEFAULT_GRPC_TRANSPORT_OPTIONS,
  allowMetrics: true,
  metricsAddress: '127.0.0.1',
  metricsPort: 8002,
  metricsIntervalMilliseconds: 2000,
  metricsConfig: DEFAULT_METRICS_CONFIG,
  allowCpuMetrics: true,
  allowGpuMetrics: true,
  traceConfig: DEFAULT_TRACE_CONFIG,
  allowClientSharedMemory: false,
  allowRemoteControl: false,
  console: false,
  consoleAddress: '127.0.0.1',
  consolePort: 8600,
  consoleToken: '',
  rendererDirectory: '',
  dataDirectory: '',
  cannSetEnv: '',
  npu: 'auto',
  npuFallback: 'fail',
  npuSimulatedCards: ['310P3', '310P3'],
  npuSimulatedTimeScale: 1,
  flagsWithoutEffect: [],
  logVerbose: 0,
  logInfo: true,
  logWarning: true,
  logError: true,
  logFormat: 'default',
  logFile: '',
})

/** What the log starts with. */
export function logSettings({ logFile, logInfo, logWarning, logError, logVerbose, logFormat }: ServerOptions): LogSettings {
  return { file: logFile, isInfoOn: logInfo, isWarningOn: logWarning, isErrorOn: logError, verboseLevel: logVerbose, format: logFormat }
}

/** The options over the defaults, frozen. @throws RangeError where a value cannot be */
export function serverOptions(given: Partial<ServerOptions>): ServerOptions {
  const options = { ...DEFAULT_SERVER_OPTIONS, ...given }
  for (const key of ['httpPort', 'grpcPort', 'metricsPort', 'consolePort'] as const) {
    const port = options[key]
    if (!Number.isInteger(port) || port < 0 || port > 65535) throw new RangeError(`${key} must be a port number between 0 and 65535, got ${port}`)
  }
  if (options.loadModels.length > 0 && options.modelControlMode !== 'explicit') {
    throw new RangeError("Use of '--load-model' requires setting '--model-control-mode=explicit' as well.")
  }
  if (options.loadModels.includes('*') && options.loadModels.length > 1) {
    throw new RangeError("Wildcard model name '*' must be the ONLY startup model if specified at all.")
  }
  if (options.modelControlMode === 'poll' && !(options.repositoryPollSeconds > 0)) {
    throw new RangeError(`--repository-poll-secs must be above 0 with --model-control-mode=poll, got ${options.repositoryPollSeconds}: the server would read the disk without a pause. `
      + '--model-control-mode=none loads what there is at start and never looks again')
  }
  if (options.responseCacheByteSize > 0 && Object.keys(options.cacheConfig).length > 0) {
    throw new RangeError('Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.')
  }
  checkCacheConfig(options.cacheConfig)
  headerForwardPattern(options.httpHeaderForwardPattern, '--http-header-forward-pattern')
  headerForwardPattern(options.grpcTransport.headerForwardPattern, '--grpc-header-forward-pattern')
  if (options.npu === 'simulated') {
    const named = NPU_BACKENDS.find((backend) => options.backendConfig[backend]?.[CANN_LIBRARIES] !== undefined)
    if (named !== undefined) throw new RangeError(`--npu=simulated brings its own CANN: leave out --backend-config=${named},${CANN_LIBRARIES}=..., or use --npu=auto`)
  }
  return Object.freeze(options)
}

/** Our backends that run on cards. */
export const NPU_BACKENDS = ['npu_om', 'npu_ge'] as const
/** Their setting that names the folder with CANN's libraries. */
export const CANN_LIBRARIES = 'cann-library-directory'

/** Bytes of the response cache; 0: there is none. */
export function responseCacheByteSize({ cacheConfig, responseCacheByteSize }: Pick<ServerOptions, 'cacheConfig' | 'responseCacheByteSize'>): number {
  return Number(cacheConfig['local']?.['size'] ?? responseCacheByteSize)
}

/** @throws RangeError */
function checkCacheConfig(config: ServerOptions['cacheConfig']): void {
  for (const [name, settings] of Object.entries(config)) {
    if (name !== 'local') throw new RangeError(`--cache-config: unable to find cache '${name}'. This server has the cache 'local': --cache-config=local,size=<bytes>`)
    const unknown = Object.keys(settings).find((setting) => setting !== 'size')
    if (unknown !== undefined) throw new RangeError(`--cache-config: the cache 'local' has no setting '${unknown}', only size (bytes)`)
    const size = settings['size']
    if (size === undefined || !/^\d+$/.test(size) || !Number.isSafeInteger(Number(size)) || Number(size) === 0) {
      throw new RangeError(`--cache-config: the cache 'local' needs its size in bytes as a whole number above 0 (--cache-config=local,size=1048576), got: ${size ?? 'none'}`)
    }
  }
}
