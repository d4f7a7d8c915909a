import type { Tensor } from '../contract/inference.ts'
import type { ModelSequenceBatching } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { Fifo } from './fifo.ts'
import { InflightRequest, type SequenceHooks } from './inflight-request.ts'
import type { SequenceBatch } from './sequence-batch.ts'
import { SequenceControls } from './sequence-controls.ts'
import type { ShapeRule } from './shape-rule.ts'

/** An implicit state of a model: what the backend calls it, and its value at the start of a sequence. */
export interface SequenceState {
  readonly outputName: string
  /** Bears the name of the input; has the batch dimension where the model batches. */
  readonly initial: Tensor
}

export interface SequenceModelOptions {
  readonly modelName: string
  /** 0: the model has no batch dimension. */
  readonly maxBatchSize: number
  readonly batching: ModelSequenceBatching
  readonly states: readonly SequenceState[]
  readonly shapeRule: ShapeRule | null
}

/** What all sequences of one model share. */
export class SequenceModel {
  readonly name: string
  readonly isIterative: boolean
  readonly controls: SequenceControls
  readonly states: readonly SequenceState[]
  readonly #nullCorrelation: Tensor | null
  readonly #shapeRule: ShapeRule | null

  constructor(options: SequenceModelOptions) {
    this.name = options.modelName
    this.isIterative = options.batching.iterative_sequence
    this.controls = new SequenceControls(options.batching, options.maxBatchSize > 0)
    this.states = options.states
    this.#nullCorrelation = this.controls.correlationTensor(0n)
    this.#shapeRule = options.shapeRule
  }

  /** Requests with equal keys may share a batch: the model's own rule, and equal shapes of the states, which may grow. */
  shapeKey(request: InflightRequest, states: readonly Tensor[]): string {
    const key = this.#shapeRule?.(request) ?? ''
    return states.length === 0 ? key : `${key}|${states.map((state) => state.shape.join()).join(';')}`
  }

  /** A row without a request: inputs in the shapes of a request of the same batch, zeros in them, READY false, id 0. */
  nullRequest(template: InflightRequest, clientInputs: readonly Tensor[], states: readonly Tensor[]): InflightRequest {
    return new InflightRequest({
      id: '', inputs: [
        ...clientInputs.map(zeroTensor), ...this.controls.tensors({ start: false, end: false, ready: false }, this.#nullCorrelation), ...states.map(zeroTensor),
      ],
      requestedOutputs: template.requestedOutputs, parameters: {}, batchSize: 1, requestStart: template.requestStart, queueStart: template.queueStart,
      timeoutMicroseconds: 0, isNull: true, isDecoupled: template.isDecoupled, onSettled: () => {},
    })
  }
}

/**
 * One sequence: its requests in order, of which at most one is on its way through a batch, and the values of its implicit states. It
 * keeps its slot from the moment it got one until it is over.
 */
export class Sequence implements SequenceHooks {
  readonly id: bigint | string
  /** The instance's batch in which it has, or had, its slot; null: it waits in the backlog. */
  batch: SequenceBatch | null = null
  /** The slot: row of a direct batch, candidate of an oldest one; -1: none (in the backlog, or given back). */
  slot = -1
  /** No request can follow those that wait: END was seen, the sequence idled out, or was cancelled. */
  isClosed = false
  /** Steady nanoseconds of the last request; what idles is measured from here. */
  lastActivity = 0
  /** Steady nanoseconds after which it does not wait in the backlog any more; Infinity: never. */
  deadline = Infinity
  readonly reschedule: (() => void) | null
  readonly #model: SequenceModel
  readonly #onRescheduled: (sequence: Sequence) => void
  readonly #waiting = new Fifo<InflightRequest>()
  /** Put back by the backend: comes before those that wait. */
  #returned: InflightRequest | null = null
  #inFlight: InflightRequest | null = null
  /** Inputs of the request in flight as its client sent them. */
  #clientInputs: readonly Tensor[] = []
  #correlation: Tensor | null | undefined
  #states: Tensor[] = []
  #lost: Error | null = null

