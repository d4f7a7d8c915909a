/** What a field means, its default and who uses it, as Markdown for hover and completion. */
import i18next from 'i18next'
import { fieldDoc } from '../../../server-core/model-config/field-docs.ts'
import { MODEL_CONFIG_SCHEMA } from '../../../server-core/model-config/config-schema.ts'
import type { FieldSchema, MessageSchema } from '../../../server-core/model-config/config-schema.ts'
import { localized } from '../../lib/localized-text.ts'
import { typeName } from './completion.ts'

const fieldsByOwner = new Map<string, FieldSchema>()
collect(MODEL_CONFIG_SCHEMA)

function collect(message: MessageSchema): void {
  for (const field of message.fields) {
    const key = `${message.fullName}.${field.name}`
    if (fieldsByOwner.has(key)) continue
    fieldsByOwner.set(key, field)
    if (field.type.kind === 'message') collect(field.type.message)
  }
}

/** @param message full name of the message that declares the field; undefined where nothing is known */
export function hoverText(message: string, name: string): string | undefined {
  const schema = fieldsByOwner.get(`${message}.${name}`)
  if (schema === undefined) return undefined
  const doc = fieldDoc(message, name)
  const head = `**${name}** \`${typeName(schema)}\``
  if (doc === null) return head
  const t = i18next.getFixedT(null, 'config-editor')
  return `${head}\n\n${localized(doc.meaning)}\n\n${t('hover.default', { value: localized(doc.default) })}  \n${t('hover.usedBy', { value: localized(doc.usedBy) })}`
}
