/** What one part of the form needs of the document: the part is drawn again only when that changes, not with every edit. */
import { useCallback, useRef } from 'react'
import { isDeepEqual } from '../../../lib/deep-equal.ts'
import { useConfigDocument } from '../config-document.ts'
import type { ConfigDocument } from '../config-document.ts'

/** @param read gives plain values (scalars, arrays, plain objects); nodes of the syntax tree are others after every edit */
export function useDocumentValue<Value>(read: (document: ConfigDocument) => Value): Value {
  const last = useRef<{ readonly value: Value } | null>(null)
  const select = useCallback((document: ConfigDocument): Value => {
    const value = read(document)
    if (last.current === null || !isDeepEqual(last.current.value, value)) last.current = { value }
    return last.current.value
  }, [read])
  return useConfigDocument(select)
}
