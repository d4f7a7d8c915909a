/** Lets a tab put its own buttons beside the tab list of the model's page. */
import { createContext, useContext } from 'react'
import type { ReactNode } from 'react'
import { createPortal } from 'react-dom'

/** The element that takes them; null while it is not mounted. */
export const DetailActionsContext = createContext<HTMLElement | null>(null)

export function DetailActions({ children }: { readonly children: ReactNode }) {
  const target = useContext(DetailActionsContext)
  return target === null ? null : createPortal(children, target)
}
