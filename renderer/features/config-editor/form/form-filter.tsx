/** Whether a field is shown under the filter at the head of the form. */
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { useConfigDocument } from '../config-document.ts'
import { fieldMatches, textMatches, wordsAround } from './field-search.ts'
import { isChanged, isWritten } from './field-state.ts'
import { useFieldText } from './field-text.ts'
import { schemaAt } from './form-tree.ts'
import { useFormView } from './form-view-store.ts'

/** `also`: more paths that the same control edits; one of them is enough for the scope. */
export function useIsShown(path: ConfigPath, also: readonly ConfigPath[] = []): boolean {
  const isShownField = useShownFields()
  return isShownField(path, also)
}

export function useShownFields(): (path: ConfigPath, also?: readonly ConfigPath[]) => boolean {
  const { query, scope } = useFormView()
  const document = useConfigDocument()
  const { words } = useFieldText()
  return (path, also = []) => {
    const all = [path, ...also]
    if (scope === 'set' && !all.some((one) => isWritten(document.tree, one))) return false
    if (scope === 'changed' && !all.some((one) => isChanged(document, one))) return false
    if (query.trim() === '') return true
    const schema = schemaAt(path)
    const around = wordsAround(path.slice(0, -1), words)
    return schema === null ? textMatches(`${around} ${words(path)}`, query) : fieldMatches(schema, path, query, words, around)
  }
}
