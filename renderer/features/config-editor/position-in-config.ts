/** Where in the tree an offset of the text lies: which message, which field, name or value. For completion, hover and selection. */
import type { FieldSchema, MessageSchema } from '../../../server-core/model-config/config-schema.ts'
import { entryKey } from '../../../server-core/model-config/config-path.ts'
import type { ConfigPath, ConfigPathStep } from '../../../server-core/model-config/config-path.ts'
import type { PbtxtField, PbtxtMessage, PbtxtTree, PbtxtValue } from '../../../server-core/model-config/pbtxt-tree.ts'

export interface ConfigPosition {
  /** Messages around the offset, outermost first; the file itself is the first. */
  readonly messages: readonly { readonly message: PbtxtMessage; readonly path: ConfigPath }[]
  /** The field the offset lies in, of the innermost message; null: between fields. */
  readonly field: PbtxtField | null
  /** Of the innermost thing: field, element or message. */
  readonly path: ConfigPath
  readonly part: 'name' | 'value' | 'between'
}

export function positionInConfig(tree: PbtxtTree, offset: number): ConfigPosition {
  const messages: { message: PbtxtMessage; path: ConfigPath }[] = [{ message: tree.root, path: [] }]
  let message = tree.root
  let path: ConfigPath = []
  for (;;) {
    const found = fieldAt(message, offset)
    if (found === null) return { messages, field: null, path, part: 'between' }
    const last = found.nameTokens.at(-1)
    const nameEnd = last ? last.offset + last.text.length : found.start
    const index = found.values.findIndex((value) => offset >= value.start && offset <= value.end)
    const value = found.values[index]
    path = [...path, ...stepsOf(message, found, value, Math.max(0, index))]
    if (offset <= nameEnd) return { messages, field: found, path, part: 'name' }
    if (value?.kind !== 'message' || value.open === null || offset <= value.open.offset || (value.close !== null && offset > value.close.offset)) {
      return { messages, field: found, path, part: 'value' }
    }
    message = value
    messages.push({ message, path })
  }
}

/** The last field that begins before the offset and reaches it, its missing value included: after `name: ` one is still in the field. */
function fieldAt(message: PbtxtMessage, offset: number): PbtxtField | null {
  const field = message.fields.findLast((candidate) => candidate.start <= offset)
  if (!field) return null
  return offset <= field.end || isWithoutValue(field) ? field : null
}

function isWithoutValue({ colon, values, list }: PbtxtField): boolean {
  const [value] = values
  return colon !== null && list === null && (value === undefined || (value.kind === 'scalar' && value.tokens.length === 0))
}

function stepsOf(message: PbtxtMessage, field: PbtxtField, value: PbtxtValue | undefined, index: number): ConfigPathStep[] {
  if (field.schema?.isRepeated !== true) return [field.name]
  if (field.schema.type.kind === 'message' && field.schema.type.message.isMapEntry) {
    const key = entryKey(value ?? field.values[0] ?? message)
    return key === null ? [field.name] : [field.name, { key }]
  }
  // A repeated field may be written several times: elements count through all of them.
  const before = message.fields.slice(0, message.fields.indexOf(field)).filter((other) => other.name === field.name).reduce((count, other) => count + other.values.length, 0)
  return field.values.length === 0 ? [field.name] : [field.name, before + index]
}

/** Names of the messages around, as rules speak of them: `['input']`, `['parameters', 'value']`. Indexes and keys left out. */
export function namesOf(path: ConfigPath): string[] {
  return path.filter((step): step is string => typeof step === 'string')
}

export function schemaOf(message: PbtxtMessage, root: MessageSchema): MessageSchema | null {
  return message.open === null ? root : message.schema
}

/** Fields of a message that can still be written: repeated ones, and singular ones that are not there (nor another of their oneof). */
export function openFields(message: PbtxtMessage, schema: MessageSchema): FieldSchema[] {
  const written = new Set(message.fields.map((field) => field.name))
  const takenOneofs = new Set(message.fields.map((field) => field.schema?.oneof).filter((oneof) => oneof !== undefined))
  return schema.fields.filter((field) => field.isRepeated || (!written.has(field.name) && (field.oneof === undefined || !takenOneofs.has(field.oneof))))
}
