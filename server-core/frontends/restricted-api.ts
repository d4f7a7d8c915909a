/** Restricted APIs: categories of calls that want a header (`--http-restricted-api`, `--grpc-restricted-protocol`). */
import { ServerError } from '../server-error.ts'

export const API_CATEGORIES = [
  'health', 'metadata', 'inference', 'shared-memory', 'model-config', 'model-repository', 'statistics', 'trace', 'logging',
] as const
export type ApiCategory = (typeof API_CATEGORIES)[number]

export interface RestrictedApi {
  readonly categories: readonly ApiCategory[]
  readonly header: string
  readonly value: string
}

/**
 * Reads one flag value `<category>[,<category>]:<header>=<value>`.
 * @throws ServerError INVALID_ARG that names the flag and what is wrong.
 */
export function parseRestrictedApi(text: string, flag: string): RestrictedApi {
  const colon = text.indexOf(':')
  const equals = text.indexOf('=', colon + 1)
  if (colon <= 0 || equals <= colon + 1) throw new ServerError('INVALID_ARG', `${flag}: expected '<category>[,<category>]:<header>=<value>', got '${text}'`)
  const categories = text.slice(0, colon).split(',').map((name) => {
    const category = API_CATEGORIES.find((known) => known === name.trim())
    if (category === undefined) throw new ServerError('INVALID_ARG', `${flag}: unknown category '${name}', expected one of ${API_CATEGORIES.join(', ')}`)
    return category
  })
  return { categories, header: text.slice(colon + 1, equals).trim(), value: text.slice(equals + 1) }
}

/** The header each category wants. @throws ServerError INVALID_ARG when a category appears in two restrictions. */
export function restrictionsByCategory(restrictions: readonly RestrictedApi[]): ReadonlyMap<ApiCategory, RestrictedApi> {
  const result = new Map<ApiCategory, RestrictedApi>()
  for (const restriction of restrictions) {
    for (const category of restriction.categories) {
      if (result.has(category)) throw new ServerError('INVALID_ARG', `restricted api '${category}' can not be specified in multiple config groups`)
      result.set(category, restriction)
    }
  }
  return result
}
