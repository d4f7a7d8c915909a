/** The five figures of the server: throughput, latency, queue, errors, memory. Unknown is an em dash with its reason. */
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { bytesFigure, formatCount, formatRate, millisecondsFigure, percentFigure, UNKNOWN } from '../../lib/format.ts'
import { traffic } from '../../lib/sample-figures.ts'

export function KeyFigures() {
  const { t } = useTranslation('overview')
  const samples = useConsole((state) => state.samples)
  const models = useConsole((state) => state.models)
  const figures = useMemo(() => traffic(samples), [samples])
  const { total } = figures
  // One model on simulated cards is enough: its times are in the figures of all.
  const isSimulated = (models ?? []).some((model) => model.isSimulated && (figures.of(model.name).requests ?? 0) > 0)
  const last = samples[samples.length - 1]
  const { requestsPerSecond, p95Milliseconds, pending, failures, requests } = total
  const errorShare = requests === null || requests === 0 || failures === null ? null : failures / requests
  const latency = millisecondsFigure(p95Milliseconds)
  const errors = percentFigure(errorShare)
  const memory = bytesFigure(last?.processResidentBytes)
  const quiet = requests === 0 ? t('figures.noTraffic') : t('figures.unknown')
  return (
    <section className="npu-card npu-figures" aria-label={t('figures.title')}>
      <Figure name={t('figures.throughput')} value={formatRate(requestsPerSecond)} unit={t('figures.perSecond')} note={requestsPerSecond === null ? t('figures.unknown') : t('figures.throughputNote')} isSimulated={isSimulated} />
      <Figure name={t('figures.p95')} value={latency.value} unit={latency.unit} note={p95Milliseconds === null || requests === null ? quiet : t('figures.p95Note', { count: requests, formatted: formatCount(requests) })} isSimulated={isSimulated} />
      <Figure name={t('figures.queue')} value={formatCount(pending)} unit={t('figures.waiting')} note={pending === null ? t('figures.unknown') : t('figures.queueNote')} />
      <Figure name={t('figures.errors')} value={errors.value} unit={errors.unit} note={errorShare === null || failures === null ? quiet : t('figures.errorsNote', { count: failures })} isBad={errorShare !== null && errorShare > 0} />
      <Figure name={t('figures.memory')} value={memory.value} unit={memory.unit} note={memory.value === UNKNOWN ? t('figures.unknown') : t('figures.memoryNote')} />
    </section>
  )
}

interface FigureProps { readonly name: string; readonly value: string; readonly unit: string; readonly note: string; readonly isBad?: boolean; readonly isSimulated?: boolean }

function Figure({ name, value, unit, note, isBad = false, isSimulated = false }: FigureProps) {
  const { t } = useTranslation()
  return (
    <div className="npu-figure">
      <div className="npu-small-text npu-quiet npu-row">{name}{isSimulated && value !== UNKNOWN && <span className="npu-row npu-is-simulated" title={t('runsOn.figureSimulated')} data-testid="figure-simulated"><StateMark kind="simulated" /></span>}</div>
      <div className="npu-figure-value"><b className={isBad ? 'npu-is-failed' : undefined}>{value}</b>{value !== UNKNOWN && <span>{unit}</span>}</div>
      <div className="npu-figure-note npu-quiet">{note}</div>
    </div>
  )
}
