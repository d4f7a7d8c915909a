import { NPU_FALLBACKS, NPU_SOURCES } from '../contract/devices.ts'
import { parseRestrictedApi } from '../frontends/restricted-api.ts'
import { REPOSITORY_TRUSTS } from '../contract/repository-trust.ts'
import { LOG_FORMATS } from '../logger.ts'
import { metricsConfigWith } from '../metrics/metrics-config.ts'
import { type Draft, type Flag, parseBoolean, parseInteger, withoutEffect } from './flag-values.ts'
import { GRPC_TRANSPORT_FLAGS } from './grpc-flags.ts'
import { isCpuList, type HostPolicySetting } from '../model/host-policy.ts'
import { DEFAULT_SERVER_OPTIONS, type ServerOptions } from '../options.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { traceConfigWith } from '../tracing/trace-settings.ts'

type KeysOf<T> = { [K in keyof ServerOptions]: ServerOptions[K] extends T ? K : never }[keyof ServerOptions]

function bool(name: string, key: KeysOf<boolean>, help: string): Flag {
  return { names: [name], value: '', help, set: (draft, text, flag) => { draft[key] = parseBoolean(text, flag) } }
}

function integer(name: string, key: KeysOf<number>, help: string, highest?: number): Flag {
  return {
    names: [name], value: '<integer>', help: `${help} (${DEFAULT_SERVER_OPTIONS[key]})`,
    set: (draft, text, flag) => { draft[key] = parseInteger(text, flag, highest) },
  }
}

function port(name: string, key: KeysOf<number>, help: string): Flag { return integer(name, key, `${help}; 0 picks a free port`, 65535) }

function string(name: string, key: KeysOf<string>, value: string, help: string): Flag {
  return {
    names: [name], value, help,
    set: (draft, text) => {
      // The keys are those of string options; the control mode, a narrower type, has a flag of its own.
      (draft as unknown as Record<string, string>)[key] = text
    },
  }
}

