import type { ModelConfig } from '../contract/model-config.ts'
import type { RepositoryCode } from '../contract/repository-trust.ts'
import type { InferenceServer } from '../inference-server.ts'
import { DEFAULT_SERVER_OPTIONS, type ServerOptions } from '../options.ts'
import type { LogHub } from '../logger.ts'
import { BATCH_STRATEGY_PATH, type Backend } from './backend.ts'
import { chooseImplementation } from './choose-implementation.ts'
import { identityBackend } from './identity/identity-backend.ts'
import { findLibrary, findPythonBased, hasBatchingLibrary, installedBackends, type ModelPlace } from './native/library-search.ts'
import { NativeBackends } from './native/native-backends.ts'
import { createOnnxRuntimeBackend } from './onnxruntime/onnxruntime-backend.ts'
import { createPythonBackend } from './python/python-backend.ts'
import { createRepeatBackend } from './repeat/repeat-backend.ts'

export type BackendRegistryOptions = Pick<ServerOptions, 'backendConfig' | 'backendDirectory' | 'disableAutoCompleteConfig' | 'exitTimeoutSeconds'>

/**
 * The backends of this server by name: those written for it, and libraries made for Triton. Each is initialised when the first model needs it and shared
 * by all models.
 */
export class BackendRegistry {
  readonly native: NativeBackends
  readonly #backends: ReadonlyMap<string, Backend>
  /** By the folder of their code. */
  readonly #basedOnPython = new Map<string, Backend>()
  readonly #initialised = new Map<Backend, Promise<void>>()
  readonly #options: BackendRegistryOptions
  readonly #logs: LogHub

  constructor(backends: readonly Backend[], options: BackendRegistryOptions, logs: LogHub) {
    this.#backends = new Map(backends.map((backend) => [backend.name, backend]))
    this.#options = options
    this.#logs = logs
    this.native = new NativeBackends(options, logs)
  }

  /** Those that models may ask for; a library in a model's own folder serves that model without being among them. */
  get names(): readonly string[] { return [...new Set([...this.#backends.keys(), ...installedBackends(this.#options.backendDirectory)])] }

  /** Whom backends ask that have questions of their own. */
  attach(server: InferenceServer): void {
    this.native.attach(server)
    for (const backend of this.#backends.values()) backend.attach?.(server)
  }

  /** What models and libraries count themselves, in Prometheus' text format. */
  metricsText(): string { return [...this.#backends.values()].map((backend) => backend.metricsText?.() ?? '').join('') + this.native.metricsText() }

  /** Settings of `--backend-config` for one backend: the global ones, those of `python` for one that is written in it, overruled by its own. */
  configOf(name: string): Readonly<Record<string, string>> {
    const { backendConfig, backendDirectory } = this.#options
    const isPythonBased = !this.#backends.has(name) && findPythonBased(name, backendDirectory) !== null
    return { ...backendConfig[''], ...(isPythonBased ? backendConfig['python'] : {}), ...backendConfig[name] }
  }

  /**
   * What of a model's own folder, or at the word of its config, would run as code; null: nothing does, the files are data. A backend written in Python counts: what its models hold is read by
   * Python, in the way of pickles and `trust_remote_code`.
   */
  codeOf(config: ModelConfig, place: Pick<ModelPlace, 'modelDirectory' | 'versionDirectory'>): RepositoryCode | null {
    const { backend: name, runtime, parameters } = config
    if (config.ensemble_scheduling !== undefined) return null
    const { backendDirectory } = this.#options
    if (findLibrary(name, { ...place, runtime }, backendDirectory) === 'model') return 'library'
    if (name === 'python' || findPythonBased(name, backendDirectory) !== null) return 'python'
    const isBatched = config.dynamic_batching !== undefined
    return isBatched && ((parameters[BATCH_STRATEGY_PATH]?.string_value ?? '') !== '' || hasBatchingLibrary(place)) ? 'library' : null
  }

  /**
   * The backend for a model, initialised. One that has neither an implementation here nor a library fails when the model is initialized, and says where
   * was looked.
   * @param place null: any model's
   */
  async find(name: string, place: ModelPlace | null = null): Promise<Backend> {
    const builtIn = this.#backends.get(name)
    const implementation = chooseImplementation({
      name, isBuiltIn: builtIn !== undefined, library: findLibrary(name, place, this.#options.backendDirectory), backendConfig: this.configOf(name),
    })
    const backend = implementation === 'builtIn' && builtIn !== undefined ? builtIn : this.#pythonBased(name, place) ?? this.native.backend(name)
    let initialised = this.#initialised.get(backend)
    if (initialised === undefined) {
      const library = findLibrary(name, null, this.#options.backendDirectory) === null ? {} : { library: this.native.backend(name) }
      initialised = backend.initialize?.({ backendConfig: this.configOf(name), log: this.#logs.logger(`backend-${name}`), ...library }) ?? Promise.resolve()
      this.#initialised.set(backend, initialised)
      initialised.catch(() => { this.#initialised.delete(backend) })
    }
    await initialised
    return backend
  }

  /** A backend that is a `model.py` in a backend directory, where no library of the name is found; null: there is none. */
  #pythonBased(name: string, place: ModelPlace | null): Backend | null {
    const { backendDirectory } = this.#options
    // A config of such a model may name Triton's library for it.
    const runtime = place?.runtime === 'libtriton_python.so' ? '' : place?.runtime ?? ''
    if (runtime !== '' || findLibrary(name, place === null ? null : { ...place, runtime }, backendDirectory) !== null) return null
    const directory = findPythonBased(name, backendDirectory)
    if (directory === null) return null
    const known = this.#basedOnPython.get(directory)
    if (known !== undefined) return known
    const backend = this.#backends.get('python')?.basedOn?.(name, directory) ?? null
    if (backend !== null) this.#basedOnPython.set(directory, backend)
    return backend
  }

  async finalize(): Promise<void> {
    for (const backend of this.#initialised.keys()) await backend.finalize?.()
    this.#initialised.clear()
    await this.native.close()
  }
}

/** Names of the backends that a server of this installation has, without starting any. */
export function backendNames(logs: LogHub): readonly string[] {
  return new BackendRegistry(builtInBackends(logs), DEFAULT_SERVER_OPTIONS, logs).names
}

/** The backends that are written for this server. */
export function builtInBackends(logs: LogHub): readonly Backend[] {
  return [identityBackend, createRepeatBackend(), createOnnxRuntimeBackend({ isVerbose: () => logs.settings.verboseLevel > 0 }), createPythonBackend()]
}
