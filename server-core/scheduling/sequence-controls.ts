import { type DataType, DATA_TYPES, type Tensor } from '../contract/inference.ts'
import type { ModelSequenceBatching, ModelSequenceControl } from '../contract/model-config.ts'

type Flag = 'START' | 'END' | 'READY'

interface FlagControl {
  readonly flag: Flag
  readonly whenFalse: Tensor
  readonly whenTrue: Tensor
}

/** What the controls of one row say. */
export interface ControlValues {
  readonly start: boolean
  readonly end: boolean
  /** False: the row has no request. */
  readonly ready: boolean
}

/**
 * The control tensors of a sequence model: START, END and READY with the values of their `*_false_true`, and the correlation id in its
 * configured type. One element each: shape [1], with a batch dimension [1,1].
 */
export class SequenceControls {
  readonly #flags: readonly FlagControl[]
  readonly #correlation: { readonly name: string; readonly datatype: DataType; readonly shape: readonly number[] } | null

  constructor(batching: ModelSequenceBatching, isBatching: boolean) {
    const shape = isBatching ? [1, 1] : [1]
    const controls = batching.control_input.flatMap(({ name, control }) => control.map((entry) => ({ name, control: entry })))
    this.#flags = controls.flatMap(({ name, control }) => {
      const flag = flagOf(control)
      return flag === null ? [] : [{ flag, whenFalse: flagTensor(name, shape, control, 0), whenTrue: flagTensor(name, shape, control, 1) }]
    })
    const correlation = correlationControl(batching)
    this.#correlation = correlation === null ? null : { ...correlation, shape }
  }

  /** The tensor that carries this id; null where the model has no CORRID control. Made once a sequence. */
  correlationTensor(id: bigint | string): Tensor | null {
    if (this.#correlation === null) return null
    const { name, datatype, shape } = this.#correlation
    return { name, datatype, shape, data: correlationBytes(id, datatype) }
  }

  tensors(values: ControlValues, correlation: Tensor | null): Tensor[] {
    const tensors = this.#flags.map(({ flag, whenFalse, whenTrue }) => (isSet(flag, values) ? whenTrue : whenFalse))
    if (correlation !== null) tensors.push(correlation)
    return tensors
  }
}

/** Name and type of the CORRID control; null: the model has none. */
export function correlationControl(batching: ModelSequenceBatching): { readonly name: string; readonly datatype: DataType } | null {
  for (const { name, control } of batching.control_input) {
    const entry = control.find(({ kind }) => kind === 'CONTROL_SEQUENCE_CORRID')
    if (entry !== undefined) return { name, datatype: datatypeOf(entry) }
  }
  return null
}

/** Name, type and values' form of every control tensor, as a warm-up sample gives them. */
export function controlTensors(batching: ModelSequenceBatching): { readonly name: string; readonly datatype: DataType }[] {
  return batching.control_input.flatMap(({ name, control: [control] }) => (control === undefined ? [] : [{ name, datatype: datatypeOf(control) }]))
}

function isSet(flag: Flag, values: ControlValues): boolean {
  switch (flag) {
    case 'START': return values.start
    case 'END': return values.end
    case 'READY': return values.ready
  }
}

function flagOf({ kind }: ModelSequenceControl): Flag | null {
  switch (kind) {
    case 'CONTROL_SEQUENCE_START': return 'START'
    case 'CONTROL_SEQUENCE_END': return 'END'
    case 'CONTROL_SEQUENCE_READY': return 'READY'
    case 'CONTROL_SEQUENCE_CORRID': return null
  }
}

/** A false_true pair says the type of its tensor; CORRID names it. Validated configs have exactly one of them. */
function datatypeOf(control: ModelSequenceControl): DataType {
  if (control.int32_false_true.length > 0) return 'INT32'
  if (control.fp32_false_true.length > 0) return 'FP32'
  if (control.bool_false_true.length > 0) return 'BOOL'
  const named = (Object.keys(DATA_TYPES) as DataType[]).find((name) => DATA_TYPES[name].configName === control.data_type)
  if (named === undefined) throw new Error(`sequence control has no data type: ${control.data_type}`)
  return named
}

function flagTensor(name: string, shape: readonly number[], control: ModelSequenceControl, index: 0 | 1): Tensor {
  const datatype = datatypeOf(control)
  switch (datatype) {
    case 'INT32': return { name, datatype, shape, data: new Uint8Array(Int32Array.of(control.int32_false_true[index] ?? 0).buffer) }
    case 'FP32': return { name, datatype, shape, data: new Uint8Array(Float32Array.of(control.fp32_false_true[index] ?? 0).buffer) }
    default: return { name, datatype, shape, data: Uint8Array.of(control.bool_false_true[index] === true ? 1 : 0) }
  }
}

/** Narrower integer types keep the low bits, as the cast in Triton does. */
function correlationBytes(id: bigint | string, datatype: DataType): Uint8Array {
  if (datatype === 'BYTES') {
    const text = new TextEncoder().encode(id === 0n ? '' : String(id))
    const data = new Uint8Array(4 + text.byteLength)
    new DataView(data.buffer).setUint32(0, text.byteLength, true)
    data.set(text, 4)
    return data
  }
  const number = typeof id === 'bigint' ? id : 0n
  return new Uint8Array(DATA_TYPES[datatype].byteSize === 4
    ? Uint32Array.of(Number(BigInt.asUintN(32, number))).buffer
    : BigUint64Array.of(BigInt.asUintN(64, number)).buffer)
}
