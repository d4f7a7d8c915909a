import { resolve } from 'node:path'
import type { InferenceServer } from '../../inference-server.ts'
import type { LogHub } from '../../logger.ts'
import type { ServerOptions } from '../../options.ts'
import { ServerError } from '../../server-error.ts'
import type { Backend, BackendModelContext } from '../backend.ts'
import { nativeAddon, type NativeAddonResult } from '../native-addon.ts'
import type { HostCopies } from './host-events.ts'
import { DEFAULT_BACKEND_DIRECTORY } from './library-search.ts'
import { NativeHost } from './native-host.ts'
import { NativeModel } from './native-model.ts'
import { InferenceServerQuestions } from './server-questions.ts'

export type NativeBackendOptions = Pick<ServerOptions, 'backendDirectory' | 'backendConfig' | 'disableAutoCompleteConfig' | 'exitTimeoutSeconds'>

/**
 * The backends that are libraries (`libtriton_<name>.so`), all of one server: any that Triton's server could load, loaded with the first model that needs
 * it. They share one host, which is made with the first as well.
 */
export class NativeBackends {
  readonly #options: NativeBackendOptions
  readonly #logs: LogHub
  readonly #addon: () => NativeAddonResult
  readonly #backends = new Map<string, Backend>()
  #host: NativeHost | null = null
  #server: InferenceServer | null = null

  constructor(options: NativeBackendOptions, logs: LogHub, addon: () => NativeAddonResult = nativeAddon) {
    this.#options = options
    this.#logs = logs
    this.#addon = addon
  }

  /** Whom backends ask, and send requests to. Before the first model loads. */
  attach(server: InferenceServer): void { this.#server = server }

  /** The backend of a name, whether or not there is a library for it: a load finds out, and says where it looked. */
  backend(name: string): Backend {
    const known = this.#backends.get(name)
    if (known !== undefined) return known
    const backend: Backend = {
      name,
      initializeModel: async (context) => NativeModel.initialize(this.#openHost(name), name, context, backendConfigJson(this.#options, context)),
    }
    this.#backends.set(name, backend)
    return backend
  }

  /** What backends count themselves, in Prometheus' text format; of all servers of this process. */
  metricsText(): string {
    if (this.#host === null) return ''
    const result = this.#addon()
    return result.ok ? result.addon.tritonMetricsText() : ''
  }

  copies(): HostCopies { return this.#host?.host.copies() ?? { tensors: 0, bytes: 0, lentTensors: 0, lentBytes: 0 } }

  /** After the last model: finalizes the backends and closes their libraries. @throws ServerError UNAVAILABLE that names the models a backend does not let go of */
  async close(): Promise<void> {
    const host = this.#host
    this.#host = null
    await host?.close(this.#options.exitTimeoutSeconds * 1000)
  }

  /** @throws ServerError INVALID_ARG where there is no addon */
  #openHost(backend: string): NativeHost {
    if (this.#host !== null) return this.#host
    const result = this.#addon()
    if (!result.ok) {
      throw new ServerError('INVALID_ARG', `unable to find backend library for backend '${backend}', try specifying runtime on the model configuration. `
        + `This server cannot open backend libraries: ${result.reason}`)
    }
    const { backendDirectory } = this.#options
    this.#host = new NativeHost({
      TritonHost: result.addon.TritonHost,
      backendDirectories: backendDirectory === '' ? [DEFAULT_BACKEND_DIRECTORY] : [resolve(backendDirectory), DEFAULT_BACKEND_DIRECTORY],
      logs: this.#logs,
      questions: new InferenceServerQuestions(() => {
        if (this.#server === null) throw new ServerError('UNAVAILABLE', 'the server is starting')
        return this.#server
      }),
    })
    return this.#host
  }
}

/** What Triton tells every backend, then the settings of the command line: those for all, overruled by the backend's own. */
function backendConfigJson(options: NativeBackendOptions, { backendConfig }: BackendModelContext): string {
  return JSON.stringify({
    cmdline: {
      'auto-complete-config': String(!options.disableAutoCompleteConfig),
      'backend-directory': options.backendDirectory === '' ? DEFAULT_BACKEND_DIRECTORY : resolve(options.backendDirectory),
      'min-compute-capability': '6.000000',
      'default-max-batch-size': '4',
      ...backendConfig,
    },
  })
}
