/** A config as a flat list of what is set: `input[0].dims` = `[ 3, 224, 224 ]`. For comparing and explaining. Pure. */
import type { ModelConfig } from '../contract/model-config.ts'
import type { MessageObject } from './config-message.ts'
import type { ConfigPath } from './config-path.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import { exactInteger } from './exact-integers.ts'
import { printStringLiteral } from './pbtxt-literals.ts'

export interface SetField {
  /** As written for people: list items by their name where they have one. */
  readonly place: string
  readonly path: ConfigPath
  readonly value: string
}

/** Values that are not their default, in declaration order; an empty message that is present is `{ }`. */
export function flattenConfig(config: ModelConfig): SetField[] {
  return [...fieldsOf(config as unknown as MessageObject, MODEL_CONFIG_SCHEMA, '', [])]
}

function* fieldsOf(object: MessageObject, schema: MessageSchema, place: string, path: ConfigPath): Generator<SetField> {
  for (const field of schema.fields) {
    const value = object[field.name]
    if (value === undefined || value === null) continue
    yield* fieldOf(object, field, value, place === '' ? field.name : `${place}.${field.name}`, [...path, field.name])
  }
}

function* fieldOf(object: MessageObject, field: FieldSchema, value: unknown, place: string, path: ConfigPath): Generator<SetField> {
  const valueField = mapValueField(field)
  if (valueField !== undefined) {
    for (const [key, entry] of Object.entries(value as MessageObject)) {
      const entryPlace = `${place}[${printStringLiteral(key)}]`
      const entryPath = [...path, { key }, 'value']
      if (valueField.type.kind === 'message') yield* messageOf(entry as MessageObject, valueField.type.message, entryPlace, entryPath)
      else yield { place: entryPlace, path: entryPath, value: scalarText({}, valueField, entry) }
    }
    return
  }
  if (field.isRepeated) {
    const list = value as readonly unknown[]
    if (list.length === 0) return
    if (field.type.kind !== 'message') {
      yield { place, path, value: `[ ${list.map((element, index) => scalarText(object, field, element, index)).join(', ')} ]` }
      return
    }
    const { message } = field.type
    const names = list.map((element) => (element as MessageObject)['name'])
    // Groups get their names from their places: those are the same before and after.
    const areNames = field.name !== 'instance_group' && names.every((name) => typeof name === 'string' && name !== '') && new Set(names).size === names.length
    for (const [index, element] of list.entries()) {
      yield* messageOf(element as MessageObject, message, `${place}[${areNames ? printStringLiteral(String(names[index])) : index}]`, [...path, index], areNames)
    }
    return
  }
  if (field.type.kind === 'message') {
    yield* messageOf(value as MessageObject, field.type.message, place, path)
    return
  }
  if (field.oneof === undefined && isDefault(field, value)) return
  yield { place, path, value: scalarText(object, field, value) }
}

function* messageOf(object: MessageObject, schema: MessageSchema, place: string, path: ConfigPath, isNamed = false): Generator<SetField> {
  const inside = [...fieldsOf(object, schema, place, path)].filter((field) => !isNamed || field.place !== `${place}.name`)
  if (inside.length === 0) yield { place, path, value: '{ }' }
  else yield* inside
}

function isDefault(field: FieldSchema, value: unknown): boolean {
  if (field.type.kind === 'enum') return field.type.enum.values[String(value)] === 0
  return value === '' || value === false || value === 0
}

function scalarText(object: MessageObject, field: FieldSchema, value: unknown, index?: number): string {
  if (field.type.kind !== 'scalar') return String(value)
  if (field.type.scalar === 'string') return printStringLiteral(String(value))
  const isInteger = field.type.scalar !== 'float' && field.type.scalar !== 'double' && field.type.scalar !== 'bool'
  return isInteger && typeof value === 'number' ? exactInteger(object, field.name, value, index) : String(value)
}
