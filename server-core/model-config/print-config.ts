/** ModelConfig as text format, the way protobuf prints it: fields by number, two-space indent, defaults left out, maps sorted by key. */
import type { ModelConfig } from '../contract/model-config.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import type { MessageObject } from './config-message.ts'
import { exactInteger } from './exact-integers.ts'
import { printStringLiteral, shortestFloat } from './pbtxt-literals.ts'

/** `readModelConfig(printModelConfig(config))` equals `config`. */
export function printModelConfig(config: ModelConfig): string {
  return printFields(config as unknown as MessageObject, MODEL_CONFIG_SCHEMA, '')
}

function printFields(object: MessageObject, schema: MessageSchema, indent: string): string {
  const byNumber = schema.fields.toSorted((a, b) => a.number - b.number)
  return byNumber.map((field) => printField(object, field, indent)).join('')
}

function printField(object: MessageObject, field: FieldSchema, indent: string): string {
  const value = object[field.name]
  if (value === undefined || value === null) return ''
  if (mapValueField(field) !== undefined) return printMap(value as MessageObject, field, indent)
  if (field.isRepeated) {
    return (value as readonly unknown[]).map((element, index) => printValue(object, field, element, index, indent)).join('')
  }
  if (field.oneof === undefined && isDefault(field, value)) return ''
  return printValue(object, field, value, undefined, indent)
}

function printMap(map: MessageObject, field: FieldSchema, indent: string): string {
  if (field.type.kind !== 'message') return ''
  const keyType = field.type.message.byName.get('key')?.type
  const hasIntegerKeys = keyType?.kind === 'scalar' && keyType.scalar !== 'string'
  const keys = Object.keys(map).toSorted((a, b) => (hasIntegerKeys ? compareIntegers(a, b) : a < b ? -1 : 1))
  // Map entries print both fields, defaults too.
  return keys.map((key) => {
    const keyText = hasIntegerKeys ? key : printStringLiteral(key)
    const valueField = mapValueField(field)
    const value = valueField === undefined ? '' : printValue({}, valueField, map[key], undefined, `${indent}  `)
    return `${indent}${field.name} {\n${indent}  key: ${keyText}\n${value}${indent}}\n`
  }).join('')
}

function compareIntegers(a: string, b: string): number {
  const [left, right] = [BigInt(a), BigInt(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function printValue(object: MessageObject, field: FieldSchema, value: unknown, index: number | undefined, indent: string): string {
  if (field.type.kind === 'message') {
    return `${indent}${field.name} {\n${printFields(value as MessageObject, field.type.message, `${indent}  `)}${indent}}\n`
  }
  return `${indent}${field.name}: ${printScalar(object, field, value, index)}\n`
}

function printScalar(object: MessageObject, field: FieldSchema, value: unknown, index: number | undefined): string {
  if (field.type.kind === 'scalar' && field.type.scalar === 'string') return printStringLiteral(String(value))
  if (typeof value !== 'number' || field.type.kind !== 'scalar') return String(value)
  const { scalar } = field.type
  if (scalar !== 'float' && scalar !== 'double') return exactInteger(object, field.name, value, index)
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Object.is(value, -0) ? '-0' : shortestFloat(value, scalar)
}

function isDefault(field: FieldSchema, value: unknown): boolean {
  if (field.type.kind === 'enum') return field.type.enum.values[String(value)] === 0
  return value === '' || value === false || Object.is(value, 0)
}
