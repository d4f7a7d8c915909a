/** First line of a page: title, one quiet sentence, then the actions (one of them primary). */
import type { ReactNode } from 'react'

interface PageHeaderProps {
  readonly title: string
  readonly note?: ReactNode
  /** State pill or breadcrumb part, directly after the title. */
  readonly state?: ReactNode
  readonly children?: ReactNode
}

export function PageHeader({ title, note, state, children }: PageHeaderProps) {
  return (
    <header className="npu-page-header">
      <h1>{title}</h1>
      {state}
      {note !== undefined && <span className="npu-quiet npu-page-note">{note}</span>}
      <span className="npu-grow" />
      {children}
    </header>
  )
}
