/** A button that is an icon: it has a name, and a tooltip with the name and its shortcut or the reason why it is off. */
import { Button, Tooltip } from '@fluentui/react-components'
import type { ReactElement } from 'react'

interface IconButtonProps {
  readonly icon: ReactElement
  readonly label: string
  readonly shortcut?: string
  /** Shorter than the name, where its place says the rest. */
  readonly tooltip?: string
  /** Why it cannot be used now: it stays focusable and says so. */
  readonly disabledReason?: string | undefined
  readonly onClick: () => void
  /** 24 px with an edge, for table rows. */
  readonly isRowAction?: boolean
  readonly tabIndex?: number
  readonly 'data-testid'?: string
}

export function IconButton({ icon, label, shortcut, tooltip = label, disabledReason, onClick, isRowAction = false, tabIndex, 'data-testid': testId }: IconButtonProps) {
  const hint = disabledReason ?? (shortcut === undefined ? tooltip : `${tooltip} (${shortcut})`)
  return (
    <Tooltip content={isRowAction ? { children: hint, className: 'npu-tooltip-through' } : hint} relationship={disabledReason !== undefined ? 'description' : tooltip === label ? 'label' : 'inaccessible'} withArrow>
      <Button
        icon={icon} aria-label={label} appearance={isRowAction ? 'outline' : 'subtle'} size={isRowAction ? 'small' : 'medium'} tabIndex={tabIndex}
        disabledFocusable={disabledReason !== undefined} onClick={onClick} data-testid={testId} className={isRowAction ? 'npu-row-action' : 'npu-icon-button'}
      />
    </Tooltip>
  )
}
