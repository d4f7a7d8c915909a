import { steadyNanoseconds } from '../../clock.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { ServerError } from '../../server-error.ts'
import type { Backend, BackendInstanceContext, BackendModel, BackendModelContext, BackendModelInstance, BackendRequest, ExecutionTimes } from '../backend.ts'

interface IdentityDelays {
  readonly executeMilliseconds: number
  readonly creationSeconds: number
  readonly instanceMultiplier: number
}

/**
 * Copies INPUT<n> to OUTPUT<n>. For tests and benches of everything around a backend; its parameters make it slow on purpose
 * (`execute_delay_ms`, `creation_delay_sec`, `instance_wise_delay_multiplier`, as in Triton's identity backend).
 */
export const identityBackend: Backend = {
  name: 'identity',
  async initializeModel(context: BackendModelContext): Promise<BackendModel> {
    checkConfig(context.config)
    const delays = readDelays(context.config)
    return {
      config: context.config,
      async initializeInstance(instance: BackendInstanceContext): Promise<BackendModelInstance> {
        if (delays.creationSeconds > 0) await sleep(delays.creationSeconds * 1000)
        return new IdentityInstance(delays.executeMilliseconds * Math.max(delays.instanceMultiplier * instance.index, 1))
      },
      async finalize() {},
    }
  },
}

class IdentityInstance implements BackendModelInstance {
  readonly #delayMilliseconds: number

  constructor(delayMilliseconds: number) { this.#delayMilliseconds = delayMilliseconds }

  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    const executeStart = steadyNanoseconds()
    if (this.#delayMilliseconds > 0) await sleep(this.#delayMilliseconds)
    const computeStart = steadyNanoseconds()
    for (const request of requests) {
      const asked = new Set(request.requestedOutputs)
      request.respond(request.inputs
        .map((input) => ({ ...input, name: `OUTPUT${input.name.slice('INPUT'.length)}`, data: new Uint8Array(input.data) }))
        .filter((output) => asked.has(output.name)))
    }
    const computeEnd = steadyNanoseconds()
    return { executeStart, computeStart, computeEnd, executeEnd: computeEnd }
  }

  async finalize(): Promise<void> {}
}

/** @throws ServerError INVALID_ARG where inputs and outputs are not pairs of equal tensors */
function checkConfig(config: ModelConfig): void {
  const refuse = (text: string): never => { throw new ServerError('INVALID_ARG', text) }
  for (const { name } of config.input) if (!/^INPUT\d+$/.test(name)) refuse(`expected input name to follow INPUT<index> pattern, got '${name}'`)
  for (const { name } of config.output) if (!/^OUTPUT\d+$/.test(name)) refuse(`expected output name to follow OUTPUT<index> pattern, got '${name}'`)
  if (config.input.length !== config.output.length) refuse(`expected equal numbers of inputs and outputs, got ${config.input.length} and ${config.output.length}`)
  for (const input of config.input) {
    const outputName = `OUTPUT${input.name.slice('INPUT'.length)}`
    const output = config.output.find((candidate) => candidate.name === outputName)
    if (output === undefined) return refuse(`expected an output '${outputName}' for input '${input.name}'`)
    if (input.data_type !== output.data_type) refuse(`expected input and output datatype to match, got ${input.data_type} and ${output.data_type}`)
    if (input.dims.join() !== output.dims.join()) refuse(`expected input and output shape to match, got [${input.dims.join(',')}] and [${output.dims.join(',')}]`)
  }
}

function readDelays(config: ModelConfig): IdentityDelays {
  const number = (key: string): number => {
    const text = config.parameters[key]?.string_value
    if (text === undefined || text === '') return 0
    const value = Number(text)
    if (!Number.isFinite(value) || value < 0) throw new ServerError('INVALID_ARG', `parameter '${key}' of model '${config.name}' must be a number >= 0, got '${text}'`)
    return value
  }
  return { executeMilliseconds: number('execute_delay_ms'), creationSeconds: number('creation_delay_sec'), instanceMultiplier: number('instance_wise_delay_multiplier') }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, milliseconds) })
}
