/** What a config.pbtxt becomes when it is loaded, told without loading it. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { completedBatchSize, completeFromOnnx } from '../model-config/auto-complete.ts'
import { firstInNameOrder, inferBackend } from '../model-config/infer-backend.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from '../model-config/normalize.ts'
import { readOnnxSignature } from '../model-config/onnx-signature.ts'
import { printModelConfig } from '../model-config/print-config.ts'
import { emptyModelConfig, readModelConfig } from '../model-config/read-config.ts'
import { ServerError } from '../server-error.ts'
import { isInside } from './contained-path.ts'
import { readModelDirectory } from './model-directory.ts'

/**
 * The steps of a load up to the backend: name, backend, completion from the ONNX file, normalisation. The checks of a load are the
 * diagnostics' business.
 * @param text null: there is no config.pbtxt
 */
export async function previewNormalisedConfig({ text, path, modelName, modelDirectory, repositoryPath }: {
  readonly text: string | null
  /** Named in errors only. */
  readonly path: string
  readonly modelName: string
  readonly modelDirectory: string
  readonly repositoryPath: string
}): Promise<{ readonly normalised: string; readonly normaliseError: null } | { readonly normalised: null; readonly normaliseError: string }> {
  try {
    const { versions } = await readModelDirectory(repositoryPath, modelName, modelDirectory)
    const read = text === null ? emptyModelConfig() : readModelConfig(text, path)
    let config = normalizeModelConfig(inferBackend(read, modelName, firstInNameOrder(versions)?.entries ?? []))
    const newest = versions.at(-1)
    const defaultMaxBatchSize = completedBatchSize(config)
    if (defaultMaxBatchSize !== null && newest !== undefined) {
      const file = join(newest.path, config.default_model_filename === '' ? 'model.onnx' : config.default_model_filename)
      const isFile = isInside(newest.path, file) && await stat(file).then((information) => information.isFile(), () => false)
      if (isFile) config = normalizeModelConfig(completeFromOnnx(config, await readOnnxSignature(file), { defaultMaxBatchSize }))
    }
    return { normalised: printModelConfig(normalizeInstanceGroups(config, { gpuCount: 0 })), normaliseError: null }
  } catch (error) {
    if (!(error instanceof ServerError)) throw error
    return { normalised: null, normaliseError: error.cause instanceof Error ? error.cause.message : error.message }
  }
}
