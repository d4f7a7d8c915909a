/**
 * ModelConfig as proto3 JSON: the override of a load request in, `/config` out. Reading is as lenient as protobuf's parser (snake_case or
 * lowerCamelCase, 64-bit as number or string, enums by name in any case or by number, null = not set). Printing is Triton's: declaration
 * order, snake_case, defaults printed, unset messages left out, 64-bit as numbers.
 */
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { defaultScalar, emptyMessage, inDeclarationOrder, setEntry } from './config-message.ts'
import type { MessageObject } from './config-message.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema, ScalarType } from './config-schema.ts'
import { exactInteger, rememberInteger } from './exact-integers.ts'
import { JsonNumber, JsonObject, parseLenientJson } from './lenient-json.ts'
import type { LenientJson } from './lenient-json.ts'
import { INTEGER_RANGES, shortestFloat } from './pbtxt-literals.ts'

/** @throws ServerError INVALID_ARG `Invalid config override: <what protobuf says>` */
export function readModelConfigJson(json: string): ModelConfig {
  try {
    return readMessage(parseLenientJson(json), MODEL_CONFIG_SCHEMA, '') as unknown as ModelConfig
  } catch (error) {
    if (error instanceof OverrideError || error instanceof SyntaxError) {
      throw new ServerError('INVALID_ARG', `Invalid config override: ${error.message}`, { cause: error })
    }
    throw error
  }
}

class OverrideError extends Error {}

function invalidValue(location: string, value: string, type: string): never {
  throw new OverrideError(`${location === '' ? '' : `(${location})`}: invalid value ${value} for type ${type}`)
}

/** A value as protobuf quotes it in an error. */
function quoted(json: LenientJson): string {
  if (json instanceof JsonNumber) return json.text
  if (typeof json === 'string') return `"${json}"`
  if (json === null || typeof json === 'boolean') return String(json)
  return json instanceof JsonObject ? 'an object' : 'a list'
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
}

function findField(schema: MessageSchema, name: string): FieldSchema | undefined {
  return schema.byName.get(name) ?? schema.fields.find((field) => camelCase(field.name) === name)
}

function readMessage(json: LenientJson, schema: MessageSchema, location: string): MessageObject {
  if (!(json instanceof JsonObject)) return invalidValue(location, quoted(json), schema.fullName)
  const object = emptyMessage(schema)
  const oneofs = new Map<string, string>()
  for (const [name, value] of json.entries) {
    const field = findField(schema, name)
    if (field === undefined) throw new OverrideError(`${location === '' ? '' : `(${location}) `}${name}: Cannot find field.`)
    if (value === null) continue
    if (field.oneof !== undefined) {
      const other = oneofs.get(field.oneof)
      if (other !== undefined && other !== field.name) {
        invalidValue(location, `oneof field '${field.oneof}' is already set. Cannot set '${name}'`, 'oneof')
      }
      oneofs.set(field.oneof, field.name)
    }
    readField(object, field, value, location === '' ? name : `${location}.${name}`)
  }
  return inDeclarationOrder(object, schema)
}

function readField(object: MessageObject, field: FieldSchema, json: LenientJson, location: string): void {
  const valueField = mapValueField(field)
  if (valueField !== undefined) {
    object[field.name] = readMap(field, valueField, json, location)
  } else if (field.isRepeated) {
    const list: unknown[] = []
    object[field.name] = list
    // protobuf takes a single value for a list of one
    const elements = Array.isArray(json) ? (json as readonly LenientJson[]) : [json]
    elements.forEach((element, index) => {
      if (element !== null) list.push(readValue(object, field, element, `${location}[${index}]`, list.length))
    })
  } else {
    object[field.name] = readValue(object, field, json, location, undefined)
  }
}

function readMap(field: FieldSchema, valueField: FieldSchema, json: LenientJson, location: string): MessageObject {
  if (!(json instanceof JsonObject)) return invalidValue(location, quoted(json), 'Map')
  const map: MessageObject = {}
  const keyField = field.type.kind === 'message' ? field.type.message.byName.get('key') : undefined
  for (const [key, value] of json.entries) {
    const place = `${location}["${key}"]`
    const isIntegerKey = keyField?.type.kind === 'scalar' && keyField.type.scalar !== 'string'
    const name = isIntegerKey && keyField.type.kind === 'scalar' ? String(readInteger(keyField.type.scalar, key, place)) : key
    if (value !== null) setEntry(map, name, readValue({}, valueField, value, place, undefined))
  }
  return map
}

