/**
 * A model file becomes a model of the repository, or a further version of one: reviewed first (nothing written), then created all at once.
 * What is to be imported is understood in `import-plan.ts`; files are brought over by `file-transfer.ts`.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ModelImportReview } from '../contract/console-api.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { applyEdits, removeField } from '../model-config/config-edit.ts'
import { generateOnnxConfig } from '../model-config/generate-config.ts'
import { GENERATOR_BACKENDS, generatePythonConfig } from '../model-config/generate-from-file.ts'
import { generateOmConfig } from '../model-config/om-config.ts'
import { omReader } from '../model-config/om-passport.ts'
import type { OmReader } from '../model-config/om-passport.ts'
import { inferBackend } from '../model-config/infer-backend.ts'
import type { OnnxTensor } from '../model-config/onnx-signature.ts'
import { parsePbtxt } from '../model-config/pbtxt-parser.ts'
import { PythonModelError, readPythonSignature } from '../model-config/python-signature.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { readConfigText } from './config-file.ts'
import { throwIfCancelled, transferError, transferFile, TRANSFER_SYSTEM } from './file-transfer.ts'
import type { TransferMethod, TransferMode, TransferSystem } from './file-transfer.ts'
import { checkModelName, cleanModelName, freeModelName, shorten } from './import-names.ts'
import { MODEL_FILE_NAMES } from './import-plan.ts'
import type { ImportPlan, ModelFileKind } from './import-plan.ts'
import { readModelDirectory } from './model-directory.ts'

/** Start of the name of a folder in which an imported model is being built; no model, whoever scans. */
export const IMPORT_PREFIX = '.npu-console-import-'

/** Backends that take a kind of file, the usual one first. */
const BACKENDS: Readonly<Record<ModelFileKind, readonly [string, ...string[]]>> = { onnx: ['onnxruntime', 'npu_ge'], om: ['npu_om'], python: ['python'] }

interface ConfigProposal {
  readonly backend: string
  readonly text: string
  readonly signature: ModelImportReview['signature']
  readonly reason: string | null
  readonly isGenerated: boolean
}

/** What stands in a repository, as far as an import has to know. */
export interface ImportDestination {
  /** null: none is open yet. */
  readonly repositoryPath: string | null
  /** Names that are taken. */
  readonly existingNames: readonly string[]
  /** Backends that this server has. */
  readonly backends: readonly string[]
  /** Default: asks the CANN that this process's environment leads to. */
  readonly readOm?: OmReader
  /** False: a model.py is only looked at, since its code would run before anybody trusted it. Default: true. */
  readonly runsCode?: boolean
}

/**
 * @param backend null: the usual one of the file's kind
 * @throws ServerError INVALID_ARG for a backend that does not take such files, or a config or model that cannot be read
 */
export async function reviewModelImport(plan: ImportPlan, destination: ImportDestination, backend: string | null = null): Promise<ModelImportReview> {
  const config = await proposeConfig(plan, backend, destination)
  const written = readModelConfig(config.text, 'config.pbtxt')
  const baseName = cleanModelName(written.name === '' ? withoutExtension(plan) : written.name)
  const onnx = plan.onnx
  const prefix = plan.layout === 'version' ? '1/' : ''
  const tensors = config.signature === 'complete' || config.signature === 'names' ? written : { input: [], output: [] }
  const backends = plan.config === null ? BACKENDS[plan.kind] : [config.backend]
  return {
    kind: plan.kind,
    modelName: freeModelName(baseName, destination.existingNames),
    fileName: plan.fileName,
    byteSize: plan.files.reduce((sum, { byteSize }) => sum + byteSize, 0),
    backend: config.backend,
    backends: backends.map((name) => ({ name, isHere: destination.backends.includes(name) })),
    opset: onnx?.opset ?? null,
    inputs: onnx?.inputs.map(onnxTensor) ?? tensors.input.map(configTensor),
    outputs: onnx?.outputs.map(onnxTensor) ?? tensors.output.map(configTensor),
    signature: config.signature,
    signatureReason: config.reason,
    configText: config.text,
    isConfigGenerated: config.isGenerated,
    files: plan.files.map(({ target, byteSize }) => ({ path: `${prefix}${target}`, byteSize })),
    leftOut: plan.leftOut,
    missingFiles: plan.missing,
    existingModel: await existingModel(plan, destination, baseName),
    isLocal: true,
    awaitsTrust: null,
  }
}

