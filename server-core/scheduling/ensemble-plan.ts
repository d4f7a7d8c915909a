import type { ModelConfig, ModelOutput } from '../contract/model-config.ts'
import { ensembleSteps } from '../model-config/validate-ensemble-members.ts'

/** A tensor of a step's model and the number of the ensemble tensor that it is mapped to. */
export interface MappedTensor {
  readonly name: string
  readonly tensor: number
}

export interface PlannedStep {
  readonly index: number
  readonly modelName: string
  /** -1: the latest. */
  readonly modelVersion: number
  readonly inputs: readonly MappedTensor[]
  readonly outputs: readonly MappedTensor[]
  /** How many ensemble tensors it waits for: one that feeds two inputs counts once. */
  readonly readCount: number
}

export interface PlannedOutput {
  readonly tensor: number
  readonly config: ModelOutput
}

/** The part of an ensemble that the outputs asked for depend on. */
export interface PlanPart {
  /** In the order of the config. */
  readonly outputs: readonly PlannedOutput[]
  /** By ensemble tensor: the steps that wait for it. Those that lead to no output asked for are left out. */
  readonly readers: readonly (readonly PlannedStep[])[]
  /** By step: its outputs that somebody uses. */
  readonly usedOutputs: readonly (readonly MappedTensor[])[]
  /** By ensemble tensor: is it an output asked for? */
  readonly isOutput: readonly boolean[]
}

/** Sets of outputs whose part is kept: clients ask for the same few again and again. */
const PARTS_KEPT = 64

/** How tensors flow through an ensemble; ensemble tensors are numbered. Made once per loaded ensemble. @param config valid and normalised */
export class EnsemblePlan {
  readonly isBatching: boolean
  readonly steps: readonly PlannedStep[]
  readonly tensorNames: readonly string[]
  /** The ensemble's inputs. */
  readonly inputs: readonly MappedTensor[]
  readonly #outputs: readonly PlannedOutput[]
  readonly #parts = new Map<string, PlanPart>()

  constructor(config: ModelConfig) {
    const numbers = new Map<string, number>()
    const numberOf = (name: string): number => {
      const known = numbers.get(name)
      if (known !== undefined) return known
      numbers.set(name, numbers.size)
      return numbers.size - 1
    }
    const mapped = (map: Readonly<Record<string, string>>): MappedTensor[] => Object.entries(map).map(([name, tensor]) => ({ name, tensor: numberOf(tensor) }))
    this.isBatching = config.max_batch_size > 0
    this.inputs = config.input.map(({ name }) => ({ name, tensor: numberOf(name) }))
    this.steps = ensembleSteps(config).map((step, index) => ({
      index, modelName: step.model_name, modelVersion: step.model_version, inputs: mapped(step.input_map), outputs: mapped(step.output_map),
      readCount: new Set(Object.values(step.input_map)).size,
    }))
    this.#outputs = config.output.map((output) => ({ tensor: numberOf(output.name), config: output }))
    this.tensorNames = [...numbers.keys()]
  }

  /** @param requestedOutputs names of outputs of the ensemble */
  partFor(requestedOutputs: readonly string[]): PlanPart {
    const key = requestedOutputs.join('\0')
    const known = this.#parts.get(key)
    if (known !== undefined) return known
    const part = this.#partOf(new Set(requestedOutputs))
    const [oldest] = this.#parts.keys()
    if (this.#parts.size >= PARTS_KEPT && oldest !== undefined) this.#parts.delete(oldest)
    this.#parts.set(key, part)
    return part
  }

  /** From the outputs asked for backwards: a step is needed when something needed is made by it. */
  #partOf(requested: ReadonlySet<string>): PlanPart {
    const outputs = this.#outputs.filter(({ config }) => requested.has(config.name))
    const writers = new Map(this.steps.flatMap((step) => step.outputs.map(({ tensor }) => [tensor, step] as const)))
    const needed = new Set(outputs.map(({ tensor }) => tensor))
    const steps = new Set<PlannedStep>()
    for (const tensor of needed) {
      const step = writers.get(tensor)
      if (step === undefined || steps.has(step)) continue
      steps.add(step)
      for (const input of step.inputs) needed.add(input.tensor)
    }
    const readers: PlannedStep[][] = this.tensorNames.map(() => [])
    for (const step of this.steps) {
      if (!steps.has(step)) continue
      for (const tensor of new Set(step.inputs.map((input) => input.tensor))) readers[tensor]?.push(step)
    }
    const asked = new Set(outputs.map(({ tensor }) => tensor))
    return {
      outputs, readers,
      usedOutputs: this.steps.map((step) => step.outputs.filter(({ tensor }) => needed.has(tensor))),
      isOutput: this.tensorNames.map((_name, tensor) => asked.has(tensor)),
    }
  }
}
