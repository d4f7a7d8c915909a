import { readFile } from 'node:fs/promises'
import type { ExecutionTimes } from '../backends/backend.ts'
import { DATA_TYPES, type DataType, type Tensor } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelSequenceState } from '../contract/model-config.ts'
import { validateSequenceStates, type SequenceBatching } from '../model-config/validate-sequence.ts'
import { resolveInside } from '../model-repository/contained-path.ts'
import type { InflightRequest } from '../scheduling/inflight-request.ts'
import { controlTensors } from '../scheduling/sequence-controls.ts'
import type { SequenceState } from '../scheduling/sequence.ts'
import { ServerError } from '../server-error.ts'
import { protocolDataType } from './request-validation.ts'

/**
 * The implicit states of a model (`sequence_batching.state`) with their values at the start of a sequence. Without `initial_state` those
 * are zeros, a variable dimension being 1. `use_growable_memory` and `use_same_buffer_for_input_output` have nothing to decide here: a
 * state is a tensor of whatever size the backend gave it, handed over as it is and never copied into a buffer of fixed size.
 * @throws ServerError INVALID_ARG where the states are inconsistent or a data file is missing or too short
 */
export async function readSequenceStates(config: ModelConfig, modelDirectory: string): Promise<SequenceState[]> {
  const batching = config.sequence_batching
  if (batching === undefined) return []
  validateSequenceStates(batching satisfies SequenceBatching)
  const states: SequenceState[] = []
  for (const state of batching.state) states.push({ outputName: state.output_name, initial: await readInitial(state, config.max_batch_size > 0, modelDirectory) })
  return states
}

async function readInitial(state: ModelSequenceState, isBatching: boolean, modelDirectory: string): Promise<Tensor> {
  const [initial] = state.initial_state
  const datatype = protocolDataType(state.data_type)
  const dims = initial?.dims ?? state.dims.map((dim) => (dim === -1 ? 1 : dim))
  const shape = isBatching ? [1, ...dims] : dims
  const byteSize = zeroByteSize(datatype, dims)
  const path = initial?.data_file ?? ''
  if (path === '') return { name: state.input_name, datatype, shape, data: new Uint8Array(byteSize) }
  const file = await readStateFile(path, modelDirectory)
  if (file.byteLength < byteSize) {
    // The space is missing in Triton's text too.
    throw new ServerError('INVALID_ARG', `initial_state setting expects ${byteSize} bytes, but the data provided from ${path}only has ${file.byteLength} bytes.`)
  }
  return { name: state.input_name, datatype, shape, data: datatype === 'BYTES' ? file : file.slice(0, byteSize) }
}

/** Strings are empty ones, of which the length field remains. */
function zeroByteSize(datatype: DataType, dims: readonly number[]): number {
  return dims.reduce((product, dim) => product * dim, 1) * (datatype === 'BYTES' ? 4 : DATA_TYPES[datatype].byteSize)
}

async function readStateFile(path: string, modelDirectory: string): Promise<Uint8Array> {
  const place = await resolveInside(modelDirectory, `initial_state/${path}`)
  if (place.kind === 'inside') return new Uint8Array(await readFile(place.path))
  throw new ServerError('INVALID_ARG', place.kind === 'missing'
    ? `initial state file 'initial_state/${path}' does not exist in the model directory`
    : `initial state file 'initial_state/${path}' is outside the model directory`)
}

/** The inputs as a warm-up sample gives them: controls as well, and states where it wants them to differ from the initial ones. */
export function withSequenceInputs(config: ModelConfig): ModelConfig {
  const batching = config.sequence_batching
  if (batching === undefined) return config
  const input = (name: string, dataType: ModelInput['data_type'], dims: number[], optional: boolean): ModelInput => ({
    name, data_type: dataType, format: 'FORMAT_NONE', dims, is_shape_tensor: false, allow_ragged_batch: false, optional, is_non_linear_format_io: false,
  })
  return {
    ...config,
    input: [
      ...config.input,
      ...controlTensors(batching).map(({ name, datatype }) => input(name, DATA_TYPES[datatype].configName, [1], false)),
      ...batching.state.map((state) => input(state.input_name, state.data_type, state.dims, true)),
    ],
  }
}

/**
 * Makes a warm-up request of a sequence model run outside any sequence: states that the sample does not give have their initial values,
 * what the backend says about the next state goes nowhere, and a request that it puts back is done.
 */
export function prepareSequenceWarmUp(request: InflightRequest, states: readonly SequenceState[], isIterative: boolean, times: () => ExecutionTimes): void {
  const given = new Set(request.inputs.map((input) => input.name))
  request.inputs = [...request.inputs, ...states.flatMap(({ initial }) => (given.has(initial.name) ? [] : [initial]))]
  request.sequenceHooks = {
    updateState: () => {},
    reschedule: isIterative ? () => { request.settle({ kind: 'response', outputs: null, parameters: {}, times: times(), executedBatchSize: 1 }) } : null,
  }
}
