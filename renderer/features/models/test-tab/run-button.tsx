/** Run: the one primary button of the tab, in the page's action area; Ctrl+Enter runs from anywhere on the page. */
import { Button, Tooltip } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { RunIcon } from '../../../components/icons.tsx'
import { KeyboardHint } from '../../../components/keyboard-hint.tsx'
import { DetailActions } from '../../../components/detail-actions.tsx'
import { isDialogOpen } from '../../../lib/is-dialog-open.ts'

interface RunButtonProps {
  readonly isRunning: boolean
  /** Why it cannot run now. */
  readonly disabledReason: string | undefined
  readonly onRun: () => void
}

export function RunButton({ isRunning, disabledReason, onRun }: RunButtonProps) {
  const { t } = useTranslation('test-tab')
  const [showsReason, setShowsReason] = useState(false)
  const canRun = disabledReason === undefined && !isRunning
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !canRun || isDialogOpen()) return
      event.preventDefault()
      onRun()
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  }, [canRun, onRun])
  const button = (
    <Button appearance="primary" className="npu-run" icon={<RunIcon />} disabledFocusable={!canRun} onClick={() => { if (canRun) onRun() }} data-testid="run">
      {isRunning ? t('run.running') : t('run.run')}&ensp;<KeyboardHint keys="Ctrl+Enter" />
    </Button>
  )
  // One tree in both cases: a button that is made anew loses the focus.
  return (
    <DetailActions>
      <Tooltip content={disabledReason ?? ''} relationship={disabledReason === undefined ? 'inaccessible' : 'description'} visible={showsReason && disabledReason !== undefined} onVisibleChange={(_event, { visible }) => setShowsReason(visible)}>{button}</Tooltip>
    </DetailActions>
  )
}
