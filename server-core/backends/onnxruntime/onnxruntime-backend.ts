import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { isAbsolute, join, relative } from 'node:path'
import type { Backend, BackendModel, BackendModelContext } from '../backend.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { completeFromOnnx } from '../../model-config/auto-complete.ts'
import { refuseFirst } from '../../model-config/config-problem.ts'
import { readOnnxSignature } from '../../model-config/onnx-signature.ts'
import { ServerError } from '../../server-error.ts'
import { chooseOnnxRuntime, findNativeParts, type ImplementationChoice, type NativeParts } from './onnxruntime-implementation.ts'
import { OnnxRuntimeInstance } from './onnxruntime-instance.ts'
import { bfloat16Problems } from './session-parameters.ts'
import { boundSettings, readSessionSettings } from './session-settings.ts'

export interface OnnxRuntimeBackendOptions {
  /** Verbose server logs let ONNX Runtime's warnings through to standard error. */
  readonly isVerbose: () => boolean
  /** What of the native implementation there is. Default: what lies beside the server. */
  readonly nativeParts?: () => NativeParts
}

const DEFAULT_MAX_BATCH_SIZE = 4

/**
 * ONNX models on the CPU: one session and one thread per model instance, a worker thread with onnxruntime-node or one of `libtriton_onnxruntime.so`. What the
 * config and the model file say about each other is worked out here for both.
 */
export function createOnnxRuntimeBackend(options: OnnxRuntimeBackendOptions): Backend {
  const findParts = options.nativeParts ?? findNativeParts
  let library: Backend | null = null
  let choice: ImplementationChoice = { implementation: 'worker', fallbackReason: null }
  let onnxRuntimeLibrary = ''
  return {
    name: 'onnxruntime',
    createsInstancesInParallel: true,
    async initialize(context) {
      turnTelemetryOff()
      library = context.library ?? null
      const parts: NativeParts = library === null ? { ok: false, reason: 'this server has no host for backend libraries' } : findParts()
      if (parts.ok) onnxRuntimeLibrary = parts.onnxRuntimeLibrary
      choice = chooseOnnxRuntime(context.backendConfig['implementation'], parts)
      if (choice.fallbackReason !== null) context.log.warning('models run on worker threads, which costs more processor time', { reason: choice.fallbackReason })
    },
    async initializeModel(context) {
      const modelPath = await findModelFile(context)
      const config = await completeConfig(context, modelPath)
      refuseFirst(bfloat16Problems(config))
      const settings = readSessionSettings(config, context.backendConfig)
      if (choice.implementation === 'native' && library !== null) {
        return library.initializeModel({ ...context, config, takesOwnLibrary: true, backendConfig: { ...context.backendConfig, 'library-path': onnxRuntimeLibrary } })
      }
      const model: BackendModel = {
        config,
        followsHostPolicy: true,
        copiesInputs: true,
        initializeInstance: ({ name, hostPolicy }) => OnnxRuntimeInstance.create(name, config, {
          modelPath, settings: boundSettings(settings, hostPolicy), logLevel: options.isVerbose() ? 'warning' : 'fatal', hostPolicy: hostPolicy ?? null,
        }),
        async finalize() {},
      }
      return model
    },
  }
}

/**
 * Recent ONNX Runtime builds report usage over the network unless told not to; the library reads the variable when it is loaded, so
 * this comes before the first worker thread.
 */
export function turnTelemetryOff(): void {
  process.env['ORT_DISABLE_TELEMETRY'] = '1'
}

/** Version of the ONNX Runtime package, without loading the library; null where it is not installed. */
export function onnxRuntimeVersion(): string | null {
  try {
    const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string }
    return version
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}

/** The model file: a file, or a directory that holds `model.onnx` and its external data. */
async function findModelFile(context: BackendModelContext): Promise<string> {
  const { config, modelName, versionDirectory } = context
  const fileName = config.default_model_filename === '' ? 'model.onnx' : config.default_model_filename
  const path = join(versionDirectory, fileName)
  const inside = relative(versionDirectory, path)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    throw new ServerError('INVALID_ARG', `default_model_filename '${fileName}' of model '${modelName}' leads outside the version directory`)
  }
  const info = await stat(path).catch((error: unknown) => {
    throw new ServerError('UNAVAILABLE', `unable to find '${path}' for model '${modelName}'`, { cause: error })
  })
  return info.isDirectory() ? join(path, 'model.onnx') : path
}

async function completeConfig(context: BackendModelContext, modelPath: string): Promise<ModelConfig> {
  const { config, modelName } = context
  if (!context.autoComplete && (config.input.length === 0 || config.output.length === 0)) {
    throw new ServerError('INVALID_ARG', `model '${modelName}' must list its inputs and outputs in config.pbtxt because the server runs with --disable-auto-complete-config`)
  }
  const text = context.backendConfig['default-max-batch-size']
  const defaultMaxBatchSize = text === undefined ? DEFAULT_MAX_BATCH_SIZE : Number(text)
  if (!Number.isInteger(defaultMaxBatchSize) || defaultMaxBatchSize < 0) {
    throw new ServerError('INVALID_ARG', `--backend-config=onnxruntime,default-max-batch-size must be a whole number >= 0, got '${text ?? ''}'`)
  }
  return completeFromOnnx(config, await readOnnxSignature(modelPath), { defaultMaxBatchSize })
}
