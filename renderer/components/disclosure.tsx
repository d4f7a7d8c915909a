/** A folded part with a one-line head. */
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { ChevronDownIcon, ChevronRightIcon } from './icons.tsx'

interface DisclosureProps {
  readonly title: string
  readonly note?: ReactNode
  /** Beside the head, outside the button. */
  readonly actions?: ReactNode
  readonly isInitiallyOpen?: boolean
  readonly children: ReactNode
}

export function Disclosure({ title, note, actions, isInitiallyOpen = false, children }: DisclosureProps) {
  const [isOpen, setOpen] = useState(isInitiallyOpen)
  const id = useId()
  return (
    <div className="npu-disclosure">
      <div className="npu-row">
        <button type="button" className="npu-disclosure-head" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          {isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}<b>{title}</b>{note !== undefined && <span className="npu-quiet">{note}</span>}
        </button>
        <span className="npu-grow" />
        {actions}
      </div>
      <div id={id} hidden={!isOpen}>{isOpen && children}</div>
    </div>
  )
}
