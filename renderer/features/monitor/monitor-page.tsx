/** Monitor: what the engine does now and did in the last hour, on one time cursor. */
import { Button, Select, ToggleButton } from '@fluentui/react-components'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CHART_AXIS_WIDTH, CHART_RIGHT_MARGIN } from '../../components/chart-time.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { PauseIcon, ResumeIcon, TableIcon } from '../../components/icons.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { SimulatedBanner } from '../../components/simulated-banner.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { consoleClient } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { formatClock, formatCount, formatMilliseconds, formatRate } from '../../lib/format.ts'
import { MonitorCharts } from './monitor-charts.tsx'
import { MonitorFeed } from './monitor-feed.ts'
import { useMonitor } from './monitor-store.ts'
import { WINDOWS, type MonitorView, type WindowSeconds } from './monitor-view.ts'
import { NpuPanel } from './npu-panel.tsx'
import { SecondTable } from './second-table.tsx'
import '../../components/card.css'
import './monitor.css'

export default function MonitorPage() {
  const { t } = useTranslation('monitor')
  const [feed] = useState(() => new MonitorFeed({ client: consoleClient }))
  const body = useRef<HTMLDivElement>(null)
  const view = useMonitor((state) => state.view)
  const showsTable = useMonitor((state) => state.showsTable)
  const isSimulated = view?.latest?.npus?.some((npu) => npu.isSimulated) === true
  useEffect(() => feed.start(), [feed])
  useEffect(() => {
    const element = body.current
    if (!element || typeof ResizeObserver === 'undefined') return
    const observer = new ResizeObserver(() => feed.setPlotWidth(plotWidthOf(element)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [feed])
  return (
    <div className="npu-page npu-monitor">
      <PageHeader title={t('title')} state={<LiveState />} note={view ? <Conclusion view={view} /> : undefined}>
        <Controls />
      </PageHeader>
      {isSimulated && <SimulatedBanner />}
      <div className="npu-card npu-monitor-body" ref={body}>
        {view === null ? <Waiting /> : showsTable ? <SecondTable rows={view.rows} /> : <MonitorCharts view={view} />}
      </div>
      <NpuPanel latest={view?.latest ?? null} view={showsTable ? null : view} />
    </div>
  )
}

/** Of one chart. Layout as in monitor.css: two columns with a gap of 24 px, one on narrow windows; 16 px padding on both sides. */
function plotWidthOf(element: HTMLElement): number {
  const width = element.clientWidth - 32
  const column = window.matchMedia('(max-width: 1020px)').matches ? width : (width - 24) / 2
  return Math.floor(column - CHART_AXIS_WIDTH - CHART_RIGHT_MARGIN)
}

function LiveState() {
  const { t } = useTranslation('monitor')
  const connection = useConsole((state) => state.connection)
  const pausedAt = useMonitor((state) => state.pausedAt)
  if (pausedAt !== null) return <span className="npu-row npu-monitor-live npu-quiet">{t('live.paused', { time: formatClock(pausedAt) })}</span>
  if (connection !== 'open') return <span className="npu-row npu-monitor-live" style={{ color: 'var(--npuFailed)' }}><StateMark kind="failed" isDecoration />{t('live.disconnected')}</span>
  return <span className="npu-row npu-monitor-live" style={{ color: 'var(--npuReady)' }}><svg width="8" height="8" aria-hidden="true"><circle cx="4" cy="4" r="4" fill="currentColor" /></svg>{t('live.live')}</span>
}

/** Nothing was received yet: while the connection is away that takes as long as it takes. */
function Waiting() {
  const { t } = useTranslation('monitor')
  const isAway = useConsole((state) => state.connection === 'reconnecting')
  return isAway ? <EmptyState title={t('away')}>{t('awayHint')}</EmptyState> : null
}

/** The window in one sentence. */
function Conclusion({ view }: { readonly view: MonitorView }) {
  const { t } = useTranslation('monitor')
  const { total } = view
  const window = t('window.last', { window: t(`window.${(view.end - view.start) / 1000}`) })
  if (total.requests === null) return <>{t('conclusion.unknown', { window })}</>
  if (total.requests === 0 && total.failures === 0) return <>{t('conclusion.idle', { window })}</>
  return <>{t(total.failures === 0 ? 'conclusion.good' : 'conclusion.errors', {
    window, requests: t('requests', { count: total.requests, number: formatCount(total.requests) }), rate: formatRate(total.requestsPerSecond), p95: formatMilliseconds(total.p95),
    failures: t('errors', { count: total.failures ?? 0, number: formatCount(total.failures) }),
  })}</>
}

/** Subscribes piece by piece: it must not be drawn again with every sample. */
function Controls() {
  const { t } = useTranslation('monitor')
  const windowSeconds = useMonitor((state) => state.windowSeconds)
  const model = useMonitor((state) => state.model)
  const pausedAt = useMonitor((state) => state.pausedAt)
  const showsTable = useMonitor((state) => state.showsTable)
  const hasView = useMonitor((state) => state.view !== null)
  const seen = useMonitor((state) => state.view?.models.join('/') ?? '')
  const known = useConsole((state) => state.models)
  const models = useMemo(() => [...new Set([...(known ?? []).map((entry) => entry.name), ...seen.split('/'), model])].filter((name) => name !== '').sort(), [known, seen, model])
  const isPaused = pausedAt !== null
  return (
    <>
      <Select value={model} aria-label={t('filter.model')} onChange={(_, data) => useMonitor.setState({ model: data.value, cursor: null })} className="npu-monitor-filter">
        <option value="">{t('filter.all')}</option>
        {models.map((name) => <option key={name} value={name}>{name}</option>)}
      </Select>
      <Segmented label={t('window.name')} value={String(windowSeconds)} options={WINDOWS.map((seconds) => ({ value: String(seconds), label: t(`window.${seconds}`) }))}
        onChange={(value) => useMonitor.setState({ windowSeconds: Number(value) as WindowSeconds, cursor: null })} />
      <Button icon={isPaused ? <ResumeIcon /> : <PauseIcon />} disabled={!hasView} onClick={() => useMonitor.setState((state) => ({ pausedAt: isPaused ? null : (state.view?.end ?? null), cursor: null }))}>{isPaused ? t('resume') : t('pause')}</Button>
      <ToggleButton icon={<TableIcon />} checked={showsTable} onClick={() => useMonitor.setState({ showsTable: !showsTable, cursor: null })}>{t('asTable')}</ToggleButton>
    </>
  )
}
