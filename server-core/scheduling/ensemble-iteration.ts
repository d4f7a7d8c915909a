import type { Tensor } from '../contract/inference.ts'
import type { EnsemblePlan, PlannedStep, PlanPart } from './ensemble-plan.ts'

/** The sequence that a step's answer belongs to; it goes along with the tensors of that answer. */
export interface SequenceInfo {
  readonly id: bigint | string
  readonly isStart: boolean
  readonly isEnd: boolean
}

export interface EnsembleTensor {
  readonly tensor: Tensor
  /** Null: came with the ensemble's request. */
  readonly sequence: SequenceInfo | null
}

/**
 * One way through the ensemble: the tensors that belong together. A request begins with one; each response of a decoupled step begins
 * another behind it. Iterations form a tree in the order of the responses, which is the order of the ensemble's own.
 */
export class Iteration {
  /** Counted over the request. */
  readonly number: number
  /** By ensemble tensor. Undefined: not there yet; null: nobody gives it (an optional input, an output left out by its model). */
  readonly values: (EnsembleTensor | null | undefined)[]
  /** Steps on this iteration that are in flight: they may still add to it. */
  running = 0
  /** All outputs asked for are there and were not answered yet. */
  isComplete = false
  /** The first child that is not finished, and the last one. */
  firstChild: Iteration | null = null
  #lastChild: Iteration | null = null
  next: Iteration | null = null
  /** By step: the tensors it still waits for. */
  readonly #missing: number[]
  #missingOutputs: number

  constructor(number: number, plan: EnsemblePlan, part: PlanPart) {
    this.number = number
    this.values = new Array<undefined>(plan.tensorNames.length).fill(undefined)
    this.#missing = plan.steps.map((step) => step.readCount)
    this.#missingOutputs = part.outputs.length
  }

  /** Adds the steps that have everything now to `ready`. */
  supply(tensor: number, value: EnsembleTensor | null, part: PlanPart, ready: PlannedStep[]): void {
    if (this.values[tensor] !== undefined) return
    this.values[tensor] = value
    if (part.isOutput[tensor] === true && --this.#missingOutputs === 0) this.isComplete = true
    for (const step of part.readers[tensor] ?? []) {
      const missing = (this.#missing[step.index] ?? 0) - 1
      this.#missing[step.index] = missing
      if (missing === 0) ready.push(step)
    }
  }

  addChild(child: Iteration): void {
    if (this.#lastChild === null || this.firstChild === null) this.firstChild = child
    else this.#lastChild.next = child
    this.#lastChild = child
  }

  /**
   * Hands out, in order, the iterations that can be answered now. @returns true when nothing more can come from here */
  takeComplete(take: (iteration: Iteration) => void): boolean {
    if (this.isComplete) {
      this.isComplete = false
      take(this)
    }
    while (this.firstChild !== null) {
      if (!this.firstChild.takeComplete(take)) return false
      this.firstChild = this.firstChild.next
    }
    return this.running === 0
  }
}