function readValue(object: MessageObject, field: FieldSchema, json: LenientJson, location: string, index: number | undefined): unknown {
  if (field.type.kind === 'message') return readMessage(json, field.type.message, location)
  if (field.type.kind === 'enum') return readEnum(field, json, location)
  const { scalar } = field.type
  const fail = (): never => invalidValue(location, quoted(json), `TYPE_${scalar.toUpperCase()}`)
  switch (scalar) {
    case 'string': return typeof json === 'string' ? json : fail()
    case 'bool':
      if (typeof json === 'boolean') return json
      return json === 'true' || json === 'false' ? json === 'true' : fail()
    case 'float':
    case 'double': {
      const text = json instanceof JsonNumber ? json.text : json
      if (typeof text !== 'string') return fail()
      const number = text === 'NaN' ? NaN : Number(text.trim() === '' ? 'x' : text)
      if (Number.isNaN(number) && text !== 'NaN') return fail()
      return scalar === 'float' ? Math.fround(number) : number
    }
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64': {
      if (!(json instanceof JsonNumber) && typeof json !== 'string') return fail()
      return rememberInteger(object, field.name, readInteger(scalar, json instanceof JsonNumber ? json.text : json, location, quoted(json)), index)
    }
  }
}

/** Digits, or a float with an integral value (`4.0`, `1e3`). */
function readInteger(type: ScalarType, text: string, location: string, shown = `"${text}"`): bigint {
  const [minimum, maximum] = INTEGER_RANGES[type] ?? [0n, 0n]
  const value = /^-?[0-9]+$/.test(text) ? BigInt(text)
    : /^-?[0-9.]+(?:[eE][-+]?[0-9]+)?$/.test(text) && Number.isSafeInteger(Number(text)) ? BigInt(Number(text)) : null
  if (value === null || value < minimum || value > maximum) return invalidValue(location, shown, `TYPE_${type.toUpperCase()}`)
  return value
}

function readEnum(field: FieldSchema, json: LenientJson, location: string): string | number {
  if (field.type.kind !== 'enum') return 0
  const { values } = field.type.enum
  const number = json instanceof JsonNumber ? Number(json.text) : typeof json === 'string' && /^-?[0-9]+$/.test(json) ? Number(json) : null
  if (number !== null) {
    if (!Number.isInteger(number)) return invalidValue(location, quoted(json), 'TYPE_ENUM')
    return Object.keys(values).find((name) => values[name] === number) ?? number
  }
  const wanted = typeof json === 'string' ? json.toUpperCase() : ''
  return Object.keys(values).find((name) => name === wanted) ?? invalidValue(location, quoted(json), 'TYPE_ENUM')
}

/** `config` as the JSON text of `/config`. Integers beyond 2^53 are printed with all their digits (see `exact-integers.ts`). */
export function printModelConfigJson(config: ModelConfig): string {
  return printMessage(config as unknown as MessageObject, MODEL_CONFIG_SCHEMA)
}

/** The same document as a value for JSON.stringify; integers beyond 2^53 are rounded here, as any JSON parser in JavaScript would do. */
export function modelConfigToJson(config: ModelConfig): Record<string, unknown> {
  return JSON.parse(printModelConfigJson(config)) as Record<string, unknown>
}

function printMessage(object: MessageObject, schema: MessageSchema): string {
  const parts: string[] = []
  for (const field of schema.fields) {
    const text = printField(object, field)
    if (text !== undefined) parts.push(`${JSON.stringify(field.name)}:${text}`)
  }
  return `{${parts.join(',')}}`
}

function printField(object: MessageObject, field: FieldSchema): string | undefined {
  const value = object[field.name]
  const valueField = mapValueField(field)
  if (valueField !== undefined) {
    const entries = Object.entries((value ?? {}) as MessageObject)
    return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${printValue({}, valueField, entry, undefined)}`).join(',')}}`
  }
  if (field.isRepeated) {
    const list = (value ?? []) as readonly unknown[]
    return `[${list.map((element, index) => printValue(object, field, element, index)).join(',')}]`
  }
  if (value === undefined || value === null) {
    return field.type.kind === 'message' || field.oneof !== undefined ? undefined : JSON.stringify(defaultScalar(field))
  }
  return printValue(object, field, value, undefined)
}

function printValue(object: MessageObject, field: FieldSchema, value: unknown, index: number | undefined): string {
  if (field.type.kind === 'message') return printMessage(value as MessageObject, field.type.message)
  if (typeof value !== 'number') return JSON.stringify(value)
  if (field.type.kind === 'enum') return String(value)
  const { scalar } = field.type
  if (scalar !== 'float' && scalar !== 'double') return exactInteger(object, field.name, value, index)
  return Number.isFinite(value) ? shortestFloat(value, scalar) : JSON.stringify(String(value))
}