/** Every flag, with tritonserver's name and meaning where it has one. The order is that of the usage text. */
export const SERVE_FLAGS: readonly Flag[] = [
  { names: ['--model-repository', '--model-store'], value: '<directory>', help: 'Path of a model repository; may be given several times', set: (draft, text) => { draft.modelRepositories = [...draft.modelRepositories, text] } },
  { names: ['--model-control-mode'], value: 'none|poll|explicit', help: 'Load everything at start, follow the disk, or load on request (none)', set: setControlMode },
  { names: ['--load-model'], value: '<name>', help: 'Explicit mode: a model to load at start; may be given several times; * alone means all', set: (draft, text) => { draft.loadModels = [...draft.loadModels, text] } },
  { names: ['--model-config-name'], value: '<name>', help: "Use configs/<name>.pbtxt of a model instead of its config.pbtxt where it exists", set: setModelConfigName },
  { names: ['--model-namespacing'], value: '', help: 'Only false: models of the same name in two repositories cannot be told apart (false)', set: refuseNamespaces },
  integer('--repository-poll-secs', 'repositoryPollSeconds', 'Poll mode: seconds between two looks at the repositories'),
  bool('--exit-on-error', 'exitOnError', 'Exit when a model that is to be loaded at start fails (true)'),
  integer('--exit-timeout-secs', 'exitTimeoutSeconds', 'Seconds that requests in flight may take when the server stops'),
  bool('--strict-readiness', 'strictReadiness', 'Ready only when every model is (true)'),
  bool('--disable-auto-complete-config', 'disableAutoCompleteConfig', 'Do not complete configs from the models (false)'),
  { names: ['--strict-model-config'], value: '', help: 'Deprecated: true is --disable-auto-complete-config', set: (draft, text, flag) => { draft.disableAutoCompleteConfig = parseBoolean(text, flag) } },
  { names: ['--repository-trust'], value: REPOSITORY_TRUSTS.join('|'), help: 'Run code of repositories (model.py, libraries beside a model), or only of those that were trusted in the console (all)', set: setRepositoryTrust },
  integer('--model-load-thread-count', 'modelLoadThreadCount', 'Model versions that load at the same time'),
  integer('--model-load-retry-count', 'modelLoadRetryCount', 'How often a model version that fails to load is tried again'),
  { names: ['--cache-config'], value: '<cache>,<setting>=<value>', help: 'Response cache: local,size=<bytes>; may be given once a setting', set: setCacheConfig },
  integer('--response-cache-byte-size', 'responseCacheByteSize', 'Deprecated: --cache-config=local,size=<bytes>'),
  withoutEffect('--cache-directory', '<directory>', 'the response cache is part of the server'),
  { names: ['--backend-config'], value: '<backend>,<key>=<value>', help: 'Setting of one backend, or of all (<key>=<value>); may be given several times', set: setBackendConfig },
  string('--backend-directory', 'backendDirectory', '<directory>', 'Backend libraries, a folder each with libtriton_<name>.so; looked into before those that come with the server'),
  withoutEffect('--repoagent-directory', '<directory>', 'there are no repository agents'),
  withoutEffect('--pinned-memory-pool-byte-size', '<integer>', 'there is no pool: backends for cards pin the memory that they copy from'),
  { names: ['--rate-limit'], value: 'off|execution_count', help: 'Let instances wait for the resources of their rate_limiter, those with the fewest executions first (off)', set: setRateLimit },
  { names: ['--rate-limit-resource'], value: '<name>:<count>[:<device>]', help: 'How much of a resource there is (the largest demand of an instance); may be given several times', set: addRateLimitResource },
  { names: ['--host-policy'], value: '<name>,<setting>=<value>', help: 'Where the threads of instances run: numa-node=<n> or cpu-cores=<a>-<b>,... for policy cpu, gpu_<id>, model or a name of your own; may be given several times', set: setHostPolicy },
  string('--id', 'id', '<string>', 'Name in the server metadata (triton)'),
  bool('--allow-http', 'allowHttp', 'Serve HTTP (true)'),
  string('--http-address', 'httpAddress', '<address>', 'Address that HTTP listens on (127.0.0.1)'),
  port('--http-port', 'httpPort', 'Port of HTTP'),
  bool('--reuse-http-port', 'reuseHttpPort', 'Let several servers listen on the HTTP port and share its connections (false)'),
  withoutEffect('--http-thread-count', '<integer>', 'one thread serves HTTP, and models compute on threads of their own'),
  integer('--http-max-input-size', 'httpMaxInputSize', 'Largest JSON document and raw request in bytes'),
  { names: ['--http-restricted-api'], value: '<api>[,<api>]:<header>=<value>', help: 'These HTTP calls want that header; may be given several times', set: (draft, text, flag) => { draft.httpRestrictedApis = [...draft.httpRestrictedApis, parseRestrictedApi(text, flag)] } },
  string('--http-header-forward-pattern', 'httpHeaderForwardPattern', '<regex>', 'HTTP headers whose names match become parameters of the request'),
  bool('--allow-grpc', 'allowGrpc', 'Serve gRPC (true)'),
  string('--grpc-address', 'grpcAddress', '<address>', 'Address that gRPC listens on (127.0.0.1)'),
  port('--grpc-port', 'grpcPort', 'Port of gRPC'),
  bool('--reuse-grpc-port', 'reuseGrpcPort', 'Let several servers listen on the gRPC port and share its connections (false)'),
  { names: ['--grpc-restricted-protocol'], value: '<api>[,<api>]:<header>=<value>', help: 'These gRPC calls want that header; may be given several times', set: (draft, text, flag) => { draft.grpcRestrictedProtocols = [...draft.grpcRestrictedProtocols, parseRestrictedApi(text, flag)] } },
  ...GRPC_TRANSPORT_FLAGS,
  bool('--allow-metrics', 'allowMetrics', 'Serve Prometheus metrics (true)'),
  string('--metrics-address', 'metricsAddress', '<address>', 'Address that metrics listen on (that of HTTP)'),
  port('--metrics-port', 'metricsPort', 'Port of metrics'),
  integer('--metrics-interval-ms', 'metricsIntervalMilliseconds', "Milliseconds between two readings of the machine's gauges", 0x7fffffff),
  { names: ['--metrics-config'], value: '<setting>=<value>', help: 'Latencies of models: counter_latencies (true), histogram_latencies (false), summary_latencies (false), summary_quantiles=<quantile>:<error>,...; may be given once a setting', set: setMetricsConfig },
  bool('--allow-cpu-metrics', 'allowCpuMetrics', 'Gauges of processors, memory and this process among the metrics (true)'),
  bool('--allow-gpu-metrics', 'allowGpuMetrics', 'Gauges of cards among the metrics (true)'),
  { names: ['--trace-config'], value: '[triton,]<setting>=<value>', help: 'Traces of requests: level=OFF|TIMESTAMPS|TENSORS, rate (1000), count (-1), mode=triton; triton,file and triton,log-frequency (0); may be given once a setting', set: setTraceConfig },
  bool('--allow-client-shm', 'allowClientSharedMemory', 'Let clients register shared memory regions (false)'),
  bool('--allow-remote-control', 'allowRemoteControl', 'Allow load and unload where an address other than loopback is bound (false)'),
  bool('--console', 'console', 'Serve the console window (false)'),
  string('--console-address', 'consoleAddress', '<address>', 'Address that the console listens on (127.0.0.1)'),
  port('--console-port', 'consolePort', 'Port of the console'),
  string('--console-token', 'consoleToken', '<token>', 'Fixed token of the console; without it every printed link works once'),
  string('--data-directory', 'dataDirectory', '<directory>', "Where the console keeps its own data (the user's data folder)"),
  string('--cann-set-env', 'cannSetEnv', 'auto|none|<file>', "Start with the environment that CANN's set_env.sh makes; auto looks where CANN is installed (none)"),
  { names: ['--npu'], value: NPU_SOURCES.join('|'), help: 'Cards: those of this machine where there are any, simulated ones (always labelled so), or none (auto)', set: setNpuSource },
  { names: ['--npu-fallback'], value: NPU_FALLBACKS.join('|'), help: 'A model that asks for an NPU and cannot get it: its load fails, or (ONNX) it runs on the CPU and is marked as degraded (fail)', set: setNpuFallback },
  { names: ['--npu-simulated-cards'], value: '<profile>[,<profile>]', help: `With --npu=simulated: which cards, by profile (${DEFAULT_SERVER_OPTIONS.npuSimulatedCards.join(',')})`, set: (draft, text) => { draft.npuSimulatedCards = text.split(',').map((card) => card.trim()) } },
  { names: ['--npu-simulated-time-scale'], value: '<factor>', help: 'With --npu=simulated: factor on the time that cards take, 0 for as fast as this machine computes (1)', set: setTimeScale },
  { names: ['--log-verbose'], value: '<level>', help: 'Level of verbose logging; 0 or false is off, true is 1 (0)', set: setLogVerbose },
  bool('--log-info', 'logInfo', 'Log informational messages (true)'),
  bool('--log-warning', 'logWarning', 'Log warnings (true)'),
  bool('--log-error', 'logError', 'Log errors (true)'),
  { names: ['--log-format'], value: LOG_FORMATS.join('|'), help: 'How log lines begin: LMMDD hh:mm:ss.uuuuuu in local time, or YYYY-MM-DDThh:mm:ssZ L (default)', set: setLogFormat },
  string('--log-file', 'logFile', '<file>', 'Log lines go to the end of this file and not to standard error'),
]

