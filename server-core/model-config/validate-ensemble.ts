/** Checks of an ensemble's config by itself, with Triton's texts. What needs the composing models is checked when they are ready. */
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'

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

function refuse(message: string): never {
  throw new ServerError('INVALID_ARG', message)
}

/** @throws ServerError INVALID_ARG */
export function validateEnsembleScheduling(config: ModelConfig): void {
  const { name } = config
  if (config.platform !== 'ensemble') refuse(`ensemble scheduling cannot be set for model '${name}' whose platform is not ensemble`)
  if (config.instance_group.length > 0) refuse(`instance group should not be specified for ensemble '${name}'`)
  if (config.optimization !== undefined) refuse(`optimization should not be specified for ensemble '${name}'`)
  if (config.model_warmup.length > 0) refuse(`model_warmup can not be specified for ensemble '${name}'`)
  const steps = (config.ensemble_scheduling?.['step'] ?? []) as readonly EnsembleStep[]
  if (steps.length === 0) refuse(`must specify 'step' for ensemble '${name}'`)

  const tensors = connectTensors(steps, name)
  spreadReadiness(config, tensors)
  const written = checkOutputs(config, tensors)
  for (const tensor of tensors.values()) {
    if (!written.has(tensor.name) && (!tensor.isReady || tensor.consumers.length === 0)) {
      refuse(`ensemble tensor '${tensor.name}' is unused in ensemble '${name}'`)
    }
  }
}

function connectTensors(steps: readonly EnsembleStep[], ensemble: string): Map<string, EnsembleTensor> {
  const tensors = new Map<string, EnsembleTensor>()
  const tensorNamed = (name: string): EnsembleTensor => {
    const tensor = tensors.get(name) ?? { name, sources: [], consumers: [], isProduced: false, isReady: false }
    tensors.set(name, tensor)
    return tensor
  }
  steps.forEach((step, index) => {
    const must = (what: string): never => refuse(`must specify '${what}' in step ${index} of ensemble '${ensemble}'`)
    if (step.model_name === '') must('model_name')
    if (Object.keys(step.input_map).length === 0) must('input_map')
    if (Object.keys(step.output_map).length === 0) must('output_map')

    const outputs = Object.values(step.output_map).map((name) => {
      const tensor = tensorNamed(name)
      if (tensor.isProduced) refuse(`ensemble tensor '${name}' can appear in an output map only once for ensemble '${ensemble}' step ${index}`)
      tensor.isProduced = true
      return tensor
    })
    for (const name of Object.values(step.input_map)) {
      const input = tensorNamed(name)
      for (const output of outputs) {
        output.sources.push(input)
        input.consumers.push(output)
      }
    }
  })
  return tensors
}

/** From the ensemble's inputs: a tensor is ready when all tensors it is made from are. */
function spreadReadiness(config: ModelConfig, tensors: ReadonlyMap<string, EnsembleTensor>): void {
  const queue: EnsembleTensor[] = []
  for (const input of config.input) {
    const tensor = tensors.get(input.name)
    // The quote is unbalanced in Triton's text too.
    if (tensor === undefined) refuse(`ensemble input '${input.name}' for ensemble ${config.name}' is not used`)
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

function checkOutputs(config: ModelConfig, tensors: ReadonlyMap<string, EnsembleTensor>): Set<string> {
  const written = new Set<string>()
  for (const output of config.output) {
    const tensor = tensors.get(output.name)
    if (tensor === undefined) refuse(`ensemble output '${output.name}' for ensemble ${config.name}' is not used`)
    if (!tensor.isReady) {
      const missing = tensor.sources.find((source) => !source.isReady)
      const why = missing === undefined ? '' : `: at least one of its depending tensors, '${missing.name}', is not connected`
      refuse(`output '${output.name}' for ensemble '${config.name}' is not written${why}`)
    }
    written.add(output.name)
  }
  return written
}
