/** A backend that does what a test says, step by step: every creation and execution waits to be let through, and everything that is made is counted. */
import type { Backend, BackendInstanceContext, BackendModel, BackendModelContext, BackendModelInstance, BackendRequest, ExecutionTimes } from '../backends/backend.ts'
import { BackendRegistry } from '../backends/backend-registry.ts'
import type { Clock } from '../clock.ts'
import { LogHub } from '../logger.ts'
import { serverOptions, type ServerOptions } from '../options.ts'
import { TritonInferenceServer } from '../triton-inference-server.ts'
import type { FakeClock } from './fake-clock.ts'

export type ScriptedStep = 'model' | 'instance' | 'execute'

/** A step that waits. */
export interface WaitingStep {
  readonly step: ScriptedStep
  readonly model: string
  readonly version: number
  proceed(): void
  fail(message: string): void
}

interface Counted { readonly label: string; finalized: number }

/** Config of a scripted model. `more` is put at the end. */
export function scriptedConfig(more = ''): string {
  return `backend: "scripted"
max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
${more}
`
}

export class ScriptedBackend implements Backend {
  readonly name = 'scripted'
  /** Steps of this kind wait for `proceed`; the others go on at once. */
  readonly held = new Set<ScriptedStep>()
  /** In the order they came. */
  readonly waiting: WaitingStep[] = []
  readonly models: Counted[] = []
  readonly instances: Counted[] = []
  /** Order in which things were freed wrongly: an instance after its model, or one of them twice. */
  readonly mistakes: string[] = []
  executions = 0
  #clock: Clock

  constructor(clock: Clock) { this.#clock = clock }

  /** What was made and never freed. */
  leaked(): string[] { return [...this.models, ...this.instances].filter(({ finalized }) => finalized === 0).map(({ label }) => label) }

  async initializeModel(context: BackendModelContext): Promise<BackendModel> {
    const place = { model: context.modelName, version: context.modelVersion }
    await this.#step('model', place)
    const model: Counted = { label: `model ${place.model}/${place.version}`, finalized: 0 }
    this.models.push(model)
    return {
      config: context.config,
      initializeInstance: async (instance) => {
        await this.#step('instance', place)
        if (model.finalized > 0) this.mistakes.push(`instance of ${model.label} made after the model was freed`)
        return this.#instance(instance, place, model)
      },
      finalize: async () => { this.#free(model) },
    }
  }

  #instance(context: BackendInstanceContext, place: { model: string; version: number }, model: Counted): BackendModelInstance {
    const counted: Counted = { label: `instance ${context.name} of ${model.label}`, finalized: 0 }
    this.instances.push(counted)
    return {
      execute: async (requests: readonly BackendRequest[]): Promise<ExecutionTimes> => {
        const executeStart = this.#clock.now()
        if (counted.finalized > 0) this.mistakes.push(`${counted.label} executed after it was freed`)
        this.executions++
        await this.#step('execute', place)
        for (const request of requests) request.respond(request.inputs.map((input) => ({ ...input, name: 'OUTPUT0' })))
        const executeEnd = this.#clock.now()
        return { executeStart, computeStart: executeStart, computeEnd: executeEnd, executeEnd }
      },
      finalize: async () => {
        if (model.finalized > 0) this.mistakes.push(`${counted.label} freed after its model`)
        this.#free(counted)
      },
    }
  }

  #free(counted: Counted): void {
    if (++counted.finalized > 1) this.mistakes.push(`${counted.label} freed twice`)
  }

  #step(step: ScriptedStep, place: { model: string; version: number }): Promise<void> {
    if (!this.held.has(step)) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const leave = () => { this.waiting.splice(this.waiting.indexOf(waiting), 1) }
      const waiting: WaitingStep = {
        step, ...place,
        proceed: () => { leave(); resolve() },
        fail: (message) => { leave(); reject(new Error(message)) },
      }
      this.waiting.push(waiting)
    })
  }
}

export interface ScriptedServer {
  readonly server: TritonInferenceServer
  readonly backend: ScriptedBackend
  readonly logs: LogHub
  messages(): string[]
}

/** The real server over a repository, with the scripted backend alone. Not started. Explicit mode unless said otherwise. */
export function createScriptedServer(repositories: readonly string[], clock: FakeClock, given: Partial<ServerOptions> = {}): ScriptedServer {
  const logs = new LogHub()
  const options = serverOptions({ modelRepositories: repositories, modelControlMode: 'explicit', ...given })
  const backend = new ScriptedBackend(clock)
  const server = new TritonInferenceServer({ options, registry: new BackendRegistry([backend], options, logs), clock, logs })
  return { server, backend, logs, messages: () => logs.recent(10_000).map((entry) => entry.message) }
}
