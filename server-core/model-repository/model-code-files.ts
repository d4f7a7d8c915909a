/** The model.py files of a model on disk: where they are, and what each is judged against. */
import { join, resolve } from 'node:path'
import type { CodeContext } from '../contract/model-code.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError } from '../server-error.ts'
import { CONFIG_FILE_NAME, readConfigFile } from './config-file.ts'
import { isInside, resolveInside } from './contained-path.ts'
import { listDirectory } from './model-directory.ts'

export const CODE_FILE_NAME = 'model.py'

export interface ModelCodeFile {
  readonly version: number
  /** Relative to the model's directory, with `/`. */
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly context: CodeContext
}

/**
 * Ascending by version; empty for a model that has none. The config's `default_model_filename` names the file where it ends in `.py`.
 * @throws ServerError INVALID_ARG for a name that leads out of the version's directory
 */
export async function findModelCode(modelDirectory: string): Promise<readonly ModelCodeFile[]> {
  const config = await readableConfig(modelDirectory)
  const given = config?.default_model_filename ?? ''
  const fileName = given.endsWith('.py') ? given : CODE_FILE_NAME
  const entries = await listDirectory(modelDirectory)
  const modelFiles = entries.map(({ name }) => name)
  const isDecoupled = config === null ? null : config.model_transaction_policy?.decoupled === true
  const files: ModelCodeFile[] = []
  for (const entry of entries) {
    if (!entry.isDirectory || !/^\d{1,15}$/.test(entry.name)) continue
    const directory = join(modelDirectory, entry.name)
    const path = resolve(directory, fileName)
    if (!isInside(directory, path) || path === directory) throw new ServerError('INVALID_ARG', `default_model_filename '${fileName}' leads out of the version's directory: name a file in it`)
    const found = await resolveInside(modelDirectory, `${entry.name}/${fileName}`)
    // A link out of the model's directory is followed by the server's own load, and edited where it belongs.
    if (found.kind === 'missing') continue
    files.push({ version: Number(entry.name), name: `${entry.name}/${fileName}`, path, context: { versionFiles: (await listDirectory(directory)).map(({ name }) => name), modelFiles, isDecoupled } })
  }
  return files.sort((a, b) => a.version - b.version)
}

/** null: there is none, or it has errors, which are the config editor's to tell. */
async function readableConfig(modelDirectory: string): Promise<ModelConfig | null> {
  const path = join(modelDirectory, CONFIG_FILE_NAME)
  try {
    const { text } = await readConfigFile(path)
    return text === null ? null : readModelConfig(text, path)
  } catch (error) {
    if (error instanceof ServerError) return null
    throw error
  }
}
