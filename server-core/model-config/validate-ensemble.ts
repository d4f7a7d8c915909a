/** Checks of an ensemble's config by itself, with Triton's texts. What needs the composing models is checked when they are ready. */
import type { ModelConfig } from '../contract/model-config.ts'
import type { ConfigPath } from './config-path.ts'
import type { ConfigProblem } from './config-problem.ts'

interface EnsembleStep {
  readonly model_name: string
  readonly input_map: Readonly<Record<string, string>>
  readonly output_map: Readonly<Record<string, string>>
}

/** One tensor of the ensemble: which tensors it is made from and which are made from it. */
interface EnsembleTensor {
  readonly name: string
  readonly sources: EnsembleTensor[]
  readonly consumers: EnsembleTensor[]
  isProduced: boolean
  isReady: boolean
}

/** Problems of the steps themselves hide those of the flow between them, which would only follow from them. */
export function* ensembleProblems(config: ModelConfig): Generator<ConfigProblem> {
  const { name } = config
  if (config.platform !== 'ensemble') {
    yield {
      code: 'scheduling-without-ensemble', path: ['ensemble_scheduling'], text: `ensemble scheduling cannot be set for model '${name}' whose platform is not ensemble`,
      facts: { platform: config.platform },
    }
  }
  const forbidden = (field: string, text: string): ConfigProblem => ({ code: `ensemble-with-${field.replaceAll('_', '-')}`, path: [field], text, facts: { field } })
  if (config.instance_group.length > 0) yield forbidden('instance_group', `instance group should not be specified for ensemble '${name}'`)
  if (config.optimization !== undefined) yield forbidden('optimization', `optimization should not be specified for ensemble '${name}'`)
  if (config.model_warmup.length > 0) yield forbidden('model_warmup', `model_warmup can not be specified for ensemble '${name}'`)
  const steps = (config.ensemble_scheduling?.['step'] ?? []) as readonly EnsembleStep[]
  if (steps.length === 0) yield { code: 'ensemble-without-steps', path: ['ensemble_scheduling'], text: `must specify 'step' for ensemble '${name}'` }

  const tensors = new Map<string, EnsembleTensor>()
  let isConnected = steps.length > 0
  for (const problem of connectTensors(steps, name, tensors)) { isConnected = false; yield problem }
  if (!isConnected) return
  let flows = true
  for (const problem of [...spreadReadiness(config, tensors), ...outputProblems(config, tensors)]) { flows = false; yield problem }
  if (!flows) return
  const written = new Set(config.output.map((output) => output.name))
  const places = placesOfTensors(steps)
  for (const tensor of tensors.values()) {
    if (written.has(tensor.name) || (tensor.isReady && tensor.consumers.length > 0)) continue
    yield {
      code: 'ensemble-tensor-unused', path: places.get(tensor.name) ?? ['ensemble_scheduling'], text: `ensemble tensor '${tensor.name}' is unused in ensemble '${name}'`,
      facts: { tensor: tensor.name },
    }
  }
}

/** Where a step writes, or else reads, each ensemble tensor. */
function placesOfTensors(steps: readonly EnsembleStep[]): Map<string, ConfigPath> {
  const places = new Map<string, ConfigPath>()
  for (const map of ['output_map', 'input_map'] as const) {
    for (const [index, step] of steps.entries()) {
      for (const [key, tensor] of Object.entries(step[map])) {
        if (!places.has(tensor)) places.set(tensor, ['ensemble_scheduling', 'step', index, map, { key }, 'value'])
      }
    }
  }
  return places
}

/** Fills `tensors`. */
function* connectTensors(steps: readonly EnsembleStep[], ensemble: string, tensors: Map<string, EnsembleTensor>): Generator<ConfigProblem> {
  const tensorNamed = (name: string): EnsembleTensor => {
    const tensor = tensors.get(name) ?? { name, sources: [], consumers: [], isProduced: false, isReady: false }
    tensors.set(name, tensor)
    return tensor
  }
  for (const [index, step] of steps.entries()) {
    const path = ['ensemble_scheduling', 'step', index]
    const must = (what: string): ConfigProblem =>
      ({ code: `step-without-${what.replaceAll('_', '-')}`, path, text: `must specify '${what}' in step ${index} of ensemble '${ensemble}'`, facts: { step: index, what } })
    if (step.model_name === '') yield must('model_name')
    if (Object.keys(step.input_map).length === 0) yield must('input_map')
    if (Object.keys(step.output_map).length === 0) yield must('output_map')

    const outputs: EnsembleTensor[] = []
    for (const [key, name] of Object.entries(step.output_map)) {
      const tensor = tensorNamed(name)
      if (tensor.isProduced) {
        yield {
          code: 'ensemble-tensor-written-twice', path: [...path, 'output_map', { key }, 'value'], facts: { tensor: name, step: index },
          text: `ensemble tensor '${name}' can appear in an output map only once for ensemble '${ensemble}' step ${index}`,
        }
      }
      tensor.isProduced = true
      outputs.push(tensor)
    }
    for (const name of Object.values(step.input_map)) {
      const input = tensorNamed(name)
      for (const output of outputs) {
        output.sources.push(input)
        input.consumers.push(output)
      }
    }
  }
}

/** From the ensemble's inputs: a tensor is ready when all tensors it is made from are. */
function* spreadReadiness(config: ModelConfig, tensors: ReadonlyMap<string, EnsembleTensor>): Generator<ConfigProblem> {
  const queue: EnsembleTensor[] = []
  for (const [index, input] of config.input.entries()) {
    const tensor = tensors.get(input.name)
    if (tensor === undefined) {
      // The quote is unbalanced in Triton's text too.
      yield { code: 'ensemble-input-unused', path: ['input', index, 'name'], text: `ensemble input '${input.name}' for ensemble ${config.name}' is not used`, facts: { tensor: input.name } }
      continue
    }
    tensor.isReady = true
    queue.push(tensor)
  }
  for (let tensor = queue.shift(); tensor !== undefined; tensor = queue.shift()) {
    for (const consumer of tensor.consumers) {
      if (consumer.isReady || !consumer.sources.every((source) => source.isReady)) continue
      consumer.isReady = true
      queue.push(consumer)
    }
  }
}

function* outputProblems(config: ModelConfig, tensors: ReadonlyMap<string, EnsembleTensor>): Generator<ConfigProblem> {
  for (const [index, output] of config.output.entries()) {
    const path = ['output', index, 'name']
    const tensor = tensors.get(output.name)
    if (tensor === undefined) {
      yield { code: 'ensemble-output-unused', path, text: `ensemble output '${output.name}' for ensemble ${config.name}' is not used`, facts: { tensor: output.name } }
    } else if (!tensor.isReady) {
      const missing = tensor.sources.find((source) => !source.isReady)
      const why = missing === undefined ? '' : `: at least one of its depending tensors, '${missing.name}', is not connected`
      yield {
        code: 'ensemble-output-not-written', path, text: `output '${output.name}' for ensemble '${config.name}' is not written${why}`,
        facts: { tensor: output.name, missing: missing?.name ?? '' },
      }
    }
  }
}
