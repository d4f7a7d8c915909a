/** The calls of the shared memory and logging extensions (protocol 5.9, 11.2). */
import type { LogSettings } from '../../logger.ts'
import { ServerError } from '../../server-error.ts'
import type { SharedMemoryKind } from '../../shared-memory/shared-memory-regions.ts'
import { logFileIsFixed, logFormatNamed } from '../log-settings.ts'
import type { UnaryMethod } from './methods.ts'

interface RegionRequest { readonly name: string }

interface SystemRegionRequest extends RegionRequest {
  readonly key: string
  readonly offset: string
  readonly byte_size: string
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
