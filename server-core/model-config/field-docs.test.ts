import { describe, expect, test } from 'vitest'
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import type { MessageSchema } from './config-schema.ts'
import { FIELD_DOCS } from './field-docs-table.ts'
import { docAtPath, fieldDoc } from './field-docs.ts'

function messagesFrom(schema: MessageSchema, found: Set<MessageSchema>): Set<MessageSchema> {
  if (found.has(schema)) return found
  found.add(schema)
  for (const field of schema.fields) if (field.type.kind === 'message') messagesFrom(field.type.message, found)
  return found
}

const FIELDS = [...messagesFrom(MODEL_CONFIG_SCHEMA, new Set())].flatMap((message) => message.fields.map((field) => ({ message, field })))

describe('fieldDoc', () => {
  test('every field of the schema is documented in both languages', () => {
    const missing = FIELDS.flatMap(({ message, field }) => {
      const doc = fieldDoc(message, field.name)
      const texts = doc === null ? [''] : [doc.meaning.en, doc.meaning['zh-CN'], doc.default.en, doc.default['zh-CN'], doc.usedBy.en, doc.usedBy['zh-CN']]
      const isChinese = doc !== null && /[\u4e00-\u9fff]|UINT64|TYPE_/.test(doc.meaning['zh-CN']) && /[\u4e00-\u9fff]/.test(doc.usedBy['zh-CN'])
      return texts.every((text) => text !== '') && isChinese ? [] : [`${message.fullName}.${field.name}`]
    })
    expect(missing).toEqual([])
  })

  test('nothing is documented that the schema does not have', () => {
    const known = new Set(FIELDS.map(({ message, field }) => `${message.fullName.replace('inference.', '')}.${field.name}`))
    expect(Object.keys(FIELD_DOCS).filter((key) => !known.has(key))).toEqual([])
  })

  test('is found by a path, through lists and maps', () => {
    expect(docAtPath(['input', 0, 'dims'])).toEqual(fieldDoc('inference.ModelInput', 'dims'))
    expect(docAtPath(['parameters', { key: 'k' }, 'value', 'string_value'])).toEqual(fieldDoc('inference.ModelParameter', 'string_value'))
    expect(docAtPath(['input', 0, 'nothing'])).toBeNull()
  })
})
