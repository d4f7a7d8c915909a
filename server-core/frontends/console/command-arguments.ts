/** Reads the arguments of console commands: whatever a window sends is checked before it reaches the server. */
import { isAbsolute } from 'node:path'
import type { ModelImportSource, ServerRestart } from '../../contract/console-api.ts'
import { NPU_FALLBACKS, NPU_SOURCES } from '../../contract/devices.ts'
import { DATA_TYPES } from '../../contract/inference.ts'
import type { DataType, InferenceRequest, ParameterValue, Tensor } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'

export function objectArgument(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw wrong(what, 'an object')
  return value as Readonly<Record<string, unknown>>
}

export function stringField(from: Readonly<Record<string, unknown>>, name: string): string {
  const value = from[name]
  if (typeof value !== 'string') throw wrong(name, 'a string')
  return value
}

export function stringOrNullField(from: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = from[name]
  if (value !== null && typeof value !== 'string') throw wrong(name, 'a string or null')
  return value
}

export function numberField(from: Readonly<Record<string, unknown>>, name: string, low: number, high: number): number {
  const value = from[name]
  if (typeof value !== 'number' || !(value >= low && value <= high)) throw wrong(name, `a number from ${low} to ${high}`)
  return value
}

/** A uint64: a whole number, or a bigint where a number would not be exact. */
function unsignedField(from: Readonly<Record<string, unknown>>, name: string): bigint {
  const value = from[name]
  const integer = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof integer !== 'bigint' || integer < 0n || integer > 0xffff_ffff_ffff_ffffn) throw wrong(name, 'a whole number from 0 to 18446744073709551615')
  return integer
}

export function bytesField(from: Readonly<Record<string, unknown>>, name: string): Uint8Array {
  const value = from[name]
  if (!(value instanceof Uint8Array)) throw wrong(name, 'bytes')
  return value
}

/** What a window wants to import. Paths of uploads are relative and stay below the folder that they are put in. */
export function importSourceArgument(value: unknown): ModelImportSource {
  const source = objectArgument(value, 'source')
  if (source['kind'] === 'local') {
    const paths = arrayField(source, 'paths')
    if (!paths.every((path): path is string => typeof path === 'string' && isAbsolute(path))) throw wrong('paths', 'a list of absolute paths')
    return { kind: 'local', paths }
  }
  if (source['kind'] === 'template') return { kind: 'template', name: stringField(source, 'name') }
  if (source['kind'] !== 'upload') throw wrong('kind', "'local', 'template' or 'upload'")
  const files = arrayField(source, 'files').map((entry) => {
    const file = objectArgument(entry, 'files')
    const path = stringField(file, 'path')
    if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || /[\\\0]/.test(part))) throw wrong('path', 'a relative path without . and ..')
    const byteSize = numberField(file, 'byteSize', 0, Number.MAX_SAFE_INTEGER)
    return { path, byteSize }
  })
  return { kind: 'upload', files }
}

/** What another start of the server is to differ in. */
export function serverRestartArgument(value: unknown): ServerRestart {
  const from = objectArgument(value, 'arguments')
  const npuSource = from['npuSource'] === undefined ? undefined : NPU_SOURCES.find((known) => known === from['npuSource']) ?? null
  if (npuSource === null) throw wrong('npuSource', `one of ${NPU_SOURCES.join(', ')}`)
  const npuFallback = from['npuFallback'] === undefined ? undefined : NPU_FALLBACKS.find((known) => known === from['npuFallback']) ?? null
  if (npuFallback === null) throw wrong('npuFallback', `one of ${NPU_FALLBACKS.join(', ')}`)
  const simulatedCards = from['simulatedCards'] === undefined ? undefined : arrayField(from, 'simulatedCards')
  if (simulatedCards?.every((card): card is string => typeof card === 'string') === false) throw wrong('simulatedCards', 'a list of profiles')
  return {
    ...(npuSource === undefined ? {} : { npuSource }),
    ...(npuFallback === undefined ? {} : { npuFallback }),
    ...(simulatedCards === undefined ? {} : { simulatedCards: simulatedCards as readonly string[] }),
    ...(from['simulatedTimeScale'] === undefined ? {} : { simulatedTimeScale: numberField(from, 'simulatedTimeScale', 0, Number.MAX_VALUE) }),
    ...(from['cannSetEnv'] === undefined ? {} : { cannSetEnv: stringField(from, 'cannSetEnv') }),
  }
}

/** An inference request as the Test tab sends it. */
export function inferenceRequestArgument(value: unknown): InferenceRequest {
  const request = objectArgument(value, 'request')
  const requestedOutputs = arrayField(request, 'requestedOutputs')
  if (!requestedOutputs.every((name) => typeof name === 'string')) throw wrong('requestedOutputs', 'a list of names')
  return {
    modelName: stringField(request, 'modelName'),
    modelVersion: stringField(request, 'modelVersion'),
    id: stringField(request, 'id'),
    inputs: arrayField(request, 'inputs').map(tensorArgument),
    requestedOutputs,
    parameters: parametersArgument(request['parameters']),
    ...(request['priority'] === undefined ? {} : { priority: unsignedField(request, 'priority') }),
    ...(request['timeoutMicroseconds'] === undefined ? {} : { timeoutMicroseconds: numberField(request, 'timeoutMicroseconds', 0, Number.MAX_SAFE_INTEGER) }),
  }
}

function tensorArgument(value: unknown): Tensor {
  const tensor = objectArgument(value, 'inputs')
  const datatype = stringField(tensor, 'datatype')
  if (!Object.hasOwn(DATA_TYPES, datatype)) throw wrong('datatype', `one of ${Object.keys(DATA_TYPES).join(', ')}`)
  const shape = arrayField(tensor, 'shape')
  if (!shape.every((dim): dim is number => Number.isSafeInteger(dim))) throw wrong('shape', 'a list of integers')
  return { name: stringField(tensor, 'name'), datatype: datatype as DataType, shape, data: bytesField(tensor, 'data') }
}

function parametersArgument(value: unknown): Readonly<Record<string, ParameterValue>> {
  if (value === undefined) return {}
  const parameters = objectArgument(value, 'parameters')
  for (const [name, parameter] of Object.entries(parameters)) {
    if (!['string', 'boolean', 'bigint', 'number'].includes(typeof parameter)) throw wrong(`parameters.${name}`, 'a string, boolean or number')
  }
  return parameters as Readonly<Record<string, ParameterValue>>
}

function arrayField(from: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const value = from[name]
  if (!Array.isArray(value)) throw wrong(name, 'a list')
  return value
}

function wrong(name: string, expected: string): ServerError {
  return new ServerError('INVALID_ARG', `console command argument '${name}' must be ${expected}`)
}