function setControlMode(draft: Draft, text: string): void {
  if (text !== 'none' && text !== 'poll' && text !== 'explicit') {
    throw new ServerError('INVALID_ARG', `Bad option: "--model-control-mode".\ninvalid argument for --model-control-mode: expected none, poll or explicit, got: ${text}`)
  }
  draft.modelControlMode = text
}

function setModelConfigName(draft: Draft, text: string, flag: string): void {
  if (text.includes('/') || text === '.' || text === '..') throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\n${flag} expects the name of a file in the folder configs of models, without .pbtxt, got: ${text}`)
  draft.modelConfigName = text
}

function refuseNamespaces(_draft: Draft, text: string, flag: string): void {
  if (!parseBoolean(text, flag)) return
  throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\nthis server has no model namespaces: give models of several repositories names of their own`)
}

/** Triton's flag was a boolean once, and still takes one. */
function setLogVerbose(draft: Draft, text: string, flag: string): void {
  const word = text.toLowerCase()
  draft.logVerbose = word === 'true' ? 1 : word === 'false' ? 0 : parseInteger(text, flag, 0x7fffffff)
}

function setLogFormat(draft: Draft, text: string, flag: string): void {
  const format = LOG_FORMATS.find((known) => known === text)
  if (format === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected ${LOG_FORMATS.join(' or ')}, got: ${text}`)
  draft.logFormat = format
}

function setCacheConfig(draft: Draft, text: string, flag: string): void {
  const [, cache, setting, value] = /^([^,=]+),([^=]+)=(.*)$/.exec(text) ?? []
  if (cache === undefined || setting === undefined || value === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\n${flag} expects <cache>,<setting>=<value>, got: ${text}`)
  draft.cacheConfig = { ...draft.cacheConfig, [cache]: { ...draft.cacheConfig[cache], [setting]: value } }
}

