/** The log lines about this model, newest last: the excerpt the server kept, and what came since. */
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { LogMark } from '../../components/log-mark.tsx'
import { useConsole } from '../../console-store.ts'
import { formatClockMilliseconds } from '../../lib/format.ts'
import { logFacts, logLine } from '../../lib/log-line.ts'

export function ModelDetailLog({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const live = useConsole((state) => state.log)
  const { name } = detail.summary
  const entries = useMemo(() => {
    const byKey = new Map([...detail.log, ...live.filter((entry) => entry.fields['model'] === name)].map((entry) => [`${entry.sequence} ${entry.time}`, entry]))
    return [...byKey.values()].sort((a, b) => a.time - b.time || a.sequence - b.sequence)
  }, [detail.log, live, name])
  return (
    <Card title={t('log.title')} note={t('log.lines', { count: entries.length })} isFlush actions={entries.length > 0 ? <CopyButton label={t('log.copy')} text={() => entries.map((entry) => logLine(entry, new Date(entry.time).toISOString())).join('\n')} /> : undefined}>
      {entries.length === 0 ? <EmptyState title={t('log.none')}>{t('log.noneHint')}</EmptyState> : (
        <div className="npu-detail-log" tabIndex={0} role="group" aria-label={t('log.title')}>
          {entries.map((entry) => (
            <div key={`${entry.sequence} ${entry.time}`} className={`npu-detail-log-line npu-detail-log-${entry.level}`}>
              <span className="npu-quiet">{formatClockMilliseconds(entry.time)}</span><b>{entry.level.toUpperCase()}</b><span className="npu-quiet">{entry.source}</span>
              <span><LogMark entry={entry} />{entry.message}<span className="npu-quiet">{logFacts(entry)}</span></span>
            </div>
          ))}
        </div>
      )}
    </Card>
  )
}
