/** Figures of an ensemble's steps, and the rows of the waterfall of one of its requests. Milliseconds. */
import type { EnsembleExecution, EnsembleGraph, EnsembleGraphStep, EnsembleStepRun } from '../../../server-core/contract/ensemble.ts'
import type { ServerSample } from '../../../server-core/contract/statistics.ts'

export interface StepFigures {
  readonly step: EnsembleGraphStep
  readonly runs: number
  readonly failed: number
  /** Per run; null: none yet. */
  readonly mean: number | null
  readonly meanQueue: number | null
  /** Of the time of all steps, 0..1; null: none yet. */
  readonly share: number | null
  /** The newest run that ended among the requests kept; null: none. */
  readonly last: number | null
  /** Of the step's model now, whoever asked; null: not sampled yet. */
  readonly pending: number | null
  readonly inFlight: number | null
}

const NANOSECONDS_PER_MILLISECOND = 1e6

export function stepFigures({ steps, statistics, executions }: EnsembleGraph, sample: ServerSample | undefined): StepFigures[] {
  const whole = statistics.reduce((sum, { totalNanoseconds }) => sum + totalNanoseconds, 0)
  return steps.map((step) => {
    const sums = statistics.find((entry) => entry.step === step.step)
    const count = sums?.count ?? 0
    const mean = (nanoseconds: number | undefined) => (count === 0 || nanoseconds === undefined ? null : nanoseconds / count / NANOSECONDS_PER_MILLISECOND)
    const rows = sample?.models.filter((row) => row.model === step.modelName && (step.modelVersion === -1 || row.version === String(step.modelVersion)))
    return {
      step, runs: count, failed: sums?.failed ?? 0, mean: mean(sums?.totalNanoseconds), meanQueue: mean(sums?.queueNanoseconds),
      share: whole > 0 && sums !== undefined ? sums.totalNanoseconds / whole : null, last: lastRun(executions, step.step),
      pending: rows?.reduce((sum, row) => sum + row.pending, 0) ?? null, inFlight: rows?.reduce((sum, row) => sum + row.inFlight, 0) ?? null,
    }
  })
}

function lastRun(executions: readonly EnsembleExecution[], step: number): number | null {
  for (const execution of executions.toReversed()) {
    const run = execution.steps.findLast((entry) => entry.step === step && entry.endNanoseconds !== null && entry.error === null)
    if (run !== undefined) return runMilliseconds(run, execution)
  }
  return null
}

/** Until the end of the request where the run did not end before. */
export function runMilliseconds(run: EnsembleStepRun, execution: Pick<EnsembleExecution, 'totalNanoseconds'>): number {
  return Math.max(0, (run.endNanoseconds ?? execution.totalNanoseconds) - run.startNanoseconds) / NANOSECONDS_PER_MILLISECOND
}

export const RUN_PARTS = ['held', 'queue', 'computeInput', 'computeInfer', 'computeOutput', 'other'] as const
export type RunPart = (typeof RUN_PARTS)[number]

export interface RunBar {
  readonly part: RunPart
  readonly start: number
  readonly duration: number
}

/**
 * The parts of a run one after another: waiting for a slot before it began, then the parts that its model measured, then the rest. A decoupled
 * run measures its first parts only; the rest is what follows.
 * @param hasSlots the ensemble limits the runs of a step: without a limit nothing waits for a slot
 */
export function runBars(run: EnsembleStepRun, execution: Pick<EnsembleExecution, 'totalNanoseconds'>, hasSlots: boolean): RunBar[] {
  const start = run.startNanoseconds / NANOSECONDS_PER_MILLISECOND
  const total = runMilliseconds(run, execution)
  const held = run.heldNanoseconds / NANOSECONDS_PER_MILLISECOND
  const bars: RunBar[] = hasSlots && held > 0 ? [{ part: 'held', start: start - held, duration: held }] : []
  let at = 0
  for (const part of ['queue', 'computeInput', 'computeInfer', 'computeOutput'] as const) {
    const duration = Math.min(run[`${part}Nanoseconds`] / NANOSECONDS_PER_MILLISECOND, total - at)
    if (duration > 0) bars.push({ part, start: start + at, duration })
    at += Math.max(0, duration)
  }
  if (total - at > 0.0005) bars.push({ part: 'other', start: start + at, duration: total - at })
  return bars
}

/** Pairs of steps that ran at the same time for at least a tenth of the shorter one's time, in one request: as a sorted list of steps. */
export function stepsSideBySide(execution: EnsembleExecution): number[] {
  const found = new Set<number>()
  const runs = execution.steps.map((run) => ({ step: run.step, start: run.startNanoseconds, end: run.endNanoseconds ?? execution.totalNanoseconds }))
  runs.forEach((a, index) => {
    for (const b of runs.slice(index + 1)) {
      const overlap = Math.min(a.end, b.end) - Math.max(a.start, b.start)
      if (a.step === b.step || overlap <= 0 || overlap < Math.min(a.end - a.start, b.end - b.start) / 10) continue
      found.add(a.step).add(b.step)
    }
  })
  return [...found].sort((a, b) => a - b)
}

/** The run that took longest, and its share of the request; null: no run. */
export function longestRun(execution: EnsembleExecution): { readonly run: EnsembleStepRun; readonly share: number } | null {
  const [first, ...others] = execution.steps
  if (first === undefined) return null
  const run = others.reduce((best, entry) => (runMilliseconds(entry, execution) > runMilliseconds(best, execution) ? entry : best), first)
  const total = execution.totalNanoseconds / NANOSECONDS_PER_MILLISECOND
  return { run, share: total > 0 ? Math.min(1, runMilliseconds(run, execution) / total) : 0 }
}