  constructor(id: bigint | string, model: SequenceModel, onRescheduled: (sequence: Sequence) => void) {
    this.id = id
    this.#model = model
    this.#onRescheduled = onRescheduled
    this.#states = this.#model.states.map((state) => state.initial)
    this.reschedule = model.isIterative ? () => { this.#putBack() } : null
  }

  get inFlight(): InflightRequest | null { return this.#inFlight }
  get waitingCount(): number { return this.#waiting.length + (this.#returned === null ? 0 : 1) }
  get clientInputs(): readonly Tensor[] { return this.#clientInputs }
  get states(): readonly Tensor[] { return this.#states }
  /** The request whose turn is next. */
  get head(): InflightRequest | undefined { return this.#returned ?? this.#waiting.first }
  /** Nothing waits, nothing runs, nothing can come. */
  get isOver(): boolean { return this.isClosed && this.waitingCount === 0 && this.#inFlight === null }
  /** May another sequence have the slot? An iterative model may still put the last request back. */
  get leavesSlot(): boolean { return this.#model.isIterative ? this.isOver : this.isClosed && this.waitingCount === 0 }

  add(request: InflightRequest): void {
    request.sequenceHooks = this
    this.#waiting.push(request)
  }

  /** The shape key that the next request has. */
  headShapeKey(request: InflightRequest): string {
    return this.#model.shapeKey(request, request.sequenceStart ? this.#initialStates() : this.#states)
  }

  /** Takes the next request, gives it its controls and states, and holds it as the one in flight. */
  dispatch(): InflightRequest {
    const request = this.#returned ?? this.#waiting.shift()
    if (request === undefined || this.#inFlight !== null) throw new Error(`sequence ${this.id} has no request to dispatch`)
    this.#returned = null
    this.#inFlight = request
    this.#clientInputs = request.inputs
    if (request.sequenceStart) this.#states = this.#initialStates()
    if (this.#correlation === undefined) this.#correlation = this.#model.controls.correlationTensor(this.id)
    const values = { start: request.sequenceStart, end: request.sequenceEnd, ready: true }
    request.inputs = [...request.inputs, ...this.#model.controls.tensors(values, this.#correlation), ...this.#states]
    return request
  }

  /** The execution of this request is over, or it was taken back; a request that was put back meanwhile is not in flight any more. */
  complete(request: InflightRequest): void {
    if (this.#inFlight === request) this.#inFlight = null
  }

  /** Everything that waits, which is the caller's now. */
  takeWaiting(): InflightRequest[] {
    const returned = this.#returned === null ? [] : [this.#returned]
    this.#returned = null
    return [...returned, ...this.#waiting.takeAll()]
  }

  /** Its instance is gone: what the backend still puts back fails with this error. */
  lose(error: Error): void {
    this.isClosed = true
    this.#lost = error
  }

  updateState(state: Tensor): void {
    const { name, states } = this.#model
    if (states.length === 0) throw new ServerError('INVALID_ARG', `unable to add state '${state.name}'. State configuration is missing for model '${name}'.`)
    const index = states.findIndex(({ outputName }) => outputName === state.name)
    const known = states[index]
    if (known === undefined) {
      throw new ServerError('INVALID_ARG', `unable to add state '${state.name}'. Model '${name}' has the states ${states.map(({ outputName }) => `'${outputName}'`).join(', ')}`)
    }
    if (state.datatype !== known.initial.datatype) {
      throw new ServerError('INVALID_ARG', `state '${state.name}' of model '${name}' has data type ${state.datatype}, its configuration says ${known.initial.datatype}`)
    }
    // A view would keep the buffers of a whole batch in memory for as long as the sequence rests.
    const data = state.data.byteLength < state.data.buffer.byteLength ? state.data.slice() : state.data
    this.#states = this.#states.with(index, { ...state, name: known.initial.name, data })
  }

  #initialStates(): Tensor[] { return this.#model.states.map(({ initial }) => initial) }

  #putBack(): void {
    const request = this.#inFlight
    if (request === null) throw new Error(`sequence ${this.id} has no request to put back`)
    this.#inFlight = null
    if (this.#lost !== null) {
      request.settle({ kind: 'failure', error: this.#lost, reason: 'OTHER' })
      return
    }
    if (request.isCancelled) {
      request.settle({ kind: 'failure', error: new ServerError('CANCELLED', ''), reason: 'CANCELED' })
      return
    }
    request.sequenceStart = false
    request.sequenceEnd = false
    request.inputs = this.#clientInputs
    this.#returned = request
    this.#onRescheduled(this)
  }
}

/** Zeros in the shape of another tensor; strings are empty ones. */
function zeroTensor(tensor: Tensor): Tensor {
  if (tensor.datatype !== 'BYTES') return { ...tensor, data: new Uint8Array(tensor.data.byteLength) }
  return { ...tensor, data: new Uint8Array(4 * tensor.shape.reduce((product, dim) => product * dim, 1)) }
}
