/** What the identity backend asks of a config. Pure: its load refuses with the first problem, the editor shows all. */
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigProblem } from '../../model-config/config-problem.ts'

/** Parameters that make the backend slow on purpose, as in Triton's identity backend. */
export const IDENTITY_DELAYS = ['execute_delay_ms', 'creation_delay_sec', 'instance_wise_delay_multiplier'] as const

/** Inputs and outputs are pairs of equal tensors; delays are numbers. */
export function* identityConfigProblems(config: ModelConfig): Generator<ConfigProblem> {
  for (const role of ['input', 'output'] as const) {
    const prefix = role.toUpperCase()
    for (const [index, { name }] of config[role].entries()) {
      if (new RegExp(`^${prefix}\\d+$`).test(name)) continue
      yield { code: 'identity-tensor-name', path: [role, index, 'name'], text: `expected ${role} name to follow ${prefix}<index> pattern, got '${name}'`, facts: { name, prefix } }
    }
  }
  const [inputs, outputs] = [config.input.length, config.output.length]
  if (inputs !== outputs) yield { code: 'identity-pairs', path: ['output'], text: `expected equal numbers of inputs and outputs, got ${inputs} and ${outputs}`, facts: { inputs, outputs } }
  const byName = new Map(config.output.map((output, index) => [output.name, { output, index }]))
  for (const input of config.input) {
    const outputName = `OUTPUT${input.name.slice('INPUT'.length)}`
    const found = byName.get(outputName)
    if (found === undefined) {
      yield { code: 'identity-pairs', path: ['output'], text: `expected an output '${outputName}' for input '${input.name}'`, facts: { inputs, outputs } }
      continue
    }
    const { output, index } = found
    const facts = { input: input.name, output: outputName }
    if (input.data_type !== output.data_type) {
      yield {
        code: 'identity-type', path: ['output', index, 'data_type'], facts: { ...facts, type: input.data_type },
        text: `expected input and output datatype to match, got ${input.data_type} and ${output.data_type}`,
      }
    }
    if (input.dims.join() !== output.dims.join()) {
      yield {
        code: 'identity-shape', path: ['output', index, 'dims'], facts: { ...facts, dims: input.dims.join(', ') },
        text: `expected input and output shape to match, got [${input.dims.join(',')}] and [${output.dims.join(',')}]`,
      }
    }
  }
  for (const key of IDENTITY_DELAYS) {
    const text = config.parameters[key]?.string_value ?? ''
    if (text === '' || (Number.isFinite(Number(text)) && Number(text) >= 0)) continue
    yield {
      code: 'parameter-not-a-number', path: ['parameters', { key }, 'value', 'string_value'], facts: { key, value: text },
      text: `parameter '${key}' of model '${config.name}' must be a number >= 0, got '${text}'`,
    }
  }
}
