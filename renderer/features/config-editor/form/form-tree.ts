/** What the form reads from the syntax tree: values along a path, the path at an offset, and the places that only the text can edit. */
import type { FieldSchema, MessageSchema } from '../../../../server-core/model-config/config-schema.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { PbtxtError, PbtxtField, PbtxtMessage, PbtxtScalarValue, PbtxtTree, PbtxtValue } from '../../../../server-core/model-config/pbtxt-tree.ts'
import { fieldsNamed } from '../../../../server-core/model-config/pbtxt-tree.ts'

export type PathStep = ConfigPath[number]

/** Stable text of a path, for keys and `data-path`. */
export function pathKey(path: ConfigPath): string {
  return path.map((step) => (typeof step === 'object' ? `{${step.key}}` : String(step))).join('.')
}

export function isSameStep(left: PathStep | undefined, right: PathStep | undefined): boolean {
  if (typeof left === 'object' && typeof right === 'object') return left.key === right.key
  return left === right
}

/** `path` lies at or below `ancestor`. */
export function isUnder(path: ConfigPath, ancestor: ConfigPath): boolean {
  return ancestor.length <= path.length && ancestor.every((step, index) => isSameStep(step, path[index]))
}

export function isSamePath(left: ConfigPath, right: ConfigPath): boolean {
  return left.length === right.length && isUnder(left, right)
}

/** What was read of a message once: every part of the form asks for it, and a file may have thousands of parameters. Trees do not change. */
class Remembered<Value> {
  readonly #known = new WeakMap<PbtxtMessage, Map<string, Value>>()

  of(message: PbtxtMessage, name: string, read: () => Value): Value {
    const ofMessage = this.#known.get(message) ?? new Map<string, Value>()
    this.#known.set(message, ofMessage)
    const known = ofMessage.get(name)
    if (known !== undefined) return known
    const value = read()
    ofMessage.set(name, value)
    return value
  }
}

const knownValues = new Remembered<readonly PbtxtValue[]>()
const knownEntries = new Remembered<readonly MapEntryNode[]>()
const knownByKey = new Remembered<ReadonlyMap<string, PbtxtMessage>>()
const knownSteps = new Remembered<ReadonlyMap<PbtxtValue, PathStep>>()

/** All values of a field in order, however it is spread: `a: [1, 2]`, `a: 1 a: 2`. */
export function valuesOf(message: PbtxtMessage | null, name: string): readonly PbtxtValue[] {
  return message === null ? [] : knownValues.of(message, name, () => fieldsNamed(message, name).flatMap((field) => field.values))
}

export interface MapEntryNode {
  readonly key: string
  /** Message of `key` and `value`. */
  readonly entry: PbtxtMessage
  readonly value: PbtxtValue | null
}

/** Entries of a map field as written; a repeated key appears each time. A key that is left out is ''. */
export function mapEntries(message: PbtxtMessage | null, name: string): readonly MapEntryNode[] {
  return message === null ? [] : knownEntries.of(message, name, () => valuesOf(message, name).flatMap((entry) => {
    if (entry.kind !== 'message') return []
    const key = valuesOf(entry, 'key').at(-1)
    return [{ key: key?.kind === 'scalar' && key.value !== null ? String(key.value) : '', entry, value: valuesOf(entry, 'value').at(-1) ?? null }]
  }))
}

/** The entry that counts: of a repeated key the last. */
function entryOf(message: PbtxtMessage, name: string, key: string): PbtxtMessage | undefined {
  return knownByKey.of(message, name, () => new Map(mapEntries(message, name).map((node) => [node.key, node.entry]))).get(key)
}

