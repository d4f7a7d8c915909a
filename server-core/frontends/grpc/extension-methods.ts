/** The calls of the shared memory, trace and logging extensions (protocol 5.9, 11). */
import type { LogSettings } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import type { SharedMemoryKind } from '../../shared-memory/shared-memory-regions.ts'
import { countSetting, type TraceChange, traceFileIsFixed, traceLevels, unsignedSetting } from '../../tracing/trace-settings.ts'
import { logFileIsFixed, logFormatNamed } from '../log-settings.ts'
import { shownLevels } from '../trace-levels.ts'
import type { UnaryMethod } from './methods.ts'

interface RegionRequest { readonly name: string }

interface SystemRegionRequest extends RegionRequest {
  readonly key: string
  readonly offset: string
  readonly byte_size: string
}

interface TraceRequest {
  readonly settings: Readonly<Record<string, { readonly value: readonly string[] }>>
  /** '' : the global settings. */
  readonly model_name: string
}

interface LogSetting {
  readonly parameter_choice?: 'bool_param' | 'uint32_param' | 'string_param'
  readonly bool_param?: boolean
  readonly uint32_param?: number
  readonly string_param?: string
}

function regionStatus(kind: SharedMemoryKind): UnaryMethod['run'] {
  return ({ name }: RegionRequest, { services }) => ({
    regions: Object.fromEntries(services.sharedMemory.status(kind, name).map((region) =>
      [region.name, { name: region.name, key: region.key, offset: region.offset.toString(), byte_size: region.byteSize.toString() }])),
  })
}

function unregisterRegions(kind: SharedMemoryKind): UnaryMethod['run'] {
  return ({ name }: RegionRequest, { services }) => {
    services.sharedMemory.unregister(kind, name)
    return {}
  }
}

export const EXTENSION_METHODS: Readonly<Record<string, UnaryMethod>> = {
  SystemSharedMemoryStatus: { category: 'shared-memory', run: regionStatus('system') },
  SystemSharedMemoryRegister: {
    category: 'shared-memory',
    run: ({ name, key, offset, byte_size }: SystemRegionRequest, { services }) => {
      services.sharedMemory.registerSystem({ name, key, offset: BigInt(offset), byteSize: BigInt(byte_size) })
      return {}
    },
  },
  SystemSharedMemoryUnregister: { category: 'shared-memory', run: unregisterRegions('system') },
  CudaSharedMemoryStatus: { category: 'shared-memory', run: regionStatus('CUDA') },
  CudaSharedMemoryRegister: { category: 'shared-memory', run: ({ name }: RegionRequest, { services }) => services.sharedMemory.registerCuda(name) },
  CudaSharedMemoryUnregister: { category: 'shared-memory', run: unregisterRegions('CUDA') },
  TraceSetting: {
    category: 'trace',
    run: ({ settings, model_name: model }: TraceRequest, { server, services: { tracer } }) => {
      // Says what is wrong with a name that is no model's.
      if (model !== '') server.isModelReady(model, '')
      tracer.change(model, traceChangeOf(settings))
      const now = tracer.settings(model)
      const values: Readonly<Record<string, readonly string[]>> = {
        trace_level: shownLevels(now), trace_rate: [String(now.rate)], trace_count: [String(now.count)], log_frequency: [String(now.logFrequency)],
        trace_file: [tracer.file], trace_mode: ['triton'],
      }
      return { settings: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value }])) }
    },
  },
  LogSettings: {
    category: 'logging',
    run: ({ settings }: { readonly settings: Readonly<Record<string, LogSetting>> }, { services }) => {
      services.logs.change(changeOf(settings))
      return { settings: settingsOf(services.logs.settings) }
    },
  },
}

function settingsOf({ file, isInfoOn, isWarningOn, isErrorOn, verboseLevel, format }: LogSettings): Readonly<Record<string, LogSetting>> {
  return {
    log_file: { string_param: file }, log_info: { bool_param: isInfoOn }, log_warning: { bool_param: isWarningOn }, log_error: { bool_param: isErrorOn },
    log_verbose_level: { uint32_param: verboseLevel }, log_format: { string_param: format },
  }
}

/** Other keys mean nothing. @throws ServerError */
function changeOf(settings: Readonly<Record<string, LogSetting>>): Partial<LogSettings> {
  const value = <K extends keyof LogSetting>(name: string, kind: K, words: string): LogSetting[K] | undefined => {
    const setting = settings[name]
    if (setting === undefined) return undefined
    if (setting.parameter_choice !== kind) throw new ServerError('INVALID_ARG', `expect ${words} for '${name}'`)
    return setting[kind]
  }
  if (settings['log_file'] !== undefined) throw logFileIsFixed()
  const info = value('log_info', 'bool_param', 'boolean')
  const warning = value('log_warning', 'bool_param', 'boolean')
  const error = value('log_error', 'bool_param', 'boolean')
  const verbose = value('log_verbose_level', 'uint32_param', 'int32')
  const format = value('log_format', 'string_param', 'string')
  return {
    ...(info === undefined ? {} : { isInfoOn: info }), ...(warning === undefined ? {} : { isWarningOn: warning }), ...(error === undefined ? {} : { isErrorOn: error }),
    ...(verbose === undefined ? {} : { verboseLevel: verbose }), ...(format === undefined ? {} : { format: logFormatNamed(format, 'log_format', 'INVALID_ARG') }),
  }
}

/** An empty value clears; other keys mean nothing. @throws ServerError */
function traceChangeOf(settings: TraceRequest['settings']): TraceChange {
  if (settings['trace_file'] !== undefined) throw traceFileIsFixed()
  const change = <T>(key: string, read: (values: readonly string[]) => T): { present: boolean; value: T | null } => {
    const values = settings[key]?.value
    return values === undefined ? { present: false, value: null } : { present: true, value: values.length === 0 ? null : read(values) }
  }
  const one = (key: string, values: readonly string[]): string => {
    if (values.length > 1) throw new ServerError('INVALID_ARG', `expect only 1 value for '${key}'`)
    return values[0] ?? ''
  }
  const levels = change('trace_level', traceLevels)
  const rate = change('trace_rate', (values) => unsignedSetting('trace_rate', one('trace_rate', values)))
  const count = change('trace_count', (values) => countSetting(one('trace_count', values), ' '))
  const logFrequency = change('log_frequency', (values) => unsignedSetting('log_frequency', one('log_frequency', values)))
  return {
    ...(levels.present ? { levels: levels.value } : {}), ...(rate.present ? { rate: rate.value } : {}), ...(count.present ? { count: count.value } : {}),
    ...(logFrequency.present ? { logFrequency: logFrequency.value } : {}),
  }
}