/** Only one version's files can become a version of another model. */
async function existingModel(plan: ImportPlan, { repositoryPath, existingNames }: ImportDestination, baseName: string): Promise<ModelImportReview['existingModel']> {
  const name = existingNames.find((existing) => existing.toLowerCase() === baseName.toLowerCase())
  if (name === undefined || repositoryPath === null || plan.layout === 'modelFolder') return null
  try {
    const { nextVersion } = await versionPlace(plan, repositoryPath, name)
    return { name, nextVersion }
  } catch (error) {
    // Of another backend, or unreadable: the file cannot be its version, which is no failure of the review.
    if (error instanceof ServerError) return null
    throw error
  }
}

function withoutExtension(plan: ImportPlan): string {
  return plan.nameSource === plan.fileName && plan.config === null ? plan.nameSource.replace(/\.(?:onnx|om|py)$/i, '') : plan.nameSource
}

function onnxTensor(tensor: OnnxTensor): ModelImportReview['inputs'][number] {
  return { name: tensor.name, datatype: tensor.datatype ?? tensor.elementType, shape: tensor.dims }
}

function configTensor(tensor: { readonly name: string; readonly data_type: string; readonly dims: readonly number[] }): ModelImportReview['inputs'][number] {
  return { name: tensor.name, datatype: tensor.data_type.replace(/^TYPE_/, ''), shape: tensor.dims }
}

async function proposeConfig(plan: ImportPlan, chosen: string | null, how: Pick<ImportDestination, 'readOm' | 'runsCode'>): Promise<ConfigProposal> {
  if (plan.config !== null) {
    const { text, path } = plan.config
    const entries = plan.files.filter(({ target }) => !target.includes('/') || plan.layout === 'modelFolder').map(({ target }) => ({ name: target.split('/').at(-1) ?? '', isDirectory: false }))
    const { backend, platform } = inferBackend(readOwnConfig(plan.fileName, text, path), plan.nameSource, entries)
    return { backend: backend === '' ? platform : backend, text, signature: 'complete', reason: null, isGenerated: false }
  }
  const backend = chosen ?? BACKENDS[plan.kind][0]
  if (!BACKENDS[plan.kind].includes(backend)) {
    throw new ServerError('INVALID_ARG', `The backend '${backend}' does not take '${shorten(plan.fileName)}'. Possible: ${BACKENDS[plan.kind].join(', ')}.`)
  }
  const { text, signature, reason } = await generated(plan, backend, how)
  return { backend, text: `# Made from ${printable(plan.fileName)}\n${text}`, signature, reason, isGenerated: true }
}

