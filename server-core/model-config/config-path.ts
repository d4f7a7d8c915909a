/** Where a part of a config is: names of fields, places in lists, keys of maps; and how it is found in the syntax tree. */
import { fieldsNamed } from './pbtxt-tree.ts'
import type { PbtxtField, PbtxtMessage, PbtxtSpan, PbtxtTree, PbtxtValue } from './pbtxt-tree.ts'

export type ConfigPathStep = string | number | { readonly key: string }

/** `['instance_group', 0, 'count']`, `['parameters', { key: 'k' }, 'value', 'string_value']`. The empty path is the whole file. */
export type ConfigPath = readonly ConfigPathStep[]

/** One element of a repeated field, which may be written as several fields, lists, or both. */
export interface PbtxtElement {
  readonly field: PbtxtField
  readonly value: PbtxtValue
  /** Position among the values of `field`. */
  readonly position: number
}

/** How far a path leads into a tree. */
export interface PathPlace {
  /** The innermost message on the way. */
  readonly message: PbtxtMessage
  /** The fields that the last name found stands for, in order; empty at the root. */
  readonly fields: readonly PbtxtField[]
  /** What an index or key selected, or the value of a singular field. */
  readonly element: PbtxtElement | null
  /** Number of steps found; the path's length where all were. */
  readonly resolved: number
}

const elementCache = new WeakMap<PbtxtMessage, Map<string, readonly PbtxtElement[]>>()
const keyCache = new WeakMap<PbtxtMessage, Map<string, ReadonlyMap<string, PbtxtElement>>>()
const fieldCache = new WeakMap<PbtxtMessage, Map<string, readonly PbtxtField[]>>()

function cached<Value>(cache: WeakMap<PbtxtMessage, Map<string, Value>>, message: PbtxtMessage, name: string, make: () => Value): Value {
  const ofMessage = cache.get(message) ?? new Map<string, Value>()
  cache.set(message, ofMessage)
  const known = ofMessage.get(name)
  if (known !== undefined) return known
  const value = make()
  ofMessage.set(name, value)
  return value
}

function allFields(message: PbtxtMessage, name: string): readonly PbtxtField[] {
  return cached(fieldCache, message, name, () => fieldsNamed(message, name))
}

/** Elements of the repeated field `name`, over all the places where it is written. */
export function elementsNamed(message: PbtxtMessage, name: string): readonly PbtxtElement[] {
  return cached(elementCache, message, name, () =>
    allFields(message, name).flatMap((field) => field.values.map((value, position): PbtxtElement => ({ field, value, position }))))
}

/** The key of a map entry, as text; a missing one is the default of its type. */
export function entryKey(entry: PbtxtValue): string | null {
  if (entry.kind !== 'message') return null
  const value = entry.fields.findLast((field) => field.name === 'key')?.values[0]
  if (value?.kind === 'scalar' && value.value !== null) return String(value.value)
  const type = entry.schema?.byName.get('key')?.type
  return type?.kind === 'scalar' && type.scalar !== 'string' ? '0' : ''
}

function entryWithKey(message: PbtxtMessage, name: string, key: string): PbtxtElement | undefined {
  const byKey = cached(keyCache, message, name, () => {
    const entries = new Map<string, PbtxtElement>()
    for (const element of elementsNamed(message, name)) {
      const own = entryKey(element.value)
      if (own !== null) entries.set(own, element)
    }
    return entries
  })
  return byKey.get(key)
}

/** Follows a path as far as the tree has it. */
export function resolvePath(tree: PbtxtTree, path: ConfigPath): PathPlace {
  let place: PathPlace = { message: tree.root, fields: [], element: null, resolved: 0 }
  while (place.resolved < path.length) {
    const next = stepInto(place, path[place.resolved] ?? 0)
    if (next === null) return place
    place = next
  }
  return place
}

function stepInto(place: PathPlace, step: ConfigPathStep): PathPlace | null {
  if (typeof step === 'string') {
    const message = place.element === null && place.resolved === 0 ? place.message : place.element?.value
    if (message?.kind !== 'message') return null
    const fields = allFields(message, step)
    const field = fields[fields.length - 1]
    if (field === undefined) return null
    const value = field.values[field.values.length - 1]
    const isSingular = field.schema?.isRepeated !== true && value !== undefined
    return { message, fields, element: isSingular ? { field, value, position: field.values.length - 1 } : null, resolved: place.resolved + 1 }
  }
  const name = place.fields[0]?.name
  if (name === undefined) return null
  const element = typeof step === 'number' ? elementsNamed(place.message, name)[step] : entryWithKey(place.message, name, step.key)
  return element === undefined ? null : { ...place, element, resolved: place.resolved + 1 }
}

function spanOfPlace(place: PathPlace, path: ConfigPath): PbtxtSpan | null {
  const { element, fields } = place
  const last = path[place.resolved - 1]
  if (element !== null && typeof last !== 'string') {
    return element.field.list === null ? fieldSpan(element.field) : { start: element.value.start, end: element.value.end }
  }
  const field = element?.field ?? fields[0]
  return field === undefined ? null : fieldSpan(field)
}

/** Of a field without its separator. */
export function fieldSpan(field: PbtxtField): PbtxtSpan {
  const last = field.values[field.values.length - 1]
  const closer = field.list?.close
  const name = field.nameTokens[field.nameTokens.length - 1]
  const ends = [closer === null || closer === undefined ? 0 : closer.offset + 1, last?.end ?? 0, name === undefined ? 0 : name.offset + name.text.length]
  return { start: field.start, end: Math.max(...ends) }
}

/** The field or element at `path`; null where the tree has none. A repeated field written several times: its first. */
export function findField(tree: PbtxtTree, path: ConfigPath): PbtxtSpan | null {
  const place = resolvePath(tree, path)
  if (place.resolved < path.length) return null
  return path.length === 0 ? { start: tree.root.start, end: tree.root.end } : spanOfPlace(place, path)
}

/**
 * What to underline for a finding about `path`: the value of a singular scalar, the element of a list, the name of a message field; of
 * what is not written, the nearest thing around it. The empty path is the first field's name.
 */
export function markedSpan(tree: PbtxtTree, path: ConfigPath): PbtxtSpan {
  const place = resolvePath(tree, path)
  const last = path[place.resolved - 1]
  const { element } = place
  if (element?.value.kind === 'scalar' && element.value.end > element.value.start) return { start: element.value.start, end: element.value.end }
  if (element !== null && typeof last !== 'string' && element.field.list !== null) {
    const { value } = element
    const lineEnd = tree.text.slice(value.start, value.end).indexOf('\n')
    return { start: value.start, end: lineEnd < 0 ? value.end : value.start + Math.max(1, lineEnd) }
  }
  const field = element?.field ?? place.fields[0] ?? tree.root.fields[0]
  const name = field?.nameTokens[0]
  const end = field?.nameTokens[field.nameTokens.length - 1]
  if (name === undefined || end === undefined) return { start: 0, end: 0 }
  return { start: name.offset, end: end.offset + end.text.length }
}
