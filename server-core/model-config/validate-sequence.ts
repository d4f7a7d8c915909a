/** Checks of `sequence_batching`, with Triton's texts. */
import { ServerError } from '../server-error.ts'

interface SequenceControl {
  readonly kind: string | number
  readonly int32_false_true: readonly number[]
  readonly fp32_false_true: readonly number[]
  readonly bool_false_true: readonly boolean[]
  readonly data_type: string
}

interface InitialState {
  readonly data_type: string
  readonly dims: readonly number[]
  readonly name: string
}

interface SequenceState {
  readonly input_name: string
  readonly data_type: string
  readonly dims: readonly number[]
  readonly initial_state: readonly InitialState[]
}

export interface SequenceBatching {
  readonly direct?: { readonly minimum_slot_utilization: number }
  readonly oldest?: { readonly preferred_batch_size: readonly number[] }
  readonly control_input: readonly { readonly name: string; readonly control: readonly SequenceControl[] }[]
  readonly state: readonly SequenceState[]
}

const BOOLEAN_KINDS = ['CONTROL_SEQUENCE_START', 'CONTROL_SEQUENCE_END', 'CONTROL_SEQUENCE_READY']
const CORRID = 'CONTROL_SEQUENCE_CORRID'
const CORRID_TYPES = ['TYPE_UINT64', 'TYPE_INT64', 'TYPE_UINT32', 'TYPE_INT32', 'TYPE_STRING']
const FALSE_TRUE_FIELDS = ['int32_false_true', 'fp32_false_true', 'bool_false_true'] as const

function refuse(message: string): never {
  throw new ServerError('INVALID_ARG', message)
}

/** @throws ServerError INVALID_ARG */
export function validateSequenceBatching(batching: SequenceBatching, model: string, maxBatchSize: number): void {
  for (const kind of [...BOOLEAN_KINDS, CORRID]) validateControl(batching, kind, model)
  for (const size of batching.oldest?.preferred_batch_size ?? []) {
    if (size <= 0) refuse(`sequence batching preferred batch size must be positive for ${model}`)
    if (size > maxBatchSize) refuse(`sequence batching preferred batch size must be <= max batch size for ${model}`)
  }
  const utilization = batching.direct?.minimum_slot_utilization
  // 0 is the default of the field and means "not set"
  if (utilization !== undefined && !(utilization >= 0 && utilization <= 1)) {
    refuse(`sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${model}`)
  }
}

/** Triton walks all control inputs once per kind; so do we, as the order decides which text comes first. */
function validateControl(batching: SequenceBatching, kind: string, model: string): void {
  const tensors = new Set<string>()
  let isSeen = false
  for (const input of batching.control_input) {
    if (input.name === '') refuse(`sequence batching control tensor must have a name for ${model}`)
    if (tensors.has(input.name)) refuse(`sequence batching control tensor '${input.name}' is specified for multiple control kinds for ${model}`)
    tensors.add(input.name)
    for (const control of input.control) {
      if (control.kind !== kind) continue
      if (isSeen) refuse(`sequence batching specifies multiple ${kind} tensors for ${model}`)
      isSeen = true
      if (kind === CORRID) validateCorrelationId(control, model)
      else validateFalseTrue(control, kind, model)
    }
  }
}

function validateFalseTrue(control: SequenceControl, kind: string, model: string): void {
  const given = FALSE_TRUE_FIELDS.filter((field) => control[field].length > 0)
  const [field] = given
  if (field === undefined) {
    refuse(`sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${kind} for ${model}`)
  }
  if (given.length > 1) {
    refuse(`sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for ${kind} for ${model}`)
  }
  if (control[field].length !== 2) {
    refuse(`sequence batching control '${field}' must have exactly 2 entries for ${kind} for ${model}`)
  }
}

function validateCorrelationId(control: SequenceControl, model: string): void {
  if (FALSE_TRUE_FIELDS.some((field) => control[field].length > 0)) {
    refuse(`sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${CORRID} for ${model}`)
  }
  if (!CORRID_TYPES.includes(control.data_type)) {
    refuse(`unexpected data type for control ${CORRID} for ${model}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`)
  }
}

/**
 * What the sequence scheduler checks when it is created. Sizes of data files are checked where they are read.
 * @throws ServerError INVALID_ARG
 */
export function validateSequenceStates(batching: SequenceBatching): void {
  for (const { input_name: input, initial_state: initial, data_type: dataType, dims } of batching.state) {
    if (initial.length > 1) {
      refuse(`initial_state field for state input '${input}' must contain exactly one or zero element. Found '${initial.length}' elements.`)
    }
    const [state] = initial
    if (state === undefined) continue
    if (state.data_type !== dataType) refuse(`The data type used for 'initial_state' field of state '${input}' does not match the state data type.`)
    if (state.name === '') refuse(`Field 'name' must be set when using initial_state for state input '${input}'.`)
    if (state.dims.length !== dims.length) {
      refuse(`Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '${input}'. `
        + `${state.dims.length} != ${dims.length}`)
    }
    state.dims.forEach((dim, index) => {
      const expected = dims[index]
      if (expected !== -1 && dim !== expected) {
        refuse(`'initial_state' dim for input name '${input}' doesn't match 'state' dim description. ${dim} != ${expected}`)
      }
    })
  }
}
