import {
  ENSEMBLE_EXECUTIONS_KEPT, ENSEMBLE_STEP_RUNS_KEPT, type EnsembleExecution, type EnsembleStepRun, type EnsembleStepStatistics,
} from '../contract/ensemble.ts'
import type { InferenceTiming } from '../contract/console-api.ts'

type Changeable<T> = { -readonly [K in keyof T]: T[K] }

type StepRunRecord = Changeable<EnsembleStepRun>

const NO_TIME = { queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0 } as const

/** What the steps of one loaded ensemble cost: sums since the load, and the last requests step by step. */
export class EnsembleTrace {
  readonly #steps: Changeable<EnsembleStepStatistics>[]
  /** A ring: the next request overwrites `#next`. */
  readonly #executions: ExecutionRecord[] = []
  #next = 0

  constructor(stepCount: number) {
    this.#steps = Array.from({ length: stepCount }, (_unused, step) => ({ step, count: 0, failed: 0, totalNanoseconds: 0, heldNanoseconds: 0, ...NO_TIME }))
  }

  /** @param requestStart steady nanoseconds */
  begin(id: string, requestStart: number): ExecutionRecord { return new ExecutionRecord(id, requestStart, this.#steps) }

  keep(execution: ExecutionRecord): void {
    this.#executions[this.#next] = execution
    this.#next = (this.#next + 1) % ENSEMBLE_EXECUTIONS_KEPT
  }

  statistics(): EnsembleStepStatistics[] { return this.#steps.map((step) => ({ ...step })) }

  executions(): EnsembleExecution[] {
    return [...this.#executions.slice(this.#next), ...this.#executions.slice(0, this.#next)].map((execution) => execution.value())
  }
}

/** One request of the ensemble while it runs, and after. */
export class ExecutionRecord {
  readonly #id: string
  readonly #requestStart: number
  readonly #sums: readonly Changeable<EnsembleStepStatistics>[]
  readonly #runs: StepRunRecord[] = []
  #omitted = 0
  #end: Pick<EnsembleExecution, 'finishedAt' | 'totalNanoseconds' | 'outcome' | 'error'> = { finishedAt: 0, totalNanoseconds: 0, outcome: 'success', error: null }

  constructor(id: string, requestStart: number, sums: readonly Changeable<EnsembleStepStatistics>[]) {
    this.#id = id
    this.#requestStart = requestStart
    this.#sums = sums
  }

  /** @param heldSince steady nanoseconds: when the step had all it needs @param now when it got a slot */
  stepBegins(step: number, iteration: number, heldSince: number, now: number): StepRun {
    const run: StepRunRecord = {
      step, iteration, startNanoseconds: now - this.#requestStart, endNanoseconds: null, heldNanoseconds: now - heldSince, ...NO_TIME, batchSize: 0, responseCount: 0, error: null,
    }
    if (this.#runs.length < ENSEMBLE_STEP_RUNS_KEPT) this.#runs.push(run)
    else this.#omitted++
    return new StepRun(run, this.#requestStart, this.#sums[step])
  }

  finish(end: Pick<EnsembleExecution, 'finishedAt' | 'totalNanoseconds' | 'outcome' | 'error'>): void { this.#end = end }

  value(): EnsembleExecution {
    return { id: this.#id, ...this.#end, steps: this.#runs.map((run) => ({ ...run })), omittedStepRuns: this.#omitted }
  }
}

export class StepRun {
  readonly #record: StepRunRecord
  readonly #requestStart: number
  readonly #sum: Changeable<EnsembleStepStatistics> | undefined

  constructor(record: StepRunRecord, requestStart: number, sum: Changeable<EnsembleStepStatistics> | undefined) {
    this.#record = record
    this.#requestStart = requestStart
    this.#sum = sum
  }

  responded(): void { this.#record.responseCount++ }

  timed(timing: InferenceTiming): void {
    const { queueNanoseconds, computeInputNanoseconds, computeInferNanoseconds, computeOutputNanoseconds, batchSize } = timing
    Object.assign(this.#record, { queueNanoseconds, computeInputNanoseconds, computeInferNanoseconds, computeOutputNanoseconds, batchSize })
  }

  ended(now: number, error: string | null): void {
    const record = this.#record
    record.endNanoseconds = now - this.#requestStart
    record.error = error
    const sum = this.#sum
    if (sum === undefined) return
    if (error !== null) {
      sum.failed++
      return
    }
    sum.count++
    sum.totalNanoseconds += record.endNanoseconds - record.startNanoseconds
    sum.heldNanoseconds += record.heldNanoseconds
    sum.queueNanoseconds += record.queueNanoseconds
    sum.computeInputNanoseconds += record.computeInputNanoseconds
    sum.computeInferNanoseconds += record.computeInferNanoseconds
    sum.computeOutputNanoseconds += record.computeOutputNanoseconds
  }
}
