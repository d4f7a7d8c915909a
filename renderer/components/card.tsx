/** A card: 40 px head with title, quiet note and actions, then its content. A section with the title as its name. */
import { useId } from 'react'
import type { ReactNode } from 'react'

interface CardProps {
  readonly title: string
  /** Quiet text beside the title: a count, a scope. */
  readonly note?: ReactNode
  /** A state pill, directly after the title. */
  readonly state?: ReactNode
  /** Buttons or a link at the right end of the head. */
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Takes the free height of its column. */
  readonly isGrowing?: boolean
  /** Content reaches the card's edges (tables, lists with dividers). */
  readonly isFlush?: boolean
  readonly className?: string
}

export function Card({ title, note, state, actions, children, isGrowing = false, isFlush = false, className = '' }: CardProps) {
  const titleId = useId()
  return (
    <section className={`npu-card${isGrowing ? ' npu-card-growing' : ''} ${className}`} aria-labelledby={titleId}>
      <div className="npu-card-head">
        <h2 id={titleId}>{title}</h2>
        {state}
        {note !== undefined && <span className="npu-quiet">{note}</span>}
        <span className="npu-grow" />
        {actions}
      </div>
      <div className={isFlush ? 'npu-card-flush' : 'npu-card-body'}>{children}</div>
    </section>
  )
}