function readOwnConfig(folderName: string, text: string, path: string): ModelConfig {
  try {
    return readModelConfig(text, path)
  } catch (error) {
    if (!(error instanceof ServerError)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    throw new ServerError('INVALID_ARG', `The config.pbtxt in '${shorten(folderName)}' cannot be read: ${reason}. Correct it, or take it out of the folder: then one is made from the model.`, { cause: error })
  }
}

async function generated(plan: ImportPlan, backend: string, { readOm = omReader(), runsCode = true }: Pick<ImportDestination, 'readOm' | 'runsCode'>): Promise<{ text: string; signature: ModelImportReview['signature']; reason: string | null }> {
  if (plan.onnx !== null) return { text: generateOnnxConfig(plan.onnx, { backend, defaultModelFilename: unusualFileName(plan) }), signature: 'complete', reason: null }
  if (plan.kind === 'om') return omConfig(plan, backend, readOm)
  try {
    const signature = await readPythonSignature(plan.modelFile, { runsCode })
    const { declared, namesInCode, reason } = signature
    const isDeclared = declared !== null && declared.inputs.length + declared.outputs.length > 0
    if (!isDeclared && namesInCode.inputs.length + namesInCode.outputs.length === 0) return { text: skeleton(backend, unusualFileName(plan)), signature: 'unknown', reason }
    return { text: generatePythonConfig(signature, plan.modelFile, unusualFileName(plan)), signature: isDeclared ? 'complete' : 'names', reason }
  } catch (error) {
    // Files and modules that the model wants may be on the machine that serves it: only what no Python can import is refused.
    if (!(error instanceof ServerError && error.cause instanceof PythonModelError) || error.cause.isSyntaxError || error.cause.message.includes("no attribute 'TritonPythonModel'")) throw error
    return { text: skeleton(backend, unusualFileName(plan)), signature: 'unknown', reason: error.cause.message }
  }
}

/** Without CANN, or with one that cannot read the file, nothing is known: the machine that will serve it may do better. */
async function omConfig(plan: ImportPlan, backend: string, readOm: OmReader): ReturnType<typeof generated> {
  try {
    return { text: generateOmConfig(await readOm(plan.modelFile), plan.fileName, unusualFileName(plan)), signature: 'complete', reason: null }
  } catch (error) {
    return { text: skeleton(backend, unusualFileName(plan)), signature: 'unknown', reason: toServerError(error).message }
  }
}

/** The model's file name where it is not the one that the backend looks for. */
function unusualFileName(plan: ImportPlan): string {
  const target = plan.files.find(({ source }) => source === plan.modelFile)?.target.split('/').at(-1) ?? ''
  return target === MODEL_FILE_NAMES[plan.kind] ? '' : target
}

/** A config without tensors: the comment shows how they are written, and nothing is made up. */
function skeleton(backend: string, defaultModelFilename: string): string {
  return `backend: "${backend}"
${defaultModelFilename === '' ? '' : `default_model_filename: ${JSON.stringify(defaultModelFilename)}\n`}
# The tensors are not known here. Write them as the model has them:
#
# max_batch_size: ...
# input [
#   { name: "..." data_type: ... dims: [ ... ] }
# ]
# output [
#   { name: "..." data_type: ... dims: [ ... ] }
# ]
`
}

function printable(fileName: string): string {
  return [...shorten(fileName)].map((character) => (/[\p{C}\p{Z}]/u.test(character) ? ' ' : character)).join('')
}

export interface CreateOptions {
  readonly repositoryPath: string
  readonly modelName: string
  /** null: a new model. 'next' or a number: a version folder of the model that is there. */
  readonly version: number | 'next' | null
  /** null: the usual one. Of no matter for a further version, which keeps the model's config. */
  readonly backend: string | null
  /** As for the review. */
  readonly readOm?: OmReader
  readonly runsCode?: boolean
  readonly mode: TransferMode
  readonly signal: AbortSignal
  readonly onProgress: (bytesDone: number, bytesTotal: number) => void
}

export interface ImportedModel {
  readonly modelName: string
  readonly version: number
  /** Absolute path of the model's folder. */
  readonly path: string
  /** How the largest file came over. */
  readonly method: TransferMethod
}

/**
 * Writes a new model (`<repository>/<name>/1/...` and config.pbtxt), or a version folder of an existing one, so that it is either there
 * completely or not at all: built in a hidden folder and renamed into place. Never overwrites. Whatever fails, nothing is left behind.
 *
 * @throws ServerError INVALID_ARG for a name that is none or files that are missing, ALREADY_EXISTS for a name or version that is taken,
 *   CANCELLED, and what `transferFile` throws
 */
export async function createImportedModel(plan: ImportPlan, options: CreateOptions, system: TransferSystem = TRANSFER_SYSTEM): Promise<ImportedModel> {
  const { repositoryPath, modelName, version, signal } = options
  if (plan.missing.length > 0) {
    throw new ServerError('INVALID_ARG', `'${shorten(plan.fileName)}' keeps its weights in files that are not here: ${plan.missing.join(', ')}. Import them together with the model.`)
  }
  checkModelName(modelName)
  throwIfCancelled(signal)
  const parent = await temporaryParent(repositoryPath)
  await removeStaleImports(parent)
  const temporary = join(parent, importFolderName())
  try {
    await mkdir(temporary).catch((error: unknown) => { throw transferError(error, plan.modelFile, temporary) })
    if (version !== null) return await createVersion(plan, options, temporary, version, system)
    const target = join(repositoryPath, modelName)
    if (await isThere(target)) throw alreadyExists(modelName, repositoryPath)
    const built = join(temporary, 'model')
    const text = await configFor(plan, options)
    const method = await bringFiles(plan, plan.layout === 'version' ? join(built, '1') : built, options, system)
    await writeDurably(join(built, 'config.pbtxt'), text)
    throwIfCancelled(signal)
    await renameInto(built, target, () => alreadyExists(modelName, repositoryPath))
    return { modelName, version: await firstVersion(target), path: target, method }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** The text of the review; a `name` in a config that came along has to be that of the folder, so it goes where it is another. */
async function configFor(plan: ImportPlan, { backend, modelName, ...how }: CreateOptions): Promise<string> {
  const { text } = await proposeConfig(plan, backend, how)
  const { name } = readModelConfig(text, 'config.pbtxt')
  return name === '' || name === modelName ? text : applyEdits(text, removeField(parsePbtxt(text).tree, ['name']))
}

async function createVersion(plan: ImportPlan, options: CreateOptions, temporary: string, wanted: number | 'next', system: TransferSystem): Promise<ImportedModel> {
  const { repositoryPath, modelName, signal } = options
  if (plan.layout === 'modelFolder') throw new ServerError('INVALID_ARG', `'${shorten(plan.fileName)}' has version folders of its own: import it as a new model, or import one of its versions.`)
  const { nextVersion, fileName, versions } = await versionPlace(plan, repositoryPath, modelName)
  const version = wanted === 'next' ? nextVersion : wanted
  const taken = () => new ServerError('ALREADY_EXISTS', `The model '${modelName}' has a version ${version} already. The next free one is ${nextVersion}.`)
  if (versions.includes(version)) throw taken()
  const files = plan.files.map((file) => (file.source === plan.modelFile ? { ...file, target: fileName } : file))
  const built = join(temporary, 'version')
  const method = await bringFiles({ ...plan, files }, built, options, system)
  throwIfCancelled(signal)
  const path = join(repositoryPath, modelName)
  await renameInto(built, join(path, String(version)), taken)
  return { modelName, version, path, method }
}

/**
 * Where a further version goes, and what its file has to be called there.
 * @throws ServerError NOT_FOUND for no such model, INVALID_ARG for one whose backend takes other files
 */
async function versionPlace(plan: ImportPlan, repositoryPath: string, modelName: string): Promise<{ nextVersion: number; fileName: string; versions: readonly number[] }> {
  const path = join(repositoryPath, modelName)
  if (!await isThere(path)) throw new ServerError('NOT_FOUND', `There is no model '${modelName}' in '${repositoryPath}' that could get another version.`)
  const { configPath, versions } = await readModelDirectory(repositoryPath, modelName, path)
  const text = configPath === null ? '' : await readConfigText(configPath)
  const { backend, platform, default_model_filename: fileName } = inferBackend(readModelConfig(text, configPath ?? ''), modelName, versions[0]?.entries ?? [])
  const takes = Object.hasOwn(GENERATOR_BACKENDS, backend) ? GENERATOR_BACKENDS[backend] : undefined
  if (takes?.filename !== MODEL_FILE_NAMES[plan.kind]) {
    throw new ServerError('INVALID_ARG', `The model '${modelName}' is served by '${backend === '' ? platform : backend}', which does not take '${shorten(plan.fileName)}'. Import the file as a model of its own.`)
  }
  const numbers = versions.map(({ version }) => version)
  return { nextVersion: Math.max(0, ...numbers) + 1, fileName: fileName === '' ? takes.filename : fileName, versions: numbers }
}

async function bringFiles(plan: ImportPlan, folder: string, { mode, signal, onProgress }: CreateOptions, system: TransferSystem): Promise<TransferMethod> {
  const total = plan.files.reduce((sum, { byteSize }) => sum + byteSize, 0)
  let done = 0
  let method: TransferMethod = 'copy'
  onProgress(0, total)
  await mkdir(folder, { recursive: true })
  // The largest first: what cannot be brought over is known early, and its way is what is told.
  for (const [index, file] of plan.files.toSorted((a, b) => b.byteSize - a.byteSize).entries()) {
    const target = join(folder, file.target)
    await mkdir(dirname(target), { recursive: true }).catch((error: unknown) => { throw transferError(error, file.source, target) })
    const used = await transferFile(file.source, target, { mode, signal, onBytes: (count) => { done += count; onProgress(Math.min(done, total), total) } }, system)
    if (index === 0) method = used
  }
  return method
}

/** A folder that appeared meanwhile is refused by the system unless it is empty, and then nothing is lost. */
async function renameInto(from: string, to: string, taken: () => ServerError): Promise<void> {
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' || error.code === 'ENOTDIR' ? taken() : transferError(error, from, to)
  })
}

async function firstVersion(modelPath: string): Promise<number> {
  return Math.min(...(await readdir(modelPath)).filter((name) => /^\d+$/.test(name)).map(Number))
}

function alreadyExists(modelName: string, repositoryPath: string): ServerError {
  return new ServerError('ALREADY_EXISTS', `There is already a model '${modelName}' in '${repositoryPath}'. Choose another name, or add the file as a version of it.`)
}

/** Tells whose it is, so that one left by a process that was killed can be removed. */
export function importFolderName(): string {
  return `${IMPORT_PREFIX}${process.pid}-${randomBytes(8).toString('hex')}`
}

const STALE_MILLISECONDS = 24 * 3600 * 1000

/** Removes what a killed process left: a day old, and no such process here (another machine may use the same folder). */
export async function removeStaleImports(parent: string, now = Date.now()): Promise<void> {
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return []
    throw error
  })
  for (const name of names) {
    if (!name.startsWith(IMPORT_PREFIX)) continue
    const path = join(parent, name)
    const info = await stat(path).catch(() => undefined)
    if (info === undefined || now - info.mtimeMs < STALE_MILLISECONDS || isRunning(Number(/^\d+/.exec(name.slice(IMPORT_PREFIX.length))?.[0]))) continue
    await rm(path, { recursive: true, force: true })
  }
}

function isRunning(processId: number): boolean {
  if (!Number.isSafeInteger(processId) || processId <= 0) return false
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Where to build: beside the repository, so that nobody who watches it sees half a model. Where that is another file system (the repository
 * is a mount point) or not writable, in the repository itself: there the hidden folder is seen for as long as writing takes, and the
 * rename is still atomic.
 */
export async function temporaryParent(repositoryPath: string): Promise<string> {
  const parent = dirname(repositoryPath)
  const own = await stat(repositoryPath).catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `The model repository '${repositoryPath}' is not there. Open another one, or bring it back.`, { cause })
  })
  const above = await stat(parent)
  if (own.dev !== above.dev || parent === repositoryPath) return repositoryPath
  return await access(parent, constants.W_OK).then(() => parent, () => repositoryPath)
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(() => true, () => false)
}

async function writeDurably(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, 'wx')
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    throw transferError(error, path, path)
  }
}
