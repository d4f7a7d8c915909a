/** Trace settings (protocol 11.1): what is traced, how often, and to which files. */
import { ServerError } from '../server-error.ts'

export const TRACE_LEVELS = ['TIMESTAMPS', 'TENSORS'] as const
export type TraceLevel = (typeof TRACE_LEVELS)[number]

export interface TraceSettings {
  /** Empty: OFF. */
  readonly levels: readonly TraceLevel[]
  /** One request of so many is traced; 0: none. */
  readonly rate: number
  /** How many more are traced; -1: no limit. */
  readonly count: number
  /** Traces a file; 0: all in one. */
  readonly logFrequency: number
}

/** What is fixed at start. */
export interface TraceConfig extends TraceSettings {
  /** '' : traces have nowhere to go, and there are none. */
  readonly file: string
}

export const DEFAULT_TRACE_CONFIG: TraceConfig = Object.freeze({ levels: [], rate: 1000, count: -1, logFrequency: 0, file: '' })

/** null: back to what holds above (of a model: the global value, globally: that at start). */
export type TraceChange = { readonly [K in keyof TraceSettings]?: TraceSettings[K] | null }

const UINT32_MAX = 4_294_967_295
const INT32_MAX = 2_147_483_647

/** @param names as clients or the command line give them @throws ServerError INVALID_ARG */
export function traceLevels(names: readonly string[]): readonly TraceLevel[] {
  if (names.includes('OFF')) {
    if (names.length > 1) throw new ServerError('INVALID_ARG', "Expect only one trace level 'OFF' is specified")
    return []
  }
  const unknown = names.find((name) => !(TRACE_LEVELS as readonly string[]).includes(name))
  if (unknown !== undefined) throw new ServerError('INVALID_ARG', `unknown trace level '${unknown}': expected OFF, or any of ${TRACE_LEVELS.join(', ')}`)
  return TRACE_LEVELS.filter((level) => names.includes(level))
}

/** @param key `trace_rate` or `log_frequency` @throws ServerError INVALID_ARG with the protocol's texts */
export function unsignedSetting(key: string, text: string): number {
  const value = leadingInteger(key, text)
  if (value < 0n || value > UINT32_MAX) throw new ServerError('INVALID_ARG', `Unable to parse '${key}', value is out of range [ 0, ${UINT32_MAX} ], got: ${text}`)
  return Number(value)
}

/** @param space before the value in the text: gRPC has one, HTTP none @throws ServerError INVALID_ARG with the protocol's texts */
export function countSetting(text: string, space: '' | ' '): number {
  const value = leadingInteger('trace_count', text)
  if (value < -1n) throw new ServerError('INVALID_ARG', `Unable to parse 'trace_count'. Expecting value >= -1, got:${space}${text}`)
  if (value > INT32_MAX) throw new ServerError('INVALID_ARG', `Unable to parse 'trace_count', value is out of range [ -1, ${INT32_MAX} ], got: ${text}`)
  return Number(value)
}

/** C's way: leading space, sign and digits; what follows is ignored. */
function leadingInteger(key: string, text: string): bigint {
  const digits = /^\s*[+-]?\d{1,64}/.exec(text)?.[0].trim()
  if (digits === undefined) throw new ServerError('INVALID_ARG', `Unable to parse '${key}', got: ${text}`)
  return BigInt(digits.replace('+', ''))
}

export function traceFileIsFixed(): ServerError { return new ServerError('UNSUPPORTED', 'trace file location can not be updated through network protocol') }

/** One `--trace-config` over those before: `<setting>=<value>` or `triton,<setting>=<value>`. @throws ServerError INVALID_ARG */
export function traceConfigWith(config: TraceConfig, text: string): TraceConfig {
  const [, mode = '', setting = '', value = ''] = /^(?:([^,=]+),)?([^,=]+)=(.*)$/.exec(text) ?? []
  if (mode === 'opentelemetry' || (mode === '' && setting === 'mode' && value === 'opentelemetry')) {
    throw new ServerError('INVALID_ARG', 'this server writes traces to files and sends none: the trace mode opentelemetry is not there. Use --trace-config mode=triton and --trace-config triton,file=<path>')
  }
  switch (`${mode},${setting}`) {
    case ',level': return { ...config, levels: value === 'OFF' ? [] : traceLevels([...config.levels, value]) }
    case ',rate': return { ...config, rate: unsignedSetting('rate', value) }
    case ',count': return { ...config, count: countSetting(value, ' ') }
    case ',mode':
      if (value !== 'triton') throw new ServerError('INVALID_ARG', `unknown trace mode '${value}', expected triton`)
      return config
    case 'triton,file': return { ...config, file: value }
    case 'triton,log-frequency': return { ...config, logFrequency: unsignedSetting('log-frequency', value) }
    default: throw new ServerError('INVALID_ARG', `--trace-config expects level, rate, count or mode=<value>, or triton,file or triton,log-frequency=<value>, got: ${text}`)
  }
}
