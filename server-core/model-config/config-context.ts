/** Gathers from disk what a config is judged against: versions, signatures of model files, label and warm-up files, the other models. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { ConfigContext, ConfigContextVersion, FileTensor, MachineContext } from '../contract/config-language.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { listDirectory, readModelDirectory } from '../model-repository/model-directory.ts'
import type { ModelDirectory, VersionDirectory } from '../model-repository/model-directory.ts'
import { completedBatchSize, completeFromSignature } from './auto-complete.ts'
import { firstInNameOrder, inferBackend } from './infer-backend.ts'
import { normalizeModelConfig } from './normalize.ts'
import { omFile } from './om-config.ts'
import type { OmReader } from './om-passport.ts'
import { readOnnxSignature } from './onnx-signature.ts'
import type { OnnxTensor } from './onnx-signature.ts'
import { emptyModelConfig, readModelConfig } from './read-config.ts'
import { toSignature } from './rules/file-signature.ts'

export interface ConfigContextOptions {
  /** Default: the directory that holds the model directory. */
  readonly repositoryPath?: string
  readonly machine?: MachineContext | null
  readonly backends?: readonly string[] | null
  readonly isAutoCompleteOff?: boolean
  /** Asks CANN what an .om file is. Absent: such files are not looked into. */
  readonly readOm?: OmReader
}

/** Files of the model directory beyond which nothing more is listed; a config names a handful. */
const MAX_FILES = 10_000
/** Deepest folder of label and warm-up files that is looked at. */
const MAX_DEPTH = 4

/**
 * What is known about a model and its neighbours. Whatever cannot be read is "not known": it never fails for a broken neighbour or an
 * unreadable model file.
 *
 * @param modelDirectory the folder with config.pbtxt (or where it is to be)
 * @throws when the folder itself cannot be read
 */
export async function readConfigContext(modelDirectory: string, options: ConfigContextOptions = {}): Promise<ConfigContext> {
  const path = resolve(modelDirectory)
  const modelName = basename(path)
  const repositoryPath = options.repositoryPath ?? dirname(path)
  const directory = await readModelDirectory(repositoryPath, modelName, path)
  const config = await readConfigOrEmpty(directory)
  return {
    modelName,
    versions: await Promise.all(directory.versions.map(async (version) => readVersion(version, config, options.readOm))),
    models: await readModels(repositoryPath, modelName),
    files: await readOtherFiles(directory),
    machine: options.machine ?? null,
    backends: options.backends ?? null,
    ...(options.isAutoCompleteOff === true ? { isAutoCompleteOff: true } : {}),
  }
}

/** This machine as far as it can be seen without a driver: no GPU serves here, and cards are not known. */
export function thisMachine(): MachineContext {
  return { cpuCount: availableParallelism(), gpuCount: 0, npus: null }
}

async function readVersion(version: VersionDirectory, config: ModelConfig, readOm: OmReader | undefined): Promise<ConfigContextVersion> {
  return {
    ...await readOmFile(version, config, readOm),
    version: version.version,
    files: version.entries.map((entry) => entry.name),
    ...await readSignature(version, config),
  }
}

/** Of the ONNX file that the config leads to, or the only one. */
async function readSignature(version: VersionDirectory, config: ModelConfig): Promise<Pick<ConfigContextVersion, 'signature' | 'signatureFile'>> {
  const names = version.entries.map((entry) => entry.name)
  const onnx = names.filter((name) => name.endsWith('.onnx'))
  const wanted = [config.default_model_filename, 'model.onnx'].find((name) => onnx.includes(name)) ?? (onnx.length === 1 ? onnx[0] : undefined)
  if (wanted === undefined) return { signature: null }
  const isDirectory = version.entries.some((entry) => entry.name === wanted && entry.isDirectory)
  try {
    const path = join(version.path, wanted)
    const { inputs, outputs } = await readOnnxSignature(isDirectory ? join(path, 'model.onnx') : path)
    return { signature: { inputs: inputs.map(fileTensor), outputs: outputs.map(fileTensor) }, signatureFile: wanted }
  } catch {
    return { signature: null } // a broken model file is the loader's to report, not the config's
  }
}