/** The value at a path; null: not written (or not there). A path that ends in a repeated field's name gives its first value. */
export function valueAt(tree: PbtxtTree, path: ConfigPath): PbtxtValue | null {
  let node: PbtxtValue = tree.root
  for (let index = 0; index < path.length; index++) {
    const step: PathStep | undefined = path[index]
    if (typeof step !== 'string' || node.kind !== 'message') return null
    const next: PathStep | undefined = path[index + 1]
    let found: PbtxtValue | undefined
    if (typeof next === 'object') {
      found = entryOf(node, step, next.key)
      index++
    } else if (typeof next === 'number') {
      found = valuesOf(node, step)[next]
      index++
    } else {
      found = valuesOf(node, step)[0]
    }
    if (found === undefined) return null
    node = found
  }
  return node
}

export function messageAt(tree: PbtxtTree, path: ConfigPath): PbtxtMessage | null {
  const value = valueAt(tree, path)
  return value?.kind === 'message' ? value : null
}

export function scalarAt(tree: PbtxtTree, path: ConfigPath): PbtxtScalarValue | null {
  const value = valueAt(tree, path)
  return value?.kind === 'scalar' ? value.value : null
}

export function textAt(tree: PbtxtTree, path: ConfigPath): string {
  const value = scalarAt(tree, path)
  return value === null ? '' : String(value)
}

export function numberAt(tree: PbtxtTree, path: ConfigPath): number | null {
  const value = scalarAt(tree, path)
  return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : null
}

export function numbersAt(tree: PbtxtTree, path: ConfigPath): readonly number[] {
  const name = path.at(-1)
  const parent = path.length === 1 ? tree.root : messageAt(tree, path.slice(0, -1))
  if (typeof name !== 'string') return []
  return valuesOf(parent, name).flatMap((value) => (value.kind === 'scalar' && value.value !== null ? [Number(value.value)] : []))
}

/** How many values a repeated field has. */
export function countAt(tree: PbtxtTree, path: ConfigPath): number {
  const name = path.at(-1)
  return typeof name === 'string' ? valuesOf(path.length === 1 ? tree.root : messageAt(tree, path.slice(0, -1)), name).length : 0
}

/** `string_value` of an entry of `parameters`; null: no such entry. */
export function parameterAt(tree: PbtxtTree, key: string): string | null {
  return valueAt(tree, ['parameters', { key }]) === null ? null : textAt(tree, ['parameters', { key }, 'value', 'string_value'])
}

/** Deepest path whose text contains the offset; [] where only the file does. */
export function pathAt(tree: PbtxtTree, offset: number): ConfigPath {
  const path: PathStep[] = []
  let message: PbtxtMessage = tree.root
  for (;;) {
    const field: PbtxtField | undefined = message.fields.find(({ start, end }) => offset >= start && offset < end) ?? message.fields.findLast(({ end }) => offset === end)
    if (field === undefined) return path
    path.push(field.name)
    const value: PbtxtValue | undefined = field.values.find(({ start, end }) => offset >= start && offset < end) ?? field.values.findLast(({ end }) => offset === end)
    if (value === undefined) {
      // The name of a field that stands for one item or entry is about that one.
      const [only] = field.values
      return field.schema?.isRepeated === true && field.list === null && only !== undefined ? [...path, stepOf(message, field, only)] : path
    }
    if (field.schema?.isRepeated === true) path.push(stepOf(message, field, value))
    if (value.kind !== 'message') return path
    message = value
  }
}

function stepOf(message: PbtxtMessage, field: PbtxtField, value: PbtxtValue): PathStep {
  const isMap = field.schema !== null && mapValueField(field.schema) !== undefined
  const steps = knownSteps.of(message, field.name, () => new Map<PbtxtValue, PathStep>(isMap
    ? mapEntries(message, field.name).map(({ key, entry }) => [entry, { key }])
    : valuesOf(message, field.name).map((one, index) => [one, index])))
  return steps.get(value) ?? (isMap ? { key: '' } : -1)
}

/** A field that the schema does not know, wherever it stands. */
export interface UnknownField {
  readonly path: ConfigPath
  readonly field: PbtxtField
}

