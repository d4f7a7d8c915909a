import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { modelConfigToJson, printModelConfigJson, readModelConfigJson } from '../../model-config/json-config.ts'
import { ServerError } from '../../server-error.ts'
import type { Backend, BackendInstanceContext, BackendModelContext } from '../backend.ts'
import { CallWatch } from './call-watch.ts'
import { CardAssignment } from './card-assignment.ts'
import { EnvironmentCache } from './environments/environment-cache.ts'
import { isExecutable } from './environments/environment-folder.ts'
import { findPythonEnvironment, type PythonEnvironment } from './python-environment.ts'
import { PythonInstance } from './python-instance.ts'
import { PythonMetrics } from './python-metrics.ts'
import { readCallLimits, readPythonSettings, refuseWrongParameters, settingsWithoutEffect } from './python-settings.ts'
import { notHealthy, StubConnection } from './stub-connection.ts'

const KIND_NAMES = { KIND_CPU: 'CPU', KIND_GPU: 'GPU', KIND_MODEL: 'MODEL' } as const

/**
 * Models written in Python (`model.py` with a class `TritonPythonModel`), as for Triton's backend of the same name: a process per instance
 * (docs/adr/0008), and the module `triton_python_backend_utils` in it.
 */
export function createPythonBackend(): Backend {
  const metrics = new PythonMetrics()
  let attached: InferenceServer | null = null
  const server = (): InferenceServer => {
    if (attached === null) throw new ServerError('UNAVAILABLE', 'the server is starting')
    return attached
  }
  const backend = (name: string, codeDirectory: string | null): Backend => {
    const said = new Set<string>()
    return {
      name,
      createsInstancesInParallel: true,
      attach(given) { attached = given },
      initialize: async ({ backendConfig, log }) => { for (const line of settingsWithoutEffect(backendConfig)) log.info(line) },
      async initializeModel(context) {
        const settings = readPythonSettings(context.backendConfig)
        refuseWrongParameters(context.config)
        const limits = readCallLimits(context.config, settings)
        const cards = CardAssignment.read(context.config, process.env)
        const code = await findModelCode(context, codeDirectory)
        await sayOnce(said, context)
        const cache = new EnvironmentCache({ directory: settings.environmentCacheDirectory, byteSizeLimit: settings.environmentByteSizeLimit, log: context.log })
        const environment = await findPythonEnvironment({ config: context.config, modelDirectory: context.modelDirectory, codeDirectory, settings, cache })
        try {
          const place = { version_directory: context.versionDirectory, ...code }
          const completed = context.autoComplete ? await complete(context, { ...place, environment }) : context.config
          // As Triton has it for models of such backends, and no others.
          const config = codeDirectory === null ? completed : { ...completed, runtime: PYTHON_RUNTIME }
          const instances = new Set<PythonInstance>()
          return {
            config,
            answersLater: true,
            copiesInputs: true,
            asksReadiness: true,
            // What its processes hold, so that one that leaks is seen. They end with their instances.
            get memoryUsage() {
              for (const instance of instances) if (instance.residentBytes === 0) instances.delete(instance)
              const byteSize = [...instances].reduce((sum, { residentBytes }) => sum + residentBytes, 0)
              return byteSize === 0 ? [] : [{ type: 'CPU', id: 0, byte_size: byteSize }]
            },
            async initializeInstance(instance) {
              const created = await PythonInstance.create({
                config, settings, limits, environment, server, metrics, log: context.log,
                logFields: { model: context.modelName, version: String(context.modelVersion), instance: instance.name },
                ...(instance.unwanted === undefined ? {} : { unwanted: instance.unwanted }),
                start: {
                  op: 'initialize', name: instance.name, ...place, config: {},
                  is_decoupled: config.model_transaction_policy?.decoupled === true, args: argumentsOf(context, config, instance, cards),
                },
              })
              instances.add(created)
              return created
            },
            finalize: () => environment.release(),
          }
        } catch (error) {
          await environment.release()
          throw error
        }
      },
    }
  }
  return { ...backend('python', null), metricsText: () => metrics.text(), basedOn: backend }
}

/** The library that Triton serves Python models with: what a config may name as `runtime`. */
const PYTHON_RUNTIME = 'libtriton_python.so'

/** A stub of the model's own: an executable that Triton starts in the place of its own, which is compiled for one Python. */
const OWN_STUB = 'triton_python_backend_stub'

/** What is in a model and has no effect here, once a model. */
async function sayOnce(said: Set<string>, { modelName, modelDirectory, log }: BackendModelContext): Promise<void> {
  const path = join(modelDirectory, OWN_STUB)
  if (said.has(path) || !await isExecutable(path)) return
  said.add(path)
  log.info(`the model's own ${OWN_STUB} has no effect: no stub of this server is compiled for one Python. PYTHON_INTERPRETER or EXECUTION_ENV_PATH chooses the Python`, { model: modelName, path })
}

