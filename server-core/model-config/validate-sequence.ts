/** Checks of `sequence_batching`, with Triton's texts. */
import type { ConfigPath } from './config-path.ts'
import { refuseFirst } from './config-problem.ts'
import type { ConfigProblem } from './config-problem.ts'

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

/** The same problem may come once per kind of control, as Triton walks all control inputs for each. */
export function* sequenceBatchingProblems(batching: SequenceBatching, model: string, maxBatchSize: number): Generator<ConfigProblem> {
  for (const kind of [...BOOLEAN_KINDS, CORRID]) yield* controlProblems(batching, kind, model)
  for (const [index, size] of (batching.oldest?.preferred_batch_size ?? []).entries()) {
    const path = ['sequence_batching', 'oldest', 'preferred_batch_size', index]
    const facts = { size, max: maxBatchSize }
    if (size <= 0) yield { code: 'sequence-preferred-size-not-positive', path, text: `sequence batching preferred batch size must be positive for ${model}`, facts }
    else if (size > maxBatchSize) {
      yield { code: 'sequence-preferred-size-over-max', path, text: `sequence batching preferred batch size must be <= max batch size for ${model}`, facts }
    }
  }
  const utilization = batching.direct?.minimum_slot_utilization
  // 0 is the default of the field and means "not set"
  if (utilization !== undefined && !(utilization >= 0 && utilization <= 1)) {
    yield {
      code: 'slot-utilization-range', path: ['sequence_batching', 'direct', 'minimum_slot_utilization'],
      text: `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${model}`, facts: { value: utilization },
    }
  }
}

/** Triton walks all control inputs once per kind; so do we, as the order decides which text comes first. */
function* controlProblems(batching: SequenceBatching, kind: string, model: string): Generator<ConfigProblem> {
  const tensors = new Set<string>()
  let isSeen = false
  for (const [index, input] of batching.control_input.entries()) {
    const path = ['sequence_batching', 'control_input', index]
    const { name } = input
    if (name === '') yield { code: 'control-without-name', path, text: `sequence batching control tensor must have a name for ${model}` }
    else if (tensors.has(name)) {
      yield {
        code: 'control-tensor-twice', path: [...path, 'name'], facts: { tensor: name },
        text: `sequence batching control tensor '${name}' is specified for multiple control kinds for ${model}`,
      }
    }
    tensors.add(name)
    for (const [position, control] of input.control.entries()) {
      if (control.kind !== kind) continue
      const controlPath = [...path, 'control', position]
      if (isSeen) yield { code: 'control-kind-twice', path: [...controlPath, 'kind'], text: `sequence batching specifies multiple ${kind} tensors for ${model}`, facts: { kind } }
      isSeen = true
      yield* kind === CORRID ? correlationIdProblems(control, model, controlPath) : falseTrueProblems(control, kind, model, controlPath)
    }
  }
}

function* falseTrueProblems(control: SequenceControl, kind: string, model: string, path: ConfigPath): Generator<ConfigProblem> {
  const given = FALSE_TRUE_FIELDS.filter((field) => control[field].length > 0)
  const [field] = given
  const facts = { kind, fields: given.join(', ') }
  if (field === undefined) {
    yield {
      code: 'control-without-values', path, facts,
      text: `sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${kind} for ${model}`,
    }
    return
  }
  if (given.length > 1) {
    yield {
      code: 'control-values-twice', path: [...path, given[1] ?? field], facts,
      text: `sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' for ${kind} for ${model}`,
    }
  }
  if (control[field].length !== 2) {
    yield {
      code: 'control-values-count', path: [...path, field], facts: { kind, field, count: control[field].length },
      text: `sequence batching control '${field}' must have exactly 2 entries for ${kind} for ${model}`,
    }
  }
}

function* correlationIdProblems(control: SequenceControl, model: string, path: ConfigPath): Generator<ConfigProblem> {
  const given = FALSE_TRUE_FIELDS.find((field) => control[field].length > 0)
  if (given !== undefined) {
    yield {
      code: 'corrid-with-values', path: [...path, given], facts: { field: given },
      text: `sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' for ${CORRID} for ${model}`,
    }
  }
  if (!CORRID_TYPES.includes(control.data_type)) {
    yield {
      code: 'corrid-type', path: [...path, 'data_type'], facts: { type: control.data_type },
      text: `unexpected data type for control ${CORRID} for ${model}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`,
    }
  }
}

/**
 * What the sequence scheduler checks when it is created. Sizes of data files are checked where they are read.
 * @throws ServerError INVALID_ARG
 */
export function validateSequenceStates(batching: SequenceBatching): void {
  refuseFirst(sequenceStateProblems(batching))
}

export function* sequenceStateProblems(batching: SequenceBatching): Generator<ConfigProblem> {
  for (const [index, { input_name: input, initial_state: initial, data_type: dataType, dims }] of batching.state.entries()) {
    const path = ['sequence_batching', 'state', index, 'initial_state']
    if (initial.length > 1) {
      yield {
        code: 'initial-state-count', path: [...path, 1], facts: { tensor: input, count: initial.length },
        text: `initial_state field for state input '${input}' must contain exactly one or zero element. Found '${initial.length}' elements.`,
      }
    }
    const [state] = initial
    if (state !== undefined) yield* initialStateProblems(state, input, dataType, dims, [...path, 0])
  }
}

function* initialStateProblems(state: InitialState, input: string, dataType: string, dims: readonly number[], path: ConfigPath): Generator<ConfigProblem> {
  if (state.data_type !== dataType) {
    yield {
      code: 'initial-state-type', path: [...path, 'data_type'], facts: { tensor: input, type: dataType },
      text: `The data type used for 'initial_state' field of state '${input}' does not match the state data type.`,
    }
  }
  if (state.name === '') {
    yield { code: 'initial-state-without-name', path, facts: { tensor: input }, text: `Field 'name' must be set when using initial_state for state input '${input}'.` }
  }
  if (state.dims.length !== dims.length) {
    yield {
      code: 'initial-state-rank', path: [...path, 'dims'], facts: { tensor: input, rank: state.dims.length, expected: dims.length },
      text: `Number of dimensions in 'initial_state' doesn't match the size of 'state' dimensions for state input '${input}'. ${state.dims.length} != ${dims.length}`,
    }
    return
  }
  for (const [index, dim] of state.dims.entries()) {
    const expected = dims[index]
    if (expected === undefined || expected === -1 || dim === expected) continue
    yield {
      code: 'initial-state-dims', path: [...path, 'dims', index], facts: { tensor: input, dim, expected },
      text: `'initial_state' dim for input name '${input}' doesn't match 'state' dim description. ${dim} != ${expected}`,
    }
  }
  const variable = state.dims.findIndex((dim, index) => dim === -1 && dims[index] === -1)
  if (variable >= 0) {
    yield {
      code: 'initial-state-variable-dims', path: [...path, 'dims', variable], facts: { tensor: input },
      text: `'initial_state' field for state input name '${input}' contains variable dimensions.`,
    }
  }
}
