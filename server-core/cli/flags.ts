import { parseRestrictedApi } from '../frontends/restricted-api.ts'
import { DEFAULT_SERVER_OPTIONS, type ServerOptions } from '../options.ts'
import { ServerError } from '../server-error.ts'

type Draft = { -readonly [K in keyof ServerOptions]: ServerOptions[K] }

/** One flag of `npu-console serve`. */
export interface Flag {
  readonly names: readonly string[]
  /** What stands after the name in the usage text; '' for booleans, which may stand alone. */
  readonly value: string
  readonly help: string
  readonly set: (draft: Draft, text: string, flag: string) => void
}

type KeysOf<T> = { [K in keyof ServerOptions]: ServerOptions[K] extends T ? K : never }[keyof ServerOptions]

/** Triton's words for a value that is no boolean. */
export function parseBoolean(text: string, flag: string): boolean {
  const value = text.toLowerCase()
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid value for bool option: ${text}`)
}

function parseInteger(text: string, flag: string, highest = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > highest) {
    throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\nexpected a whole number between 0 and ${highest}, got: ${text}`)
  }
  return value
}

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
  integer('--repository-poll-secs', 'repositoryPollSeconds', 'Poll mode: seconds between two looks at the repositories'),
  bool('--exit-on-error', 'exitOnError', 'Exit when a model that is to be loaded at start fails (true)'),
  integer('--exit-timeout-secs', 'exitTimeoutSeconds', 'Seconds that requests in flight may take when the server stops'),
  bool('--strict-readiness', 'strictReadiness', 'Ready only when every model is (true)'),
  bool('--disable-auto-complete-config', 'disableAutoCompleteConfig', 'Do not complete configs from the models (false)'),
  { names: ['--strict-model-config'], value: '', help: 'Deprecated: true is --disable-auto-complete-config', set: (draft, text, flag) => { draft.disableAutoCompleteConfig = parseBoolean(text, flag) } },
  integer('--model-load-thread-count', 'modelLoadThreadCount', 'Model versions that load at the same time'),
  { names: ['--backend-config'], value: '<backend>,<key>=<value>', help: 'Setting of one backend, or of all (<key>=<value>); may be given several times', set: setBackendConfig },
  string('--id', 'id', '<string>', 'Name in the server metadata (triton)'),
  bool('--allow-http', 'allowHttp', 'Serve HTTP (true)'),
  string('--http-address', 'httpAddress', '<address>', 'Address that HTTP listens on (127.0.0.1)'),
  port('--http-port', 'httpPort', 'Port of HTTP'),
  integer('--http-max-input-size', 'httpMaxInputSize', 'Largest JSON document and raw request in bytes'),
  { names: ['--http-restricted-api'], value: '<api>[,<api>]:<header>=<value>', help: 'These HTTP calls want that header; may be given several times', set: (draft, text, flag) => { draft.httpRestrictedApis = [...draft.httpRestrictedApis, parseRestrictedApi(text, flag)] } },
  bool('--allow-grpc', 'allowGrpc', 'Serve gRPC (true)'),
  string('--grpc-address', 'grpcAddress', '<address>', 'Address that gRPC listens on (127.0.0.1)'),
  port('--grpc-port', 'grpcPort', 'Port of gRPC'),
  { names: ['--grpc-restricted-protocol'], value: '<api>[,<api>]:<header>=<value>', help: 'These gRPC calls want that header; may be given several times', set: (draft, text, flag) => { draft.grpcRestrictedProtocols = [...draft.grpcRestrictedProtocols, parseRestrictedApi(text, flag)] } },
  bool('--allow-metrics', 'allowMetrics', 'Serve Prometheus metrics (true)'),
  string('--metrics-address', 'metricsAddress', '<address>', 'Address that metrics listen on (that of HTTP)'),
  port('--metrics-port', 'metricsPort', 'Port of metrics'),
  integer('--metrics-interval-ms', 'metricsIntervalMilliseconds', "Milliseconds between two readings of the machine's gauges"),
  bool('--allow-remote-control', 'allowRemoteControl', 'Allow load and unload where an address other than loopback is bound (false)'),
  bool('--console', 'console', 'Serve the console window (false)'),
  string('--console-address', 'consoleAddress', '<address>', 'Address that the console listens on (127.0.0.1)'),
  port('--console-port', 'consolePort', 'Port of the console'),
  string('--console-token', 'consoleToken', '<token>', 'Fixed token of the console; without it every printed link works once'),
  string('--data-directory', 'dataDirectory', '<directory>', "Where the console keeps its own data (the user's data folder)"),
  integer('--log-verbose', 'logVerbose', 'Level of verbose logging; 0 is off'),
]

function setControlMode(draft: Draft, text: string): void {
  if (text !== 'none' && text !== 'poll' && text !== 'explicit') {
    throw new ServerError('INVALID_ARG', `Bad option: "--model-control-mode".\ninvalid argument for --model-control-mode: expected none, poll or explicit, got: ${text}`)
  }
  draft.modelControlMode = text
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
