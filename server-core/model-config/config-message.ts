/** ModelConfig messages as plain objects along the schema: defaults, and from the syntax tree. */
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { mapValueField } from './config-schema.ts'
import { rememberInteger } from './exact-integers.ts'
import type { PbtxtMessage, PbtxtScalarValue, PbtxtValue } from './pbtxt-tree.ts'

export type MessageObject = Record<string, unknown>

/** `target[key] = value` also for the key `__proto__`. */
export function setEntry(target: MessageObject, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  else target[key] = value
}

/** The default of a singular scalar or enum field. */
export function defaultScalar(field: FieldSchema): PbtxtScalarValue {
  if (field.type.kind === 'enum') return Object.keys(field.type.enum.values)[0] ?? 0
  if (field.type.kind === 'message') throw new Error(`${field.name} is a message`)
  if (field.type.scalar === 'string') return ''
  return field.type.scalar === 'bool' ? false : 0
}

/** Scalars at their defaults, `[]` and `{}` for lists and maps; messages and members of oneofs are left out until set. */
export function emptyMessage(schema: MessageSchema): MessageObject {
  const object: MessageObject = {}
  for (const field of schema.fields) {
    if (field.isRepeated) object[field.name] = mapValueField(field) === undefined ? [] : {}
    else if (field.type.kind !== 'message' && field.oneof === undefined) object[field.name] = defaultScalar(field)
  }
  return object
}

/** The value of an error-free message node. */
export function messageFromTree(node: PbtxtMessage, schema: MessageSchema): MessageObject {
  const object = emptyMessage(schema)
  for (const fieldNode of node.fields) {
    const field = schema.byName.get(fieldNode.name)
    if (field === undefined) continue
    for (const value of fieldNode.values) addValue(object, field, value)
  }
  return inDeclarationOrder(object, schema)
}

function addValue(object: MessageObject, field: FieldSchema, value: PbtxtValue): void {
  const list = object[field.name]
  if (mapValueField(field) !== undefined) addMapEntry(list as MessageObject, field, value)
  else if (Array.isArray(list)) list.push(plainValue(object, field, value, list.length))
  else object[field.name] = plainValue(object, field, value, undefined)
}

function plainValue(object: MessageObject, field: FieldSchema, value: PbtxtValue, index: number | undefined): unknown {
  if (value.kind === 'message') return field.type.kind === 'message' ? messageFromTree(value, field.type.message) : {}
  const plain = value.value ?? defaultScalar(field)
  return typeof plain === 'bigint' ? rememberInteger(object, field.name, plain, index) : plain
}

/** A repeated key: the last one wins. A missing key or value is its default. */
function addMapEntry(map: MessageObject, field: FieldSchema, node: PbtxtValue): void {
  const valueField = mapValueField(field)
  if (valueField === undefined || node.kind !== 'message' || field.type.kind !== 'message') return
  const entry = messageFromTree(node, field.type.message)
  const keyField = field.type.message.byName.get('key')
  const keyNode = node.fields.findLast((candidate) => candidate.name === 'key')?.values[0]
  // Not through a number: keys are 64 bit.
  const key = keyNode?.kind === 'scalar' && keyNode.value !== null ? String(keyNode.value) : String(keyField === undefined ? '' : defaultScalar(keyField))
  const fallback = valueField.type.kind === 'message' ? emptyMessage(valueField.type.message) : defaultScalar(valueField)
  setEntry(map, key, entry['value'] ?? fallback)
}

/** The same object with its fields in declaration order, as JSON prints them. */
export function inDeclarationOrder(object: MessageObject, schema: MessageSchema): MessageObject {
  const ordered: MessageObject = {}
  for (const field of schema.fields) if (object[field.name] !== undefined) ordered[field.name] = object[field.name]
  for (const symbol of Object.getOwnPropertySymbols(object)) Object.assign(ordered, { [symbol]: Reflect.get(object, symbol) as unknown })
  return ordered
}
