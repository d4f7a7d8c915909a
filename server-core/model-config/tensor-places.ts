/** Every place where a config that is no ensemble names one of the model's own tensors. Pure. */
import type { TensorRole } from './ensemble-graph.ts'
import { elementsNamed } from './config-path.ts'
import type { PbtxtMessage, PbtxtScalar, PbtxtTree } from './pbtxt-tree.ts'

export interface TensorPlace {
  readonly role: TensorRole
  readonly name: string
  readonly literal: PbtxtScalar
  /** What stands before the name in the string; '' but for the Test tab's `console.default.<input>`. */
  readonly prefix: string
}

/** Names of fields down to the one that holds a name; a map leads on through its entries' `key` or `value`. */
type Way = readonly [role: TensorRole, ...names: string[]]

/** Fields by the schema (specs/model-config.md, section 3): declarations, then what speaks of them. */
const WAYS: readonly Way[] = [
  ['input', 'input', 'name'], ['output', 'output', 'name'],
  ['input', 'batch_input', 'target_name'], ['input', 'batch_input', 'source_input'], ['output', 'batch_output', 'target_name'], ['input', 'batch_output', 'source_input'],
  ['input', 'sequence_batching', 'control_input', 'name'], ['input', 'sequence_batching', 'state', 'input_name'], ['output', 'sequence_batching', 'state', 'output_name'],
  ['input', 'model_warmup', 'inputs', 'key'],
  ['input', 'optimization', 'cuda', 'graph_spec', 'input', 'key'], ['input', 'optimization', 'cuda', 'graph_spec', 'graph_lower_bound', 'input', 'key'],
]

const DEFAULT_PREFIX = 'console.default.'

/** In no particular order. */
export function tensorPlaces({ root }: PbtxtTree): TensorPlace[] {
  const named = WAYS.flatMap(([role, ...names]) => stringsAt(root, names).map((place): TensorPlace => ({ role, ...place, prefix: '' })))
  const defaults = stringsAt(root, ['parameters', 'key']).filter(({ name }) => name.startsWith(DEFAULT_PREFIX))
    .map(({ name, literal }): TensorPlace => ({ role: 'input', name: name.slice(DEFAULT_PREFIX.length), literal, prefix: DEFAULT_PREFIX }))
  return [...named, ...defaults]
}

function stringsAt(message: PbtxtMessage, names: readonly string[]): { readonly name: string; readonly literal: PbtxtScalar }[] {
  const [first, ...rest] = names
  if (first === undefined) return []
  return elementsNamed(message, first).flatMap(({ value }) => {
    if (value.kind === 'message') return stringsAt(value, rest)
    return rest.length === 0 && typeof value.value === 'string' && value.tokens.length > 0 ? [{ name: value.value, literal: value }] : []
  })
}
