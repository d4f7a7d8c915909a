import { steadyNanoseconds } from '../../clock.ts'
import type { ParameterValue, Tensor } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { refuseFirst } from '../../model-config/config-problem.ts'
import { clientShapeOf } from '../client-shape.ts'
import { isWorthReleasing } from '../../release-memory.ts'
import type { Backend, BackendInstanceContext, BackendModel, BackendModelContext, BackendModelInstance, BackendRequest, ExecutionTimes } from '../backend.ts'
import type { IDENTITY_DELAYS} from './identity-config.ts';
import { identityConfigProblems } from './identity-config.ts'

interface IdentityDelays {
  readonly executeMilliseconds: number
  readonly creationSeconds: number
  readonly instanceMultiplier: number
}

/** What Triton's identity backend puts into every response, as an example of parameters (protocol 6.4; the values are those that it answers with). */
export const SAMPLE_PARAMETERS: Readonly<Record<string, ParameterValue>> = { param0: 'an example string parameter', param1: 42n, param2: false, param3: 123.123 }

/**
 * Copies INPUT<n> to OUTPUT<n>, with Triton's sample parameters. For tests and benches of everything around a backend; its parameters make it slow on purpose
 * (`execute_delay_ms`, `creation_delay_sec`, `instance_wise_delay_multiplier`, as in Triton's identity backend).
 */
export const identityBackend: Backend = {
  name: 'identity',
  async initializeModel(context: BackendModelContext): Promise<BackendModel> {
    refuseFirst(identityConfigProblems(context.config))
    const delays = readDelays(context.config)
    return {
      config: context.config,
      copiesInputs: true,
      async initializeInstance(instance: BackendInstanceContext): Promise<BackendModelInstance> {
        if (delays.creationSeconds > 0) await sleep(delays.creationSeconds * 1000)
        return new IdentityInstance(context.config, delays.executeMilliseconds * Math.max(delays.instanceMultiplier * instance.index, 1))
      },
      async finalize() {},
    }
  },
}

class IdentityInstance implements BackendModelInstance {
  readonly #config: ModelConfig
  readonly #delayMilliseconds: number

  constructor(config: ModelConfig, delayMilliseconds: number) {
    this.#config = config
    this.#delayMilliseconds = delayMilliseconds
  }

  execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> | ExecutionTimes {
    const executeStart = steadyNanoseconds()
    return this.#delayMilliseconds > 0 ? sleep(this.#delayMilliseconds).then(() => this.#answer(requests, executeStart)) : this.#answer(requests, executeStart)
  }

  #answer(requests: readonly BackendRequest[], executeStart: number): ExecutionTimes {
    const computeStart = steadyNanoseconds()
    for (const request of requests) {
      const outputs: Tensor[] = []
      for (const input of request.inputs) {
        const name = `OUTPUT${input.name.slice('INPUT'.length)}`
        if (request.requestedOutputs.includes(name)) outputs.push(ownCopy(name, clientShapeOf(this.#config, name, input.shape), input))
      }
      request.respond(outputs, SAMPLE_PARAMETERS)
    }
    const computeEnd = steadyNanoseconds()
    return { executeStart, computeStart, computeEnd, executeEnd: computeEnd }
  }

  async finalize(): Promise<void> {}
}

/** An output whose data nobody else holds. */
function ownCopy(name: string, shape: readonly number[], { datatype, data: bytes }: Tensor): Tensor {
  const data = new Uint8Array(bytes)
  return isWorthReleasing(data) ? { name, datatype, shape, data, isExclusive: true } : { name, datatype, shape, data }
}

function readDelays(config: ModelConfig): IdentityDelays {
  const number = (key: (typeof IDENTITY_DELAYS)[number]): number => Number(config.parameters[key]?.string_value ?? 0)
  return { executeMilliseconds: number('execute_delay_ms'), creationSeconds: number('creation_delay_sec'), instanceMultiplier: number('instance_wise_delay_multiplier') }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, milliseconds) })
}