async function readOmFile(version: VersionDirectory, config: ModelConfig, readOm: OmReader | undefined): Promise<Pick<ConfigContextVersion, 'om'>> {
  const names = version.entries.map((entry) => entry.name).filter((name) => name.endsWith('.om'))
  const wanted = [config.default_model_filename, 'model.om'].find((name) => names.includes(name)) ?? (names.length === 1 ? names[0] : undefined)
  if (wanted === undefined || readOm === undefined) return {}
  try {
    return { om: omFile(await readOm(join(version.path, wanted))) }
  } catch {
    return {} // no CANN, or a broken file: the loader's to report, not the config's
  }
}

function fileTensor(tensor: OnnxTensor): FileTensor {
  return {
    name: tensor.name, datatype: tensor.datatype, elementType: tensor.elementType, shape: tensor.dims,
    ...(tensor.hasShape ? {} : { hasUnknownRank: true }),
  }
}

async function readConfigOrEmpty(directory: ModelDirectory): Promise<ModelConfig> {
  if (directory.configPath === null) return emptyModelConfig()
  try {
    return readModelConfig(await readFile(directory.configPath, 'utf8'), directory.configPath)
  } catch {
    return emptyModelConfig() // the editor says what is wrong with it
  }
}

/** Every other model, its config completed as far as that is possible offline. One whose config cannot be read is there with an empty one. */
async function readModels(repositoryPath: string, ownName: string): Promise<Record<string, { config: ModelConfig; versions: number[] }>> {
  const models: [string, { config: ModelConfig; versions: number[] }][] = []
  for (const entry of await listDirectory(repositoryPath).catch(() => [])) {
    if (!entry.isDirectory || entry.name === ownName || entry.name.startsWith('.')) continue
    const directory = await readModelDirectory(repositoryPath, entry.name, join(repositoryPath, entry.name)).catch(() => null)
    if (directory === null || (directory.configPath === null && directory.versions.length === 0)) continue
    const versions = directory.versions.map(({ version }) => version)
    models.push([entry.name, { config: await completedConfig(directory), versions }])
  }
  return Object.fromEntries(models)
}

async function completedConfig(directory: ModelDirectory): Promise<ModelConfig> {
  const config = { ...await readConfigOrEmpty(directory), name: directory.name }
  try {
    const inferred = inferBackend(config, directory.name, firstInNameOrder(directory.versions)?.entries ?? [])
    return normalizeModelConfig(await completed(inferred, directory))
  } catch {
    return config
  }
}

async function completed(config: ModelConfig, directory: ModelDirectory): Promise<ModelConfig> {
  const isComplete = config.input.length > 0 && config.output.length > 0
  const version = directory.versions.at(-1)
  const defaultMaxBatchSize = completedBatchSize(config)
  if (isComplete || version === undefined || defaultMaxBatchSize === null) return config
  const { signature } = await readSignature(version, config)
  return signature === null ? config : completeFromSignature(config, toSignature(signature), { defaultMaxBatchSize })
}

/** Files outside the versions: labels, warm-up and initial-state data, and config.pbtxt, so that "nothing beside it" is not "not known". */
async function readOtherFiles(directory: ModelDirectory): Promise<Record<string, number>> {
  const files: [string, number][] = []
  const versions = new Set(directory.versions.map(({ path }) => path))
  const visit = async (path: string, prefix: string, depth: number): Promise<void> => {
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (files.length >= MAX_FILES) return
      const entryPath = join(path, entry.name)
      const info = await stat(entryPath).catch(() => null)
      if (info === null || versions.has(entryPath)) continue
      if (info.isDirectory()) {
        if (depth < MAX_DEPTH) await visit(entryPath, `${prefix}${entry.name}/`, depth + 1)
      } else files.push([`${prefix}${entry.name}`, info.size])
    }
  }
  await visit(directory.path, '', 0)
  return Object.fromEntries(files)
}
