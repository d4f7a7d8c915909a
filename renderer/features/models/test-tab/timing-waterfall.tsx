/** Where the time of one request went: a bar per part, and one sentence. */
import { useTranslation } from 'react-i18next'
import { Card } from '../../../components/card.tsx'
import { FixIcon } from '../../../components/icons.tsx'
import { valueScale } from '../../../lib/chart-scale.ts'
import { formatDecimal, formatMilliseconds } from '../../../lib/format.ts'
import { timingParts, type TimingPartKey } from '../../../lib/timing-parts.ts'
import type { RunOutcome } from './test-run-store.ts'

const COLORS: Readonly<Record<TimingPartKey, string>> = {
  preprocess: 'var(--c6)', queue: 'var(--c2)', computeInput: 'var(--c3)', computeInfer: 'var(--c1)', computeOutput: 'var(--c8)', other: 'var(--c7)', transfer: 'var(--c5)', postprocess: 'var(--c6)',
}

interface TimingWaterfallProps {
  readonly outcome: RunOutcome
  readonly preprocessMilliseconds?: number
  readonly postprocessMilliseconds?: number
}

export function TimingWaterfall({ outcome, preprocessMilliseconds, postprocessMilliseconds }: TimingWaterfallProps) {
  const { t } = useTranslation('test-tab')
  const { timing, roundTripMilliseconds, runNumber } = outcome
  const { parts, total, server, longest } = timingParts(timing, {
    roundTripMilliseconds, ...(preprocessMilliseconds === undefined ? {} : { preprocessMilliseconds }), ...(postprocessMilliseconds === undefined ? {} : { postprocessMilliseconds }),
  })
  const { top, ticks } = valueScale(total)
  const queueShare = total > 0 ? timing.queueNanoseconds / 1e6 / total : 0
  return (
    <Card title={t('timing.title')} className="npu-timing" state={<b className="npu-timing-total" data-testid="timing-total">{formatMilliseconds(total)}</b>}
      note={t('timing.note', { server: formatMilliseconds(server), roundTrip: formatMilliseconds(roundTripMilliseconds), run: runNumber, batch: timing.batchSize })}>
      <table className="npu-timing-table">
        <thead><tr>
          <td />
          <td aria-hidden="true"><div className="npu-timing-axis">{ticks.map((tick, index) => <span key={tick} style={{ left: `${(tick / top) * 100}%` }}>{index === ticks.length - 1 ? `${tick} ms` : tick}</span>)}</div></td>
          <td />
        </tr></thead>
        <tbody>{parts.filter((part) => part.key !== 'other' || part.duration >= 0.005).map((part) => (
          <tr key={part.key}>
            <th scope="row">{t(`timing.part.${part.key}`)}</th>
            <td aria-hidden="true"><div className="npu-timing-track">
              {ticks.map((tick) => <i key={tick} className="npu-timing-rule" style={{ left: `${(tick / top) * 100}%` }} />)}
              <i className="npu-timing-bar" style={{ left: `${(part.start / top) * 100}%`, width: `${(part.duration / top) * 100}%`, background: COLORS[part.key] }} />
            </div></td>
            <td className="npu-right">{formatMilliseconds(part.duration)}</td>
          </tr>
        ))}</tbody>
      </table>
      <p className="npu-timing-sentence"><FixIcon aria-hidden="true" /><b>{t('timing.longest', { part: t(`timing.part.${longest.key}`), share: formatDecimal(longest.share * 100, 0) })}</b>
        {queueShare > 0.2 && longest.key !== 'queue' && <span>{t('timing.queueShare', { share: formatDecimal(queueShare * 100, 0) })}</span>}
        <span className="npu-secondary">{t(runNumber === 1 ? 'timing.cold' : 'timing.warm')}</span></p>
    </Card>
  )
}
