/** Whether a field is shown under the filter at the head of the form. */
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { fieldMatches, textMatches, wordsAround } from './field-search.ts'
import { isChanged, isWritten } from './field-state.ts'
import type { FieldText } from './field-text.ts'
import { useFieldText } from './field-text.ts'
import { schemaAt } from './form-tree.ts'
import type { FormScope } from './form-view-store.ts'
import { useFormView } from './form-view-store.ts'

export function useIsShown(path: ConfigPath): boolean {
  return useAreShown([path])[0] === true
}

/** Of each path whether its field is shown. */
export function useAreShown(paths: readonly ConfigPath[]): readonly boolean[] {
  const query = useFormView((state) => state.query)
  const scope = useFormView((state) => state.scope)
  const { words } = useFieldText()
  return useDocumentValue((document) => paths.map((path) => isInScope(document, scope, path) && isFound(query, path, words)))
}

function isInScope(document: ConfigDocument, scope: FormScope, path: ConfigPath): boolean {
  switch (scope) {
    case 'all': return true
    case 'set': return isWritten(document.tree, path)
    case 'changed': return isChanged(document, path)
  }
}

function isFound(query: string, path: ConfigPath, words: FieldText['words']): boolean {
  if (query.trim() === '') return true
  const schema = schemaAt(path)
  const around = wordsAround(path.slice(0, -1), words)
  return schema === null ? textMatches(`${around} ${words(path)}`, query) : fieldMatches(schema, path, query, words, around)
}
