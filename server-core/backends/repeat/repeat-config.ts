/** What the repeat backend asks of a config. Pure. Tensors are found by name; the texts are those of Triton's repeat backend. */
import { DATA_TYPES } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigProblem } from '../../model-config/config-problem.ts'

const PLACES = ['first', 'second', 'third'] as const
const INPUTS = ['IN', 'DELAY', 'WAIT'] as const
const OUTPUTS = ['OUT', 'IDX'] as const
const FIXED_SIZE_TYPES: ReadonlySet<string> = new Set(Object.values(DATA_TYPES).filter(({ byteSize }) => byteSize > 0).map(({ configName }) => configName))

type Declared = Pick<ModelConfig['input'][number], 'name' | 'data_type' | 'dims'>

/** Triton's backend takes INT32 only; here IN and OUT may be of any type whose elements have one size. */
export function* repeatConfigProblems(config: ModelConfig): Generator<ConfigProblem> {
  const problem = (field: string, text: string): ConfigProblem => ({ code: 'repeat-config', path: [field], text, facts: { field } })
  if (config.max_batch_size !== 0) yield problem('max_batch_size', 'repeat backend only supports models with max_batch_size == 0')
  if (config.model_transaction_policy?.decoupled !== true) {
    yield problem('model_transaction_policy', `model '${config.name}' gives one response for each element of IN: the repeat backend needs model_transaction_policy { decoupled: true }`)
  }
  let isComplete = true
  for (const [role, names] of [['input', INPUTS], ['output', OUTPUTS]] as const) {
    const declared: readonly Declared[] = config[role]
    if (declared.length !== names.length) {
      isComplete = false
      yield problem(role, `expected ${names.length} ${role}s, got ${declared.length}`)
      continue
    }
    for (const [index, name] of names.entries()) {
      if (declared.some((tensor) => tensor.name === name)) continue
      isComplete = false
      yield problem(role, `expected ${PLACES[index]} ${role} tensor name to be ${name}, got ${declared[index]?.name ?? ''}`)
    }
  }
  if (isComplete) yield* tensorProblems(config, problem)
}

function* tensorProblems(config: ModelConfig, problem: (field: string, text: string) => ConfigProblem): Generator<ConfigProblem> {
  const tensor = (name: string): Declared => [...config.input, ...config.output].find((declared) => declared.name === name) as Declared
  const [input, delay, wait, output, index] = [tensor('IN'), tensor('DELAY'), tensor('WAIT'), tensor('OUT'), tensor('IDX')]
  const text = ({ dims }: Declared) => `[${dims.join(',')}]`
  if (input.dims.length !== 1) yield problem('input', `expected IN shape to have one dimension, got ${text(input)}`)
  if (input.dims.join() !== delay.dims.join()) yield problem('input', `expected IN and DELAY shape to match, got ${text(input)} and ${text(delay)}`)
  for (const [role, one] of [['input', wait], ['output', output], ['output', index]] as const) {
    if (one.dims.join() !== '1') yield problem(role, `expected ${one.name} shape to be [1], got ${text(one)}`)
  }
  if (!FIXED_SIZE_TYPES.has(input.data_type)) yield problem('input', `expected IN datatype to have elements of one size, got ${input.data_type}`)
  if (output.data_type !== input.data_type) yield problem('output', `expected IN and OUT datatype to match, got ${input.data_type} and ${output.data_type}`)
  for (const [role, one] of [['input', delay], ['input', wait], ['output', index]] as const) {
    if (one.data_type !== 'TYPE_UINT32') yield problem(role, `expected ${one.name} datatype to be UINT32, got ${one.data_type}`)
  }
}
