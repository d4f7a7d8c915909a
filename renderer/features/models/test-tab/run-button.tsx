/** Run: the one primary button of the tab, in the page's action area; Ctrl+Enter runs from anywhere on the page. */
import { Button, Tooltip } from '@fluentui/react-components'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { RunIcon } from '../../../components/icons.tsx'
import { KeyboardHint } from '../../../components/keyboard-hint.tsx'
import { DetailActions } from '../../../components/detail-actions.tsx'

interface RunButtonProps {
  readonly isRunning: boolean
  /** Why it cannot run now. */
  readonly disabledReason: string | undefined
  readonly onRun: () => void
}

export function RunButton({ isRunning, disabledReason, onRun }: RunButtonProps) {
  const { t } = useTranslation('test-tab')
  const canRun = disabledReason === undefined && !isRunning
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || !canRun) return
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
  return <DetailActions>{disabledReason === undefined ? button : <Tooltip content={disabledReason} relationship="description">{button}</Tooltip>}</DetailActions>
}
