/** The `parameters` of an inference request: reserved keys become fields, the others go to the backend in their kind (protocol 6.3). */
import type { ParameterValue } from '../../contract/inference.ts'
import type { JsonDocument } from './json-document.ts'
import { internal, invalid, within } from './parse-errors.ts'

const INT64_MAX = 0x7fff_ffff_ffff_ffffn

/** Request fields while they are collected; `parameters` has no prototype, so keys of the request cannot reach one. */
export interface Draft {
  sequenceId?: bigint | string
  sequenceStart?: boolean
  sequenceEnd?: boolean
  priority?: bigint
  timeoutMicroseconds?: number
  isBinaryOutput: boolean
  readonly parameters: Record<string, ParameterValue>
}

/** @throws ServerError with the protocol's texts */
export function readParameters(document: JsonDocument, at: number, draft: Draft): void {
  if (document.kind(at) !== 'object') throw internal('failed to get request params.: attempt to get members for non-object')
  for (let nameAt = document.first(at); nameAt >= 0;) {
    const valueAt = document.memberValue(nameAt)
    readParameter(document, document.text(nameAt), valueAt, draft)
    nameAt = document.next(valueAt)
  }
}

function readParameter(document: JsonDocument, key: string, at: number, draft: Draft): void {
  const prefix = `Unable to parse '${key}': `
  switch (key) {
    case 'sequence_id': draft.sequenceId = readSequenceId(document, at); return
    case 'sequence_start': draft.sequenceStart = within(prefix, () => document.asBoolean(at)); return
    case 'sequence_end': draft.sequenceEnd = within(prefix, () => document.asBoolean(at)); return
    case 'priority': draft.priority = within(prefix, () => document.asUnsigned(at)); return
    case 'timeout': draft.timeoutMicroseconds = Number(within(prefix, () => document.asUnsigned(at))); return
    case 'binary_data_output': draft.isBinaryOutput = within(prefix, () => document.asBoolean(at)); return
    default:
      if (key.startsWith('triton_')) throw invalid("parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.")
      draft.parameters[key] = customParameter(document, key, at)
  }
}

function readSequenceId(document: JsonDocument, at: number): bigint | string {
  if (document.kind(at) === 'integer') {
    const value = document.integer(at)
    if (value >= 0n) return value
  }
  return within("Unable to parse 'sequence_id': ", () => document.asString(at))
}

/** A parameter in the kind it was written in. @throws ServerError INVALID_ARG for array, object and null */
export function customParameter(document: JsonDocument, key: string, at: number): ParameterValue {
  switch (document.kind(at)) {
    case 'string': return document.text(at)
    case 'boolean': return document.asBoolean(at)
    case 'double': return document.number(at)
    case 'integer': {
      const value = document.integer(at)
      return value <= INT64_MAX ? value : Number(value)
    }
    default: throw invalid(`parameter '${key}' has invalid type. It should be either 'int', 'bool', or 'string'.`)
  }
}
