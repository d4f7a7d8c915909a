/** What happened lately, newest first. */
import { useTranslation } from 'react-i18next'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import type { Activity } from '../../console-store.ts'
import { formatClock, formatDate, formatMilliseconds } from '../../lib/format.ts'

const SHOWN = 30

export function EventsCard() {
  const { t } = useTranslation('overview')
  const activity = useConsole((state) => state.activity)
  return (
    <Card title={t('events.title')} isGrowing isFlush className="npu-events">
      {activity.length === 0 && <EmptyState title={t('events.nothing')} />}
      <ul tabIndex={0} aria-label={t('events.title')}>{activity.slice(0, SHOWN).map((entry) => <Event key={entry.id} entry={entry} />)}</ul>
    </Card>
  )
}

const MARKS = { engineStarted: 'ready', connectionLost: 'degraded', removed: 'unloaded' } as const

function Event({ entry }: { readonly entry: Activity }) {
  const { t } = useTranslation('overview')
  const kind = entry.kind === 'engineStarted' || entry.kind === 'connectionLost' || entry.kind === 'removed' ? MARKS[entry.kind] : entry.kind
  const what = t(`common:activity.${entry.kind}`)
  const text = entry.model === null ? what : `${entry.model} ${what}`
  const took = entry.milliseconds === null ? '' : ` · ${t('events.took', { time: formatMilliseconds(entry.milliseconds) })}`
  return (
    <li className="npu-event">
      <span className="npu-quiet" title={formatDate(entry.time)}>{formatClock(entry.time)}</span>
      <StateMark kind={kind} isDecoration />
      <span className="npu-event-text" title={text}>{entry.model !== null && <span className="npu-cut">{entry.model}</span>}<span>{what}<span className="npu-quiet">{took}</span></span></span>
    </li>
  )
}
