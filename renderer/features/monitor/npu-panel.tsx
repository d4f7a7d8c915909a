/** The cards of the machine: a row each, or the plain statement that there is none. What a card does not report is an em dash, never 0. */
import { useTranslation } from 'react-i18next'
import { StatePill } from '../../components/state-pill.tsx'
import { formatBytes, formatClock, formatDecimal, UNKNOWN } from '../../lib/format.ts'
import { NpuCharts } from './npu-charts.tsx'
import type { MonitorView } from './monitor-view.ts'
import type { NpuSample, ServerSample } from '../../../server-core/contract/statistics.ts'

export function NpuPanel({ latest, view }: { readonly latest: ServerSample | null; readonly view: MonitorView | null }) {
  const { t } = useTranslation('monitor')
  const cards = latest?.npus ?? null
  return (
    <section className="npu-card npu-monitor-npu" aria-label="NPU">
      <div className="npu-row npu-monitor-npu-head">
        <h2>NPU</h2>
        {cards === null || cards.length === 0 ? <><b>{latest === null ? UNKNOWN : t('npu.none')}</b>{latest !== null && <span className="npu-secondary npu-cut">{t('npu.noneHint')}</span>}</> : <><span className="npu-quiet">{t('npu.count', { count: cards.length })}</span>{cards.some((card) => card.isSimulated) && <StatePill kind="simulated" isPlain />}<Stale sample={latest} /></>}
      </div>
      {cards === null || cards.length === 0 ? <CardRow card={null} /> : cards.map((card) => <CardRow key={card.card} card={card} />)}
      {view !== null && cards !== null && cards.length > 0 && <NpuCharts view={view} />}
    </section>
  )
}

/** Older than two periods: from when the figures are. */
function Stale({ sample }: { readonly sample: ServerSample | null }) {
  const { t } = useTranslation('monitor')
  const readAt = Math.min(...(sample?.npus ?? []).map((npu) => npu.readAt))
  return sample === null || sample.time - readAt < 2500 ? null : <span className="npu-is-degraded npu-small-text">{t('npu.stale', { time: formatClock(readAt) })}</span>
}

function CardRow({ card }: { readonly card: NpuSample | null }) {
  const { t } = useTranslation('monitor')
  const withUnit = (value: number | null | undefined, unit: string) => (value === null || value === undefined ? UNKNOWN : `${formatDecimal(value, 0)} ${unit}`)
  const memory = card?.memoryUsedBytes === null || card?.memoryUsedBytes === undefined ? UNKNOWN : `${formatBytes(card.memoryUsedBytes)} / ${formatBytes(card.memoryTotalBytes)}`
  return (
    <dl className="npu-monitor-npu-row">
      <div><dt>{t('npu.card')}</dt><dd>{card === null ? UNKNOWN : `${card.card} · ${card.chip}`}</dd></div>
      <div><dt>AI Core</dt><dd>{withUnit(card?.aiCorePercent, '%')}</dd></div>
      {card !== null && <div><dt>{t('npu.vector')}</dt><dd>{withUnit(card.vectorCorePercent, '%')}</dd></div>}
      <div><dt>{t('npu.memory')}</dt><dd>{memory}</dd></div>
      <div><dt>{t('npu.temperature')}</dt><dd>{withUnit(card?.temperatureCelsius, '°C')}</dd></div>
      <div><dt>{t('npu.power')}</dt><dd>{withUnit(card?.powerWatts, 'W')}</dd></div>
    </dl>
  )
}