function setMetricsConfig(draft: Draft, text: string, flag: string): void {
  draft.metricsConfig = namingFlag(flag, () => metricsConfigWith(draft.metricsConfig, text, (value) => parseBoolean(value, flag)))
}

function setTraceConfig(draft: Draft, text: string, flag: string): void {
  draft.traceConfig = namingFlag(flag, () => traceConfigWith(draft.traceConfig, text))
}

/** Puts Triton's words for a wrong flag before an error. */
function namingFlag<T>(flag: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { message } = toServerError(error)
    throw new ServerError('INVALID_ARG', message.startsWith('Bad option') ? message : `Bad option: "${flag}".\n${message}`, { cause: error })
  }
}

function setBackendConfig(draft: Draft, text: string, flag: string): void {
  const equals = text.indexOf('=')
  const comma = text.indexOf(',')
  const hasBackend = comma >= 0 && comma < equals
  const backend = hasBackend ? text.slice(0, comma) : ''
  const key = text.slice(hasBackend ? comma + 1 : 0, equals)
  if (equals < 0 || key === '') throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\n${flag} expects <backend>,<key>=<value> or <key>=<value>, got: ${text}`)
  draft.backendConfig = { ...draft.backendConfig, [backend]: { ...draft.backendConfig[backend], [key]: text.slice(equals + 1) } }
}

function setNpuSource(draft: Draft, text: string, flag: string): void {
  const source = NPU_SOURCES.find((known) => known === text)
  if (source === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected ${NPU_SOURCES.join(', ')}, got: ${text}`)
  draft.npu = source
}

function setNpuFallback(draft: Draft, text: string, flag: string): void {
  const fallback = NPU_FALLBACKS.find((known) => known === text)
  if (fallback === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected ${NPU_FALLBACKS.join(' or ')}, got: ${text}`)
  draft.npuFallback = fallback
}

function setRepositoryTrust(draft: Draft, text: string, flag: string): void {
  const trust = REPOSITORY_TRUSTS.find((known) => known === text)
  if (trust === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected ${REPOSITORY_TRUSTS.join(' or ')}, got: ${text}`)
  draft.repositoryTrust = trust
}

function setTimeScale(draft: Draft, text: string, flag: string): void {
  const factor = Number(text)
  if (text.trim() === '' || !Number.isFinite(factor) || factor < 0) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\nexpected a number from 0, got: ${text}`)
  draft.npuSimulatedTimeScale = factor
}

function setRateLimit(draft: Draft, text: string, flag: string): void {
  if (text !== 'off' && text !== 'execution_count') {
    throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected off or execution_count, got: ${text}`)
  }
  draft.rateLimit = text
}

function addRateLimitResource(draft: Draft, text: string, flag: string): void {
  const parts = /^([^:]+):(\d{1,9})(?::(\d{1,9}))?$/.exec(text)
  if (parts === null) {
    throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\n${flag} option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ${text}`)
  }
  draft.rateLimitResources = [
    ...draft.rateLimitResources, { name: parts[1] ?? '', count: Number(parts[2]), device: parts[3] === undefined ? null : Number(parts[3]) },
  ]
}

const HOST_POLICY_VALUES: Readonly<Record<HostPolicySetting, { readonly isValid: (text: string) => boolean; readonly expected: string }>> = {
  'numa-node': { isValid: (text) => /^\d{1,5}$/.test(text), expected: 'a node number' },
  'cpu-cores': { isValid: isCpuList, expected: 'processor numbers such as 0-3 or 0-3,8' },
}

function setHostPolicy(draft: Draft, text: string, flag: string): void {
  const refuse = (reason: string): never => { throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\n${reason}`) }
  const parts = /^([^,]+),([^=]+)=(.*)$/.exec(text)
  if (parts === null) return refuse(`${flag} option format is '<policy name>,<setting>=<value>'. Got ${text}`)
  const [, name = '', setting = '', value = ''] = parts
  if (!Object.hasOwn(HOST_POLICY_VALUES, setting)) return refuse(`${flag} knows the settings ${Object.keys(HOST_POLICY_VALUES).join(' and ')}, got: ${setting}`)
  const known = setting as HostPolicySetting
  const { isValid, expected } = HOST_POLICY_VALUES[known]
  if (!isValid(value)) return refuse(`${flag} ${setting} expects ${expected}, got: ${value}`)
  draft.hostPolicies = { ...draft.hostPolicies, [name]: { ...draft.hostPolicies[name], [known]: value } }
}
