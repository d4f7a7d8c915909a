/** Where the time of one request went, as the rows of a waterfall. Milliseconds. */
import type { InferenceTiming } from '../../server-core/contract/console-api.ts'

export type TimingPartKey = 'preprocess' | 'queue' | 'computeInput' | 'computeInfer' | 'computeOutput' | 'other' | 'transfer' | 'postprocess'

export interface TimingPart {
  readonly key: TimingPartKey
  readonly start: number
  readonly duration: number
}

export interface TimingParts {
  /** In order, end to end; parts of the window are there only where it worked. */
  readonly parts: readonly TimingPart[]
  /** All of them. */
  readonly total: number
  /** Inside the server. */
  readonly server: number
  /** The longest part and its share of the total, 0..1. */
  readonly longest: { readonly key: TimingPartKey; readonly share: number }
}

export interface WindowTiming {
  /** From sending the command to its answer, as the window measured it. */
  readonly roundTripMilliseconds: number
  readonly preprocessMilliseconds?: number
  readonly postprocessMilliseconds?: number
}

/**
 * Lays the parts end to end. `other` is what the server spent outside the four measured parts, `transfer` what the round trip took beyond
 * the server's total (both directions together; clocks of two sides are never compared).
 */
export function timingParts(timing: InferenceTiming, window: WindowTiming): TimingParts {
  const server = timing.totalNanoseconds / 1e6
  const measured = { queue: timing.queueNanoseconds / 1e6, computeInput: timing.computeInputNanoseconds / 1e6, computeInfer: timing.computeInferNanoseconds / 1e6, computeOutput: timing.computeOutputNanoseconds / 1e6 }
  const other = Math.max(0, server - measured.queue - measured.computeInput - measured.computeInfer - measured.computeOutput)
  const durations: readonly (readonly [TimingPartKey, number | undefined])[] = [
    ['preprocess', window.preprocessMilliseconds], ['queue', measured.queue], ['computeInput', measured.computeInput], ['computeInfer', measured.computeInfer],
    ['computeOutput', measured.computeOutput], ['other', other], ['transfer', Math.max(0, window.roundTripMilliseconds - server)], ['postprocess', window.postprocessMilliseconds],
  ]
  const parts: TimingPart[] = []
  let total = 0
  for (const [key, duration] of durations) {
    if (duration === undefined) continue
    parts.push({ key, start: total, duration })
    total += duration
  }
  const longest = parts.reduce((best, part) => (part.duration > best.duration ? part : best))
  return { parts, total, server, longest: { key: longest.key, share: total > 0 ? longest.duration / total : 0 } }
}
