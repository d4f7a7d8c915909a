/** Reads scalar and enum values as protobuf's text-format parser does, with its error texts. */
import type { EnumSchema, FieldType, ScalarType } from './config-schema.ts'
import { spanOf } from './pbtxt-cursor.ts'
import type { PbtxtCursor } from './pbtxt-cursor.ts'
import { INTEGER_RANGES, integerLiteralValue, narrowInteger, stringLiteralValue } from './pbtxt-literals.ts'
import type { PbtxtErrorCode, PbtxtScalar, PbtxtScalarValue, PbtxtToken, PbtxtValue } from './pbtxt-tree.ts'

/** Takes whatever stands where the value should be, after the error was reported. */
type Recover = () => PbtxtValue

/** @param name of the field, for error texts */
export function parseScalarValue(cursor: PbtxtCursor, name: string, type: Exclude<FieldType, { kind: 'message' }>, recover: Recover): PbtxtValue {
  return type.kind === 'enum' ? enumValue(cursor, name, type.enum, recover) : scalarValue(cursor, name, type.scalar, recover)
}

function refuse(cursor: PbtxtCursor, expected: string, recover: Recover, got = cursor.current.text): PbtxtValue {
  cursor.report('expected-value', `Expected ${expected}, got: ${got}`)
  return recover()
}

function scalarValue(cursor: PbtxtCursor, name: string, type: ScalarType, recover: Recover): PbtxtValue {
  switch (type) {
    case 'string': return stringValue(cursor, recover)
    case 'bool': return boolValue(cursor, name, recover)
    case 'float':
    case 'double': return floatValue(cursor, type, recover)
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64': return integerValue(cursor, type, recover)
  }
}

function stringValue(cursor: PbtxtCursor, recover: Recover): PbtxtValue {
  if (cursor.current.kind !== 'string') return refuse(cursor, 'string', recover)
  const tokens: PbtxtToken[] = []
  while (cursor.current.kind === 'string') tokens.push(cursor.next())
  return scalar(tokens, tokens.map((token) => stringLiteralValue(token.text)).join(''))
}

function boolValue(cursor: PbtxtCursor, name: string, recover: Recover): PbtxtValue {
  const token = cursor.current
  if (token.kind === 'integer') {
    const value = integerLiteralValue(token.text)
    if (value !== null && value > 1n) cursor.report('out-of-range', `Integer out of range (${token.text})`)
    return scalar([cursor.next()], value === null || value > 1n ? null : value === 1n)
  }
  if (token.kind !== 'identifier') return refuse(cursor, 'identifier', recover)
  if (['true', 'True', 't'].includes(token.text)) return scalar([cursor.next()], true)
  if (['false', 'False', 'f'].includes(token.text)) return scalar([cursor.next()], false)
  return wrongWord(cursor, 'invalid-boolean', `Invalid value for boolean field "${name}". Value: "${token.text}".`)
}

/** protobuf takes the word for the value and complains behind it; where the word is really the next field's name, we give it back. */
function wrongWord(cursor: PbtxtCursor, code: PbtxtErrorCode, message: string): PbtxtValue {
  const isFieldName = cursor.startsField()
  const word = cursor.next()
  cursor.report(code, message, spanOf(word))
  if (!isFieldName) return scalar([word], null)
  cursor.back()
  return missingValue(cursor)
}

function integerValue(cursor: PbtxtCursor, type: ScalarType, recover: Recover): PbtxtValue {
  const [minimum, maximum] = INTEGER_RANGES[type] ?? [0n, 0n]
  const sign = minimum < 0n ? cursor.take('-') : null
  if (cursor.current.kind !== 'integer') {
    cursor.report('expected-value', `Expected integer, got: ${cursor.current.text}`)
    return withSign(sign, recover())
  }
  const token = cursor.current
  const magnitude = integerLiteralValue(token.text)
  const isInRange = magnitude !== null && magnitude <= (sign === null ? maximum : -minimum)
  if (magnitude !== null && !isInRange) cursor.report('out-of-range', `Integer out of range (${token.text})`)
  cursor.next()
  const tokens = sign === null ? [token] : [sign, token]
  return scalar(tokens, isInRange && magnitude !== null ? narrowInteger(sign === null ? magnitude : -magnitude) : null)
}

function floatValue(cursor: PbtxtCursor, type: ScalarType, recover: Recover): PbtxtValue {
  const sign = cursor.take('-')
  const token = cursor.current
  const tokens = sign === null ? [token] : [sign, token]
  const finish = (magnitude: number): PbtxtValue => {
    cursor.next()
    const value = sign === null ? magnitude : -magnitude
    return scalar(tokens, type === 'float' ? Math.fround(value) : value)
  }
  if (token.kind === 'float') return finish(Number.parseFloat(token.text))
  if (token.kind === 'integer') {
    if (/^0[xX0-7]/.test(token.text)) {
      cursor.report('expected-value', `Expect a decimal number, got: ${token.text}`)
      cursor.next()
      return scalar(tokens, null)
    }
    return finish(Number(token.text))
  }
  if (token.kind === 'identifier') {
    const word = token.text.toLowerCase()
    if (word === 'inf' || word === 'infinity') return finish(Infinity)
    if (word === 'nan') return finish(NaN)
    return withSign(sign, refuse(cursor, 'double', recover, word))
  }
  return withSign(sign, refuse(cursor, 'double', recover))
}

function enumValue(cursor: PbtxtCursor, name: string, schema: EnumSchema, recover: Recover): PbtxtValue {
  const token = cursor.current
  if (token.kind === 'identifier') {
    if (Object.hasOwn(schema.values, token.text)) return scalar([cursor.next()], token.text)
    return wrongWord(cursor, 'unknown-enum-value', `Unknown enumeration value of "${token.text}" for field "${name}".`)
  }
  if (token.kind !== 'integer' && !cursor.looksLike('-')) return refuse(cursor, 'integer or identifier', recover)
  const value = integerValue(cursor, 'int32', recover)
  if (value.kind !== 'scalar' || value.value === null) return value
  const known = Object.entries(schema.values).find(([, number]) => number === value.value)
  return { ...value, value: known?.[0] ?? value.value }
}

/** Nothing where a value should be: an empty span behind the last token. */
export function missingValue(cursor: PbtxtCursor): PbtxtScalar {
  return { kind: 'scalar', tokens: [], value: null, start: cursor.takenEnd, end: cursor.takenEnd }
}

function scalar(tokens: readonly PbtxtToken[], value: PbtxtScalarValue | null): PbtxtScalar {
  const first = tokens[0]
  const last = tokens[tokens.length - 1]
  return { kind: 'scalar', tokens, value, start: first?.offset ?? 0, end: last === undefined ? 0 : last.offset + last.text.length }
}

function withSign(sign: PbtxtToken | null, value: PbtxtValue): PbtxtValue {
  if (sign === null || value.kind === 'message') return value
  return { ...value, tokens: [sign, ...value.tokens], start: sign.offset, end: Math.max(value.end, sign.offset + 1) }
}
