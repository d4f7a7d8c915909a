/** Finds fields of the schema by words: name, label and help of a field and of everything around it. */
import type { FieldSchema } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'

/** Words of a field for the search: label and help in the current language. */
export type FieldWords = (path: ConfigPath) => string

export function queryWords(query: string): readonly string[] {
  return query.toLowerCase().split(/\s+/).filter((word) => word !== '')
}

/** Every word of the query is somewhere in the text. */
export function textMatches(text: string, query: string): boolean {
  const lower = text.toLowerCase()
  return queryWords(query).every((word) => lower.includes(word))
}

/** The field or anything in it matches. `around`: the words of what it lies in, which count for it too. */
export function fieldMatches(field: FieldSchema, path: ConfigPath, query: string, words: FieldWords, around = ''): boolean {
  if (queryWords(query).length === 0) return true
  const own = `${around} ${field.name} ${words(path)}`
  if (textMatches(own, query)) return true
  if (field.type.kind !== 'message') return false
  const below: ConfigPath = field.isRepeated ? [...path, 0] : path
  return field.type.message.fields.some((inner) => fieldMatches(inner, [...below, inner.name], query, words, own))
}

/** Words of everything that a path lies in. */
export function wordsAround(path: ConfigPath, words: FieldWords): string {
  return path.flatMap((step, index) => (typeof step === 'string' ? [step, words(path.slice(0, index + 1))] : [])).join(' ')
}
