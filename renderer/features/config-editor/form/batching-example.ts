/**
 * What the delay and the preferred sizes do, on requests of one row that arrive one by one while an instance is free: the batcher's own rule
 * (send at the largest preferred size, or when the oldest has waited for the delay), for the form's sketch.
 */

export interface BatchingRule {
  readonly delay: number
  /** Empty: [maxBatchSize], as the server fills it in. */
  readonly preferred: readonly number[]
  readonly maxBatchSize: number
}

export interface ExampleBatch {
  readonly size: number
  /** When its first request came, and when it left. */
  readonly from: number
  readonly sentAt: number
  /** 'delay': its oldest request had waited long enough. 'size': it reached the largest preferred size. */
  readonly reason: 'delay' | 'size'
}

/** @param arrivals ascending, in the unit of `delay` */
export function exampleBatches({ delay, preferred, maxBatchSize }: BatchingRule, arrivals: readonly number[]): readonly ExampleBatch[] {
  const sizes = preferred.filter((size) => size > 0 && size <= maxBatchSize)
  const target = Math.max(1, sizes.length > 0 ? Math.max(...sizes) : maxBatchSize)
  const batches: ExampleBatch[] = []
  let queue: number[] = []
  const send = (sentAt: number, reason: ExampleBatch['reason']): void => {
    batches.push({ size: queue.length, from: queue[0] ?? sentAt, sentAt, reason })
    queue = []
  }
  for (const arrival of arrivals) {
    const [oldest] = queue
    if (oldest !== undefined && arrival > oldest + delay) send(oldest + delay, 'delay')
    queue.push(arrival)
    if (queue.length >= target) send(arrival, 'size')
    else if (delay === 0) send(arrival, 'delay')
  }
  const [oldest] = queue
  if (oldest !== undefined) send(oldest + delay, 'delay')
  return batches
}
