/** Values as stubs and the server exchange them. Pure. */
import type { ERROR_KINDS, ErrorKind } from '../../contract/errors.ts'
import type { ParameterValue } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import type { CorrelationId, Failure, StubParameter } from './stub-messages.ts'

/** TRITONSERVER_Error_Code in the order of its numbers. */
const CODES = ['UNKNOWN', 'INTERNAL', 'NOT_FOUND', 'INVALID_ARG', 'UNAVAILABLE', 'UNSUPPORTED', 'ALREADY_EXISTS', 'CANCELLED'] as const satisfies readonly (keyof typeof ERROR_KINDS)[]

const SEQUENCE_START = 1
const SEQUENCE_END = 2

export function failureOf({ kind, message }: { readonly kind: ErrorKind; readonly message: string }): Failure { return [CODES.indexOf(kind), message] }

export function errorOf([code, message]: Failure): ServerError { return new ServerError(CODES[code] ?? 'UNKNOWN', message) }

/** Parameters as a model reads them: JSON, integers of any size in full, and doubles that stay doubles. */
export function parametersJson(parameters: Readonly<Record<string, ParameterValue>>): string {
  const members = Object.entries(parameters).map(([name, value]) => `${JSON.stringify(name)}:${valueJson(value)}`)
  return `{${members.join(',')}}`
}

function valueJson(value: ParameterValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number') return Number.isInteger(value) ? `${value.toFixed(1)}` : Number.isFinite(value) ? String(value) : 'null'
  return JSON.stringify(value)
}

export function parametersOf(described: readonly StubParameter[] | undefined): Record<string, ParameterValue> {
  return Object.fromEntries((described ?? []).map(([name, kind, value]): [string, ParameterValue] => {
    switch (kind) {
      case 'bool': return [name, value === 'true']
      case 'int': return [name, BigInt(value)]
      case 'double': return [name, Number(value)]
      case 'string': return [name, value]
    }
  }))
}

export function correlationOf(sequenceId: bigint | string): CorrelationId {
  return typeof sequenceId === 'bigint' ? ['int', sequenceId.toString()] : ['string', sequenceId]
}

export function sequenceIdOf([kind, value]: CorrelationId): bigint | string { return kind === 'int' ? BigInt.asUintN(64, BigInt(value)) : value }

export function sequenceFlags({ sequenceStart, sequenceEnd }: { readonly sequenceStart: boolean; readonly sequenceEnd: boolean }): number {
  return (sequenceStart ? SEQUENCE_START : 0) | (sequenceEnd ? SEQUENCE_END : 0)
}

export function sequenceOf(flags: number): { sequenceStart: boolean; sequenceEnd: boolean } {
  return { sequenceStart: (flags & SEQUENCE_START) !== 0, sequenceEnd: (flags & SEQUENCE_END) !== 0 }
}
