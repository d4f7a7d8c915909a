import type { InferenceRequest, Tensor } from '../contract/inference.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { InferenceCall, InferenceStreamHandlers } from '../inference-server.ts'

/** What a step runs on: a loaded version of its model, which may be an ensemble itself. */
export interface EnsembleMember {
  readonly name: string
  readonly version: string
  /** Completed. */
  readonly config: ModelConfig
  readonly isDecoupled: boolean
  readonly labels: ReadonlyMap<string, readonly string[]>
  /** Its answers may come before this returns. @throws ServerError when it refuses the request */
  submit(request: InferenceRequest, requestStart: number, handlers: InferenceStreamHandlers): InferenceCall
  /** Keeps it serving, also when it is being unloaded, until the function returned is called. */
  hold(): () => void
}

/**
 * The model of a step. @param version -1: the latest that is ready
 * @param request given: to run this request, which may have its share of a split traffic; else only to look at the model
 * @throws ServerError with the protocol's lookup texts
 */
export type FindEnsembleMember = (name: string, version: number, request?: Pick<InferenceRequest, 'sequenceId' | 'sequenceStart' | 'sequenceEnd'>) => EnsembleMember

/**
 * An ensemble tensor as the input of a step's model. Between a batching and a non-batching model the batch dimension is an ordinary one:
 * where the full shapes agree nothing changes, else a batch of one is put around it or taken off. The bytes are not copied.
 * @param dims as the model's config declares them, without the batch dimension
 */
export function tensorFor(tensor: Tensor, name: string, dims: readonly number[], isBatching: boolean): Tensor {
  const rank = tensor.shape.length
  let { shape } = tensor
  if (isBatching && rank === dims.length) shape = [1, ...shape]
  else if (!isBatching && rank === dims.length + 1 && shape[0] === 1) shape = shape.slice(1)
  return shape === tensor.shape && name === tensor.name ? tensor : { name, datatype: tensor.datatype, shape, data: tensor.data }
}