/** Where the model's class is: in its version folder, or in that of the backend which it is based on. */
interface ModelCode {
  /** The folder whose name is the package. */
  readonly code_directory: string
  readonly filename: string
}

/** @throws ServerError INVALID_ARG, NOT_FOUND */
async function findModelCode(context: BackendModelContext, codeDirectory: string | null): Promise<ModelCode> {
  return codeDirectory === null ? { code_directory: context.versionDirectory, filename: await requireModelFile(context) } : { code_directory: codeDirectory, filename: 'model.py' }
}

/**
 * What `initialize` of the model gets: Triton's names, and strings all of them. An instance with a card is of the kind "GPU", Triton's word for what is not the processor: models
 * compare with that, and take the device from the number beside it.
 */
function argumentsOf(context: BackendModelContext, config: ModelConfig, { name, kind, deviceId }: BackendInstanceContext, cards: CardAssignment | null): Record<string, string> {
  return {
    model_config: printModelConfigJson(config),
    model_instance_kind: cards === null ? KIND_NAMES[kind] : 'GPU',
    model_instance_name: name,
    model_instance_device_id: String(cards?.cardOf(name) ?? deviceId),
    model_repository: context.modelDirectory,
    model_version: String(context.modelVersion),
    model_name: context.modelName,
  }
}

/** @returns the name of the model's file. @throws ServerError INVALID_ARG, NOT_FOUND */
async function requireModelFile({ config, modelName, versionDirectory }: BackendModelContext): Promise<string> {
  const filename = config.default_model_filename === '' ? 'model.py' : config.default_model_filename
  if (!/^[^/]+\.py$/.test(filename)) {
    throw new ServerError('INVALID_ARG', `default_model_filename '${filename}' of model '${modelName}' must be the name of a file in the version directory that ends in .py`)
  }
  const path = join(versionDirectory, filename)
  const info = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new ServerError('NOT_FOUND', `Python model '${modelName}' has no file '${path}' (${cause.code ?? cause.message}). Put it there, or name another one in default_model_filename`, { cause })
  })
  if (!info.isFile()) throw new ServerError('INVALID_ARG', `'${path}' of Python model '${modelName}' is not a file`)
  return filename
}

/**
 * Asks `auto_complete_config` of the model, in a process that lives no longer.
 * @throws ServerError INTERNAL with Python's text
 */
async function complete(context: BackendModelContext, place: ModelCode & { readonly version_directory: string; readonly environment: PythonEnvironment }): Promise<ModelConfig> {
  const { config, modelName, log, outdated } = context
  const { environment, ...directories } = place
  const settings = readPythonSettings(context.backendConfig)
  const logFields = { model: modelName, version: String(context.modelVersion) }
  const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, unknown>> | null>()
  // It may be told before anybody waits.
  promise.catch(() => {})
  const connection = new StubConnection({
    settings, environment, log, logFields,
    start: { op: 'auto_complete', name: modelName, ...directories, is_decoupled: false, args: {}, config: modelConfigToJson(config) },
    onMessage: (message) => {
      if (message.op === 'completed') resolve(message.config)
      else if (message.op === 'failed') reject(new ServerError('INTERNAL', message.error))
      else if (message.op === 'stack') watch.tell(message.stack)
      else if ('call' in message) connection.send({ op: 'answer', call: message.call, error: 'auto_complete_config cannot ask the server anything' })
    },
    onExit: (end) => { reject(new ServerError('INTERNAL', notHealthy(modelName, end))) },
  })
  const watch = new CallWatch({
    log, logFields, slowSeconds: settings.slowCallSeconds,
    askStack: () => { connection.send({ op: 'stack' }) },
    onLimit: (call, seconds) => { connection.endHanging(`${call} did not return within ${seconds} seconds`) },
  })
  const abandon = () => { connection.kill('its load was given up') }
  outdated?.addEventListener('abort', abandon, { once: true })
  try {
    outdated?.throwIfAborted()
    await connection.start()
    watch.begin('auto_complete_config', readCallLimits(config, settings).initializeSeconds)
    watch.start()
    const completed = await promise
    return completed === null ? config : withCompletion(config, readModelConfigJson(JSON.stringify(completed)))
  } finally {
    outdated?.removeEventListener('abort', abandon)
    watch.stop()
    await connection.closeWithin(1000)
  }
}

/** What a model may say about its config; all else stays as it was written. */
function withCompletion(config: ModelConfig, completed: ModelConfig): ModelConfig {
  const { max_batch_size, input, output, dynamic_batching: batching, model_transaction_policy: policy } = completed
  return {
    ...config, max_batch_size, input, output,
    ...(config.dynamic_batching !== undefined || batching === undefined ? {} : { dynamic_batching: batching }),
    ...(policy === undefined ? {} : { model_transaction_policy: policy }),
  }
}