/** Unknown fields of the whole file in order; what lies inside one is not listed again. */
export function unknownFields(tree: PbtxtTree): readonly UnknownField[] {
  const found: UnknownField[] = []
  const walk = (message: PbtxtMessage, path: ConfigPath): void => {
    for (const field of message.fields) {
      if (field.schema === null) found.push({ path: [...path, field.name], field })
      else for (const value of field.values) if (value.kind === 'message') walk(value, field.schema.isRepeated ? [...path, field.name, stepOf(message, field, value)] : [...path, field.name])
    }
  }
  walk(tree.root, [])
  return found
}

/** A place that the form shows but does not change, with the parser's reason. */
export interface Lock {
  readonly path: ConfigPath
  readonly error: PbtxtError
}

/**
 * One lock per error that lies in a known field: the deepest field around it. A bracket that is never closed locks what it opens; the error
 * about it stands further down, at a field that is innocent. Errors outside every field lock nothing.
 */
export function locksOf(tree: PbtxtTree, errors: readonly PbtxtError[]): readonly Lock[] {
  const rest = errors.filter(({ code }) => code !== 'unknown-field')
  const locks: Lock[] = []
  for (const { path, end } of unclosed(tree)) {
    const index = rest.findIndex(({ offset }) => offset >= end)
    const [error] = index < 0 ? [] : rest.splice(index, 1)
    if (error !== undefined) locks.push({ path, error })
  }
  for (const error of rest) {
    const path = knownPart(pathAt(tree, error.offset))
    if (path.length > 0) locks.push({ path, error })
  }
  return locks
}

/** What is opened and never closed, inner before outer. */
function unclosed(tree: PbtxtTree): readonly { readonly path: ConfigPath; readonly end: number }[] {
  const found: { path: ConfigPath; end: number }[] = []
  const walk = (message: PbtxtMessage, path: ConfigPath): void => {
    for (const field of message.fields) {
      if (field.schema === null) continue
      for (const value of field.values) {
        if (value.kind !== 'message') continue
        const valuePath: ConfigPath = field.schema.isRepeated ? [...path, field.name, stepOf(message, field, value)] : [...path, field.name]
        walk(value, valuePath)
        if (value.open !== null && value.close === null) found.push({ path: valuePath, end: value.end })
      }
      if (field.list !== null && field.list.close === null) found.push({ path: [...path, field.name], end: field.values.at(-1)?.end ?? field.list.open.offset })
    }
  }
  walk(tree.root, [])
  return found
}

/** The path up to, not including, its first unknown field. */
function knownPart(path: ConfigPath): ConfigPath {
  let schema: MessageSchema | undefined = MODEL_CONFIG_SCHEMA
  for (const [index, step] of path.entries()) {
    if (typeof step !== 'string') continue
    const field: FieldSchema | undefined = schema?.byName.get(step)
    if (field === undefined) return path.slice(0, index)
    schema = field.type.kind === 'message' ? field.type.message : undefined
  }
  return path
}

/** The schema of the field that a path names (of its items, for a path that ends in an index or a key). */
export function schemaAt(path: ConfigPath): FieldSchema | null {
  let schema: MessageSchema | undefined = MODEL_CONFIG_SCHEMA
  let field: FieldSchema | undefined
  for (const step of path) {
    if (typeof step !== 'string') continue
    field = schema?.byName.get(step)
    if (field === undefined) return null
    schema = field.type.kind === 'message' ? field.type.message : undefined
  }
  return field ?? null
}

/** A value without the manner it is written in, for comparing two texts: field order and list style do not count. */
export function meaningOf(values: readonly PbtxtValue[]): string {
  return JSON.stringify(values.map(plain))
}

function plain(value: PbtxtValue): unknown {
  if (value.kind === 'scalar') return String(value.value)
  const names = [...new Set(value.fields.map(({ name }) => name))].sort()
  return names.map((name) => [name, valuesOf(value, name).map(plain)])
}
