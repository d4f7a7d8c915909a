import type { ServerOptions } from '../options.ts'
import type { LogHub } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import type { Backend } from './backend.ts'
import { identityBackend } from './identity/identity-backend.ts'
import { createOnnxRuntimeBackend } from './onnxruntime/onnxruntime-backend.ts'
import { createRepeatBackend } from './repeat/repeat-backend.ts'

/** The backends of this server by name. Each is initialised when the first model needs it and shared by all models. */
export class BackendRegistry {
  readonly #backends: ReadonlyMap<string, Backend>
  readonly #initialised = new Map<string, Promise<void>>()
  readonly #options: Pick<ServerOptions, 'backendConfig'>
  readonly #logs: LogHub

  constructor(backends: readonly Backend[], options: Pick<ServerOptions, 'backendConfig'>, logs: LogHub) {
    this.#backends = new Map(backends.map((backend) => [backend.name, backend]))
    this.#options = options
    this.#logs = logs
  }

  get names(): readonly string[] { return [...this.#backends.keys()] }

  /** Settings of `--backend-config` for one backend: the global ones, overruled by its own. */
  configOf(name: string): Readonly<Record<string, string>> {
    return { ...this.#options.backendConfig[''], ...this.#options.backendConfig[name] }
  }

  /** The backend, initialised. @throws ServerError INVALID_ARG when there is none of this name */
  async find(name: string): Promise<Backend> {
    const backend = this.#backends.get(name)
    if (backend === undefined) {
      throw new ServerError('INVALID_ARG', `unable to find backend library for backend '${name}', try specifying runtime on the model configuration.`)
    }
    let initialised = this.#initialised.get(name)
    if (initialised === undefined) {
      initialised = backend.initialize?.({ backendConfig: this.configOf(name), log: this.#logs.logger(`backend-${name}`) }) ?? Promise.resolve()
      this.#initialised.set(name, initialised)
      initialised.catch(() => { this.#initialised.delete(name) })
    }
    await initialised
    return backend
  }

  async finalize(): Promise<void> {
    for (const name of this.#initialised.keys()) await this.#backends.get(name)?.finalize?.()
    this.#initialised.clear()
  }
}

/** The backends that come with the server. */
export function builtInBackends(logs: LogHub): readonly Backend[] {
  return [identityBackend, createRepeatBackend(), createOnnxRuntimeBackend({ isVerbose: () => logs.verboseLevel > 0 })]
}
