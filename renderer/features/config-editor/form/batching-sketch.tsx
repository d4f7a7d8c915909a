/** A picture of the batcher's rule on a few requests: what waits, what leaves together, and why. Drawn in proportion to the delay. */
import { useTranslation } from 'react-i18next'
import { exampleBatches } from './batching-example.ts'

interface SketchProps {
  /** Microseconds. */
  readonly delay: number
  readonly preferred: readonly number[]
  readonly maxBatchSize: number
}

const WIDTH = 440
const LEFT = 8
const RIGHT = 8
const LANE = 22

/** Arrivals as shares of the picture: a burst of eight within one delay, a straggler, two more. */
const SHARES = [0.02, 0.035, 0.05, 0.075, 0.09, 0.11, 0.135, 0.15, 0.46, 0.68, 0.72] as const

export function BatchingSketch({ delay, preferred, maxBatchSize }: SketchProps) {
  const { t } = useTranslation('config-form')
  // Five delays wide; without a delay the times only show the order.
  const span = delay === 0 ? 1000 : delay * 5
  const arrivals = SHARES.map((share) => share * span)
  const batches = exampleBatches({ delay, preferred, maxBatchSize }, arrivals)
  const x = (time: number) => LEFT + Math.min(1, time / span) * (WIDTH - LEFT - RIGHT)
  const sizes = batches.map(({ size }) => size).join(', ')
  const summary = delay === 0 ? t('sketch.noDelay') : t('sketch.summary', { sizes, delay })
  return (
    <figure className="npu-form-sketch">
      <svg viewBox={`0 0 ${WIDTH} 74`} role="img" aria-label={summary} preserveAspectRatio="xMidYMid meet">
        <line className="npu-sketch-axis" x1={LEFT} y1={18} x2={WIDTH - RIGHT} y2={18} />
        {arrivals.map((arrival) => <circle key={arrival} className="npu-sketch-request" cx={x(arrival)} cy={18} r={4} />)}
        {batches.map(({ size, from, sentAt, reason }, index) => {
          const end = Math.max(x(sentAt), x(from) + 4)
          return (
            <g key={index}>
              <rect className={reason === 'size' ? 'npu-sketch-batch npu-sketch-batch-full' : 'npu-sketch-batch'} x={x(from) - 4} y={18 + LANE - 10} width={end - x(from) + 6} height={18} rx={3} />
              <text className="npu-sketch-size" x={(x(from) + end) / 2} y={18 + LANE + 4} textAnchor="middle">{size}</text>
              {(reason === 'size' || delay > 0) && <text className="npu-sketch-reason" x={Math.min(Math.max(end, 30), WIDTH - 30)} y={68} textAnchor="middle">{index < 4 ? t(`sketch.${reason}`) : ''}</text>}
            </g>
          )
        })}
      </svg>
      <figcaption className="npu-secondary">{summary}</figcaption>
    </figure>
  )
}
