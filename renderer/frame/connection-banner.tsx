/** Says that the connection to the engine is gone, how old the figures are, and what can be done. Nothing while it stands. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { ServerProcessState } from '../../server-core/contract/console-api.ts'
import { StateMark } from '../components/state-pill.tsx'
import { consoleClient } from '../console-client.ts'
import { useConsole } from '../console-store.ts'
import { formatClock } from '../lib/format.ts'
import { desktopApi } from '../lib/desktop-api.ts'
import { useServerProcess } from '../server-process-store.ts'

/** Failed attempts after which the likely reasons are worth saying. */
const PATIENCE = 3

/** Where the desktop gave up on the server process it is started again; its running state then reconnects. */
function retry(process: ServerProcessState | null): void {
  if (process?.kind === 'failed') void desktopApi()?.startServer()
  else consoleClient.retryNow()
}

export function ConnectionBanner() {
  const { t } = useTranslation()
  const { connection, failedAttempts, lostAt } = useConsole()
  const process = useServerProcess((state) => state.process)
  if (connection === 'open' || (connection === 'connecting' && failedAttempts < PATIENCE)) return null
  const sentence = lostAt === null ? t('connection.notReached') : t('connection.lost', { time: formatClock(lostAt) })
  const reason = process?.kind === 'failed' || process?.kind === 'restarting' ? process.reason : ''
  return (
    <div className="npu-banner" role="status" data-testid="connection-banner">
      <StateMark kind="degraded" isDecoration />
      <div className="npu-grow">
        <b>{sentence}</b> <span>{reason !== '' ? reason : failedAttempts >= PATIENCE ? t('connection.hint') : t('connection.retrying')}</span>
      </div>
      <Button size="small" className="npu-small" onClick={() => { retry(process) }}>{t('connection.retryNow')}</Button>
    </div>
  )
}
