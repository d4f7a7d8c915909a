/** A latency of a model. One that simulated cards took is modelled, and marked so that nobody takes it for a card's. */
import { useTranslation } from 'react-i18next'
import { formatMilliseconds } from '../lib/format.ts'
import { StateMark } from './state-pill.tsx'
import './latency-figure.css'

interface LatencyFigureProps {
  /** Null: unknown. */
  readonly milliseconds: number | null
  readonly isSimulated: boolean
}

export function LatencyFigure({ milliseconds, isSimulated }: LatencyFigureProps) {
  const { t } = useTranslation()
  if (!isSimulated || milliseconds === null) return <>{formatMilliseconds(milliseconds)}</>
  return <span className="npu-is-simulated npu-latency-simulated" title={t('runsOn.latencySimulated')} data-testid="latency-simulated"><StateMark kind="simulated" />{formatMilliseconds(milliseconds)}</span>
}
