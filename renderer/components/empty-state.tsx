/** What an empty place says: what will be here, and the quickest way to fill it. */
import type { ReactNode } from 'react'

export function EmptyState({ title, children, actions }: { readonly title: string; readonly children?: ReactNode; readonly actions?: ReactNode }) {
  return (
    <div className="npu-empty">
      <p className="npu-empty-title">{title}</p>
      {children !== undefined && <div className="npu-empty-text">{children}</div>}
      {actions !== undefined && <div className="npu-row">{actions}</div>}
    </div>
  )
}
