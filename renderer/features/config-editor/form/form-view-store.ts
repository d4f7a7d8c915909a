/** What of the form is shown: the filter, and which sections are folded. Lives as long as the window. */
import { create } from 'zustand'

/** 'set': written in the file; 'changed': not as in the saved file. */
export type FormScope = 'all' | 'set' | 'changed'

interface FormView {
  readonly query: string
  readonly scope: FormScope
  /** Sections by id, where the user (or a selection that leads there) said so. */
  readonly opened: Readonly<Record<string, boolean>>
}

export const useFormView = create<FormView>()(() => ({ query: '', scope: 'all', opened: {} }))

export function setQuery(query: string): void {
  useFormView.setState({ query })
}

export function setScope(scope: FormScope): void {
  useFormView.setState({ scope })
}

export function setSectionOpen(id: string, isOpen: boolean): void {
  if (useFormView.getState().opened[id] !== isOpen) useFormView.setState(({ opened }) => ({ opened: { ...opened, [id]: isOpen } }))
}
