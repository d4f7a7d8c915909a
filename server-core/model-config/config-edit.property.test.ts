import { expect, test } from 'vitest'
import type { TextEdit } from '../contract/config-language.ts'
import { applyEdits, findField, insertItem, removeField, removeItem, removeMapEntry, setField, setMapEntry } from './config-edit.ts'
import type { ConfigPath, ConfigValue } from './config-edit.ts'
import { defaultScalar, emptyMessage, messageFromTree } from './config-message.ts'
import type { MessageObject } from './config-message.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { formatConfig } from './format-config.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import type { PbtxtTree } from './pbtxt-tree.ts'
import { randomFieldValue, randomKey, randomMessage, randomNumbers, randomScalar, randomValue, writeRandomly } from './test-random-config.ts'
import type { Random } from './test-random-config.ts'

function read(text: string): MessageObject {
  const { tree, errors } = parsePbtxt(text)
  expect(errors, text).toEqual([])
  return messageFromTree(tree.root, MODEL_CONFIG_SCHEMA)
}

function commentsOf(tree: PbtxtTree): string[] {
  return tree.tokens.filter((token) => token.kind === 'comment').map((token) => token.text.trimEnd())
}

/** A value with every default that the reader fills in. */
function complete(field: FieldSchema, value: ConfigValue): unknown {
  const valueField = mapValueField(field)
  if (valueField !== undefined) return Object.fromEntries(Object.entries(value as Record<string, ConfigValue>).map(([key, entry]) => [key, completeOne(valueField, entry)]))
  return field.isRepeated ? (value as readonly ConfigValue[]).map((one) => completeOne(field, one)) : completeOne(field, value)
}

function completeOne(field: FieldSchema, value: ConfigValue): unknown {
  if (field.type.kind !== 'message') return value
  const message = emptyMessage(field.type.message)
  for (const inner of field.type.message.fields) {
    const given = (value as Record<string, ConfigValue>)[inner.name]
    if (given !== undefined) message[inner.name] = complete(inner, given)
  }
  return message
}

interface Spot { readonly object: MessageObject; readonly schema: MessageSchema; readonly path: ConfigPath }

/** A message somewhere in the config. */
function randomSpot(config: MessageObject, random: Random): Spot {
  let spot: Spot = { object: config, schema: MODEL_CONFIG_SCHEMA, path: [] }
  while (random(3) !== 0) {
    const choices = spot.schema.fields.flatMap((field) => childSpots(spot, field))
    const next = choices[random(choices.length)]
    if (next === undefined) return spot
    spot = next
  }
  return spot
}

function childSpots({ object, path }: Spot, field: FieldSchema): Spot[] {
  const value = object[field.name]
  if (field.type.kind !== 'message' || value === undefined) return []
  const valueField = mapValueField(field)
  if (valueField !== undefined) {
    if (valueField.type.kind !== 'message') return []
    const { message } = valueField.type
    return Object.entries(value as Record<string, MessageObject>).map(([key, entry]) => ({ object: entry, schema: message, path: [...path, field.name, { key }, 'value'] }))
  }
  const { message } = field.type
  if (!field.isRepeated) return [{ object: value as MessageObject, schema: message, path: [...path, field.name] }]
  return (value as MessageObject[]).map((entry, index) => ({ object: entry, schema: message, path: [...path, field.name, index] }))
}

interface Change { readonly edits: TextEdit[]; readonly keepsComments: boolean; readonly what: string }

