/** The log of the server, virtualised: level filter, text filter, follows the newest line until scrolled up. */
import { Button, Input, Select } from '@fluentui/react-components'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { LogEntry, LogLevel } from '../../server-core/contract/console-api.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { LogMark } from '../components/log-mark.tsx'
import { SearchIcon } from '../components/icons.tsx'
import { useConsole } from '../console-store.ts'
import { formatClockMilliseconds } from '../lib/format.ts'
import { logFacts, logLine, logMark } from '../lib/log-line.ts'

const LEVELS: readonly LogLevel[] = ['error', 'warning', 'info', 'verbose']
const LINE_HEIGHT = 20

/** Entries at least as severe as the level that hold the text. */
export function filterLog(log: readonly LogEntry[], level: LogLevel, text: string): readonly LogEntry[] {
  const limit = LEVELS.indexOf(level)
  const wanted = text.toLowerCase()
  if (level === 'verbose' && wanted === '') return log
  return log.filter((entry) => LEVELS.indexOf(entry.level) <= limit && (wanted === '' || `${entry.source} ${logMark(entry)}${entry.message}${logFacts(entry)}`.toLowerCase().includes(wanted)))
}

export function LogPanel({ close }: { readonly close: ReactNode }) {
  const { t } = useTranslation()
  const log = useConsole((state) => state.log)
  const [level, setLevel] = useState<LogLevel>('verbose')
  const [text, setText] = useState('')
  const shown = useMemo(() => filterLog(log, level, text), [log, level, text])
  return (
    <>
      <div className="npu-dock-head">
        <b>{t('dock.logs')}</b>
        <Select size="small" value={level} aria-label={t('dock.level')} onChange={(_event, { value }) => setLevel(LEVELS.find((entry) => entry === value) ?? 'verbose')}>
          {LEVELS.map((entry) => <option key={entry} value={entry}>{t(`dock.upTo.${entry}`)}</option>)}
        </Select>
        <Input size="small" contentBefore={<SearchIcon />} value={text} onChange={(_event, { value }) => setText(value)} placeholder={t('dock.find')} aria-label={t('dock.find')} />
        <span className="npu-quiet npu-small-text">{t('dock.lines', { shown: shown.length, total: log.length })}</span>
        <span className="npu-grow" />
        <CopyButton text={() => shown.map((entry) => logLine(entry)).join('\n')} label={t('dock.copyLog')} hasLabel />
        {close}
      </div>
      <LogLines entries={shown} />
    </>
  )
}

function LogLines({ entries }: { readonly entries: readonly LogEntry[] }) {
  const { t } = useTranslation()
  const scroller = useRef<HTMLDivElement>(null)
  const [isFollowing, setFollowing] = useState(true)
  const virtualizer = useVirtualizer({ count: entries.length, getScrollElement: () => scroller.current, estimateSize: () => LINE_HEIGHT, overscan: 20 })
  useEffect(() => {
    if (isFollowing && entries.length > 0) virtualizer.scrollToIndex(entries.length - 1, { align: 'end' })
  }, [entries.length, isFollowing, virtualizer])
  const onScroll = () => {
    const element = scroller.current
    if (element) setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < LINE_HEIGHT * 2)
  }
  if (entries.length === 0) return <p className="npu-empty npu-quiet">{t('dock.noLines')}</p>
  return (
    <div className="npu-log-frame">
      <div ref={scroller} className="npu-log" role="log" aria-label={t('dock.logs')} aria-live="off" tabIndex={0} onScroll={onScroll}>
        <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {virtualizer.getVirtualItems().map((item) => {
            const entry = entries[item.index]
            if (entry === undefined) return null
            return (
              <div key={item.key} className={`npu-log-line npu-log-${entry.level}`} style={{ transform: `translateY(${item.start}px)` }} title={logLine(entry)}>
                <span className="npu-quiet">{formatClockMilliseconds(entry.time)}</span>
                <span className="npu-log-level">{entry.level.toUpperCase()}</span>
                <span className="npu-quiet npu-cut">{entry.source}</span>
                <span className="npu-cut"><LogMark entry={entry} />{entry.message}<span className="npu-quiet">{logFacts(entry)}</span></span>
              </div>
            )
          })}
        </div>
      </div>
      {!isFollowing && <Button size="small" className="npu-small npu-log-follow" onClick={() => setFollowing(true)}>{t('dock.follow')}</Button>}
    </div>
  )
}
