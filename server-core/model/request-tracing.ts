/** What a model notes in the trace of a request. */
import type { RequestTrace, Tensor } from '../contract/inference.ts'
import type { InflightRequest, PartialAnswer, RequestOutcome } from '../scheduling/inflight-request.ts'

interface TracedRequest {
  readonly model: string
  readonly version: string
  readonly id: string
  /** Steady nanoseconds. */
  readonly requestStart: number
  readonly inputs: readonly Tensor[]
}

export function traceTaken(trace: RequestTrace, { model, version, id, requestStart, inputs }: TracedRequest): void {
  trace.begin(model, version, id)
  trace.timestamp('REQUEST_START', requestStart)
  trace.tensors('TENSOR_QUEUE_INPUT', inputs)
}

/** An answer of a decoupled model that is not the last one. */
export function tracePartial(trace: RequestTrace, answer: PartialAnswer): void {
  if ('outputs' in answer) trace.tensors('TENSOR_BACKEND_OUTPUT', answer.outputs)
}

/** @param now steady nanoseconds */
export function traceSettled(trace: RequestTrace, { queueStart }: Pick<InflightRequest, 'queueStart'>, outcome: RequestOutcome, now: number): void {
  trace.timestamp('QUEUE_START', queueStart)
  if (outcome.kind === 'response') {
    const { executeStart, computeStart, computeEnd, executeEnd } = outcome.times
    trace.timestamp('COMPUTE_START', executeStart)
    trace.timestamp('COMPUTE_INPUT_END', computeStart)
    trace.timestamp('COMPUTE_OUTPUT_START', computeEnd)
    trace.timestamp('COMPUTE_END', executeEnd)
    if (outcome.outputs !== null) trace.tensors('TENSOR_BACKEND_OUTPUT', outcome.outputs)
  }
  traceEnded(trace, now)
}

/** @param now steady nanoseconds */
export function traceEnded(trace: RequestTrace, now: number): void {
  trace.timestamp('INFER_RESPONSE_COMPLETE', now)
  trace.timestamp('REQUEST_END', now)
  trace.requestEnded()
}