/** Edits the text, and changes the typed config in the same way. */
function randomChange(tree: PbtxtTree, { object, schema, path }: Spot, random: Random): Change | null {
  const field = schema.fields[random(schema.fields.length)]
  if (field === undefined) return null
  const fieldPath = [...path, field.name]
  const valueField = mapValueField(field)
  const clearRivals = (): boolean => {
    let cleared = false
    for (const rival of schema.fields) {
      if (field.oneof === undefined || rival.oneof !== field.oneof || rival.name === field.name || object[rival.name] === undefined) continue
      Reflect.deleteProperty(object, rival.name)
      cleared = true
    }
    return cleared
  }
  if (random(4) === 0) {
    const edits = removeField(tree, fieldPath)
    if (valueField !== undefined) object[field.name] = {}
    else if (field.isRepeated) object[field.name] = []
    else if (field.type.kind === 'message' || field.oneof !== undefined) Reflect.deleteProperty(object, field.name)
    else object[field.name] = defaultScalar(field)
    return { edits, keepsComments: field.type.kind !== 'message' && !field.isRepeated, what: 'remove' }
  }
  if (valueField !== undefined) {
    const map = object[field.name] as MessageObject
    const keys = Object.keys(map)
    if (random(2) === 0 && keys.length > 0) {
      const key = keys[random(keys.length)] ?? ''
      Reflect.deleteProperty(map, key)
      return { edits: removeMapEntry(tree, fieldPath, key), keepsComments: false, what: 'remove entry' }
    }
    const key = randomKey(field, random)
    const value = randomValue(valueField, random)
    const isNew = !keys.includes(key)
    map[key] = completeOne(valueField, value)
    return { edits: setMapEntry(tree, fieldPath, key, value), keepsComments: isNew, what: 'set entry' }
  }
  if (field.isRepeated) {
    const list = object[field.name] as unknown[]
    const choice = random(3)
    if (choice === 0 && list.length > 0) {
      const index = random(list.length)
      list.splice(index, 1)
      return { edits: removeItem(tree, fieldPath, index), keepsComments: field.type.kind !== 'message', what: 'remove item' }
    }
    if (choice === 1) {
      const index = random(list.length + 1)
      const value = randomValue(field, random)
      list.splice(index, 0, completeOne(field, value))
      return { edits: insertItem(tree, fieldPath, index, value), keepsComments: true, what: 'insert item' }
    }
    const value = randomFieldValue(field, random)
    object[field.name] = complete(field, value)
    return { edits: setField(tree, fieldPath, value), keepsComments: field.type.kind !== 'message', what: 'set list' }
  }
  const value = field.type.kind === 'message' ? randomMessage(field.type.message, random) : randomScalar(field, random)
  const keeps = object[field.name] === undefined || field.type.kind !== 'message'
  const cleared = clearRivals()
  object[field.name] = complete(field, value)
  return { edits: setField(tree, fieldPath, value), keepsComments: keeps && !cleared, what: 'set' }
}

test('random edits of 1,000 random configs change what they say and nothing else', () => {
  const random = randomNumbers(11)
  for (let round = 0; round < 1_000; round++) {
    let text = writeRandomly(randomMessage(MODEL_CONFIG_SCHEMA, random), random)
    for (let turn = 0; turn < 3; turn++) {
      const { tree } = parsePbtxt(text)
      const config = read(text)
      const change = randomChange(tree, randomSpot(config, random), random)
      if (change === null) continue
      const after = applyEdits(text, change.edits)
      const label = `round ${round} ${change.what}\n${text}\n--- became ---\n${after}`
      expect(read(after), label).toEqual(config)
      if (change.keepsComments) expect(commentsOf(parsePbtxt(after).tree), label).toEqual(commentsOf(tree))
      expect(after.startsWith('\ufeff'), label).toBe(text.startsWith('\ufeff'))
      if (text.includes('\r\n')) expect(after.replaceAll('\r\n', ''), label).not.toContain('\n')
      text = after
    }
  }
}, 60_000)

test('setting what is there changes nothing; setting a value changes only its bytes', () => {
  const random = randomNumbers(23)
  for (let round = 0; round < 300; round++) {
    const text = writeRandomly(randomMessage(MODEL_CONFIG_SCHEMA, random), random)
    const { tree } = parsePbtxt(text)
    const spot = randomSpot(read(text), random)
    for (const field of spot.schema.fields) {
      const value = spot.object[field.name] as ConfigValue | undefined
      const path = [...spot.path, field.name]
      const span = findField(tree, path)
      if (span === null || value === undefined) continue
      expect(setField(tree, path, value), text).toEqual([])
      if (field.isRepeated || field.type.kind === 'message') continue
      const after = applyEdits(text, setField(tree, path, randomScalar(field, random)))
      expect(after.startsWith(text.slice(0, span.start)) && after.endsWith(text.slice(span.end)), `${text}\n---\n${after}`).toBe(true)
    }
  }
}, 60_000)

test('formatting keeps every token and comment, and a formatted text as it is', () => {
  const random = randomNumbers(5)
  for (let round = 0; round < 300; round++) {
    const text = writeRandomly(randomMessage(MODEL_CONFIG_SCHEMA, random), random)
    const formatted = applyEdits(text, formatConfig(text))
    const tokens = (source: string): string[] => parsePbtxt(source).tree.tokens.filter((token) => token.kind !== 'space').map((token) => token.text.trimEnd())
    expect(tokens(formatted), `${text}\n---\n${formatted}`).toEqual(tokens(text))
    expect(formatConfig(formatted), formatted).toEqual([])
  }
}, 60_000)
