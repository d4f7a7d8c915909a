/**
 * What was dropped, understood: which file is the model, which files belong to it, where each will lie, and what is missing. Reads, never
 * writes. Files that were uploaded lie in a folder of ours and are planned in the same way as those of this machine.
 */
import { open, readFile, readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, isAbsolute, join, normalize, relative, sep } from 'node:path'
import { readOnnxSignature } from '../model-config/onnx-signature.ts'
import type { OnnxSignature } from '../model-config/onnx-signature.ts'
import { ServerError } from '../server-error.ts'
import { isInside } from './contained-path.ts'
import { lastPathPart, shorten } from './import-names.ts'

export type ModelFileKind = 'onnx' | 'om' | 'python'

export interface PlannedFile {
  /** Absolute path of what is there now. */
  readonly source: string
  /** Where it will lie, with `/`: in the version folder, for a whole model folder in the model folder. */
  readonly target: string
  readonly byteSize: number
}

export interface ImportPlan {
  /** 'modelFolder': the folder has version folders of its own. */
  readonly layout: 'version' | 'modelFolder'
  readonly kind: ModelFileKind
  /** Absolute path of the model file. */
  readonly modelFile: string
  /** Base name of what was dropped: the file, or the folder. */
  readonly fileName: string
  /** What the model is to be named after. */
  readonly nameSource: string
  readonly files: readonly PlannedFile[]
  /** Dropped and not taken: the model does not ask for them. */
  readonly leftOut: readonly string[]
  /** Asked for by the model and nowhere to be found. */
  readonly missing: readonly string[]
  /** null for other kinds. */
  readonly onnx: OnnxSignature | null
  /** The config that came along, as written; null: none did. */
  readonly config: { readonly path: string; readonly text: string } | null
}

/** The file name that a model gets, by kind. */
export const MODEL_FILE_NAMES: Readonly<Record<ModelFileKind, string>> = { onnx: 'model.onnx', om: 'model.om', python: 'model.py' }

export const SUPPORTED = 'Supported are ONNX models (.onnx), Ascend OM models (.om), Python models (model.py), and folders with one of them.'
/** Kinds that are known, and what serving them needs. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  air: 'AIR files are not served: compile the model to .om, or export it to ONNX',
  plan: 'TensorRT plans need a GPU build',
  engine: 'TensorRT engines need a GPU build',
  pt: 'TorchScript files need the pytorch backend: export the model to ONNX',
  pth: 'PyTorch checkpoints hold weights only: export the model to ONNX',
  safetensors: 'safetensors files hold weights only: export the model to ONNX',
  pb: 'TensorFlow graphs need the tensorflow backend: convert the model to ONNX',
  tflite: 'TensorFlow Lite files are not served: convert the model to ONNX',
  pdmodel: 'Paddle models are not served: convert the model to ONNX',
  xml: 'OpenVINO models need the openvino backend',
}
const MAX_FILES = 10_000
/** First bytes of every .om file. Source: the signature by which the open viewer Netron recognises the format; not stated in Huawei's documents. */
const OM_MAGIC = 'IMOD'

/**
 * @param paths absolute paths of the dropped files, or of one folder
 * @param root folder whose own name, and those above it, mean nothing to the user (where uploads lie); null: the paths are the user's own
 * @throws ServerError NOT_FOUND, UNSUPPORTED for another kind of file, INVALID_ARG for a broken one or a drop of which no model can be made
 */
export async function planImport(paths: readonly string[], root: string | null = null): Promise<ImportPlan> {
  const entries = await Promise.all(paths.map(async (path) => ({ path, info: await describe(path) })))
  const [first] = entries
  if (first === undefined) throw new ServerError('INVALID_ARG', `There is no file to import. ${SUPPORTED}`)
  if (entries.some(({ info }) => info.isDirectory)) {
    if (entries.length > 1) throw new ServerError('INVALID_ARG', 'Several things with a folder among them were dropped. Import one folder, or the files of one model, at a time.')
    return planFolder(first.path, root)
  }
  const { path: modelFile, kind } = await findModelFile(entries.map(({ path }) => path), 'dropped files')
  return planFiles(modelFile, kind, entries.map(({ path }) => path).filter((path) => path !== modelFile), root)
}

async function planFiles(modelFile: string, kind: ModelFileKind, others: readonly string[], root: string | null): Promise<ImportPlan> {
  const onnx = await readModelFile(modelFile, kind)
  const needed = onnx !== null ? await externalData(modelFile, onnx, others) : kind === 'python' ? await pythonNeighbours(modelFile, others) : { files: [], missing: [] }
  const taken = new Set(needed.files.map(({ source }) => source))
  const fileName = lastPathPart(modelFile)
  return {
    layout: 'version', kind, modelFile, fileName, nameSource: nameSource(modelFile, root), onnx, config: null, missing: needed.missing,
    files: await withSizes([{ source: modelFile, target: freeTarget(kind, fileName, needed.files) }, ...needed.files]),
    leftOut: others.filter((path) => !taken.has(path)).map(lastPathPart),
  }
}

/** The usual file name; the model's own where one of its files has the usual one. */
function freeTarget(kind: ModelFileKind, fileName: string, others: readonly { readonly target: string }[]): string {
  const usual = MODEL_FILE_NAMES[kind]
  return others.some(({ target }) => target === usual) ? fileName : usual
}

/** A file called `model.onnx`, and every model.py, is named after its folder; a version folder after the model's. */
function nameSource(modelFile: string, root: string | null): string {
  const stem = lastPathPart(modelFile).replace(/\.[^.]*$/, '')
  if (stem.toLowerCase() !== 'model') return stem
  let folder = dirname(modelFile)
  if (!isNamed(folder, root)) return stem
  if (/^\d+$/.test(basename(folder))) folder = dirname(folder)
  if (!isNamed(folder, root)) return stem
  return basename(folder) === '' ? stem : basename(folder)
}

/** Is there a folder of the user's own above or at this one? */
function isNamed(folder: string, root: string | null): boolean {
  return root === null || (folder !== root && isInside(root, folder))
}

async function describe(path: string): Promise<{ isDirectory: boolean; byteSize: number }> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => { throw unreadable(path, error) })
  if (!info.isDirectory() && !info.isFile()) throw new ServerError('INVALID_ARG', `'${path}' is neither a file nor a folder.`)
  return { isDirectory: info.isDirectory(), byteSize: info.size }
}

function unreadable(path: string, error: NodeJS.ErrnoException): unknown {
  switch (error.code) {
    case 'ENOENT': case 'ENOTDIR': return new ServerError('NOT_FOUND', `There is no file '${path}'.`, { cause: error })
    case 'EACCES': case 'EPERM': return new ServerError('UNAVAILABLE', `There is no permission to read '${path}'.`, { cause: error })
    case 'ELOOP': return new ServerError('INVALID_ARG', `'${path}' is a link that leads to itself.`, { cause: error })
    default: return error
  }
}

/** @throws ServerError where not exactly one of the files is a model */
async function findModelFile(paths: readonly string[], where: string): Promise<{ path: string; kind: ModelFileKind }> {
  const models: { path: string; kind: ModelFileKind }[] = []
  const python = paths.filter((path) => extname(path).toLowerCase() === '.py')
  const modelPy = python.find((path) => basename(path) === 'model.py')
  for (const path of paths) {
    const extension = extname(path).toLowerCase()
    if (extension === '.onnx') models.push({ path, kind: 'onnx' })
    else if (extension === '.om') models.push({ path, kind: 'om' })
    else if (extension === '.py' && (modelPy === undefined ? python.length === 1 || await isPythonModel(path) : path === modelPy)) models.push({ path, kind: 'python' })
  }
  const [model] = models
  if (models.length > 1) {
    throw new ServerError('INVALID_ARG', `Among the ${where} are ${models.length} models: ${models.map(({ path }) => lastPathPart(path)).join(', ')}. Import one at a time, each with the files that belong to it.`)
  }
  if (model !== undefined) return model
  const [path = ''] = paths
  const fileName = shorten(lastPathPart(path))
  const known = OTHER_KINDS[extname(path).slice(1).toLowerCase()]
  throw new ServerError('UNSUPPORTED', paths.length === 1
    ? `'${fileName}' cannot be imported: ${known ?? 'it is not a model file'}. ${SUPPORTED}`
    : `Among the ${where} is no model. ${SUPPORTED}`)
}

async function isPythonModel(path: string): Promise<boolean> {
  return (await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => { throw unreadable(path, error) })).includes('TritonPythonModel')
}

/**
 * @returns the signature of an ONNX file, null for others
 * @throws ServerError INVALID_ARG for a file that is not what its name says
 */
async function readModelFile(path: string, kind: ModelFileKind): Promise<OnnxSignature | null> {
  const fileName = shorten(lastPathPart(path))
  const { byteSize } = await describe(path)
  if (byteSize === 0) throw new ServerError('INVALID_ARG', `'${fileName}' is empty. ${SUPPORTED}`)
  if (kind === 'onnx') {
    const signature = await readOnnxSignature(path)
    for (const tensor of [...signature.inputs, ...signature.outputs]) {
      if (tensor.datatype !== null) continue
      const what = tensor.kind === 'tensor' ? `the element type ${tensor.elementType}` : `the kind '${tensor.kind}'`
      throw new ServerError('UNSUPPORTED', `'${fileName}' cannot be served: its tensor '${tensor.name}' has ${what}, which the protocol does not know.`)
    }
    return signature
  }
  if (kind === 'om') {
    await using file = await open(path, 'r')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(OM_MAGIC.length), 0, OM_MAGIC.length, 0)
    if (buffer.toString('latin1', 0, bytesRead) !== OM_MAGIC) {
      throw new ServerError('INVALID_ARG', `'${fileName}' is not an Ascend OM model: it does not start with '${OM_MAGIC}'. Compile the model again with atc, or import the ONNX file.`)
    }
    return null
  }
  if (!await isPythonModel(path)) {
    throw new ServerError('INVALID_ARG', `'${fileName}' is not a Python model: it has no class TritonPythonModel. ${SUPPORTED}`)
  }
  return null
}

/** Files that hold weights: beside the model under the name it says, or among the dropped ones. */
async function externalData(modelFile: string, onnx: OnnxSignature, others: readonly string[]): Promise<{ files: { source: string; target: string }[]; missing: string[] }> {
  const files: { source: string; target: string }[] = []
  const missing: string[] = []
  for (const location of onnx.externalDataFiles) {
    const target = normalize(location).replaceAll('\\', '/')
    if (isAbsolute(location) || target === '.' || target.split('/').includes('..')) {
      throw new ServerError('UNSUPPORTED', `'${lastPathPart(modelFile)}' keeps its weights in '${shorten(location)}', outside its own folder. Save the model again with its weights beside it.`)
    }
    const beside = join(dirname(modelFile), target)
    const source = await isFile(beside) ? beside : others.find((path) => lastPathPart(path) === lastPathPart(target))
    if (source === undefined) missing.push(location)
    else files.push({ source, target })
  }
  return { files, missing }
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then((info) => info.isFile(), () => false)
}

const IMPORTS = /^[ \t]*(?:from[ \t]+\.*([A-Za-z_]\w*)|import[ \t]+([A-Za-z_][\w., \t]*))/gm

/** The dropped files, and the modules beside the model that it imports (and those that they import): a Python file or a package folder. */
async function pythonNeighbours(modelFile: string, others: readonly string[]): Promise<{ files: { source: string; target: string }[]; missing: string[] }> {
  const directory = dirname(modelFile)
  const taken = new Map<string, string>(others.map((path) => [path, lastPathPart(path)]))
  const queue = [modelFile, ...others.filter((path) => extname(path) === '.py')]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const source = await readFile(path, 'utf8')
    const names = [...source.matchAll(IMPORTS)].flatMap(([, from, list]) => from ?? (list ?? '').split(',').map((part) => /^\s*(\w+)/.exec(part)?.[1] ?? ''))
    for (const name of new Set(names)) {
      const found = name === '' ? [] : await isFile(join(directory, `${name}.py`)) ? [join(directory, `${name}.py`)] : await filesBelow(join(directory, name))
      for (const file of found) {
        if (file === modelFile || taken.has(file)) continue
        taken.set(file, relative(directory, file).split(sep).join('/'))
        if (extname(file) === '.py') queue.push(file)
      }
    }
  }
  return { files: [...taken].map(([source, target]) => ({ source, target })), missing: [] }
}

/** Every file of a folder that is not hidden, `__pycache__` aside; empty where there is no such folder. */
async function filesBelow(directory: string): Promise<string[]> {
  const found: string[] = []
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (folder === directory && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return []
      throw unreadable(folder, error)
    })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name)
      if (entry.name.startsWith('.') || entry.name === '__pycache__') continue
      if (entry.isDirectory()) await walk(path)
      else if (entry.isSymbolicLink() && (await describe(path)).isDirectory) {
        throw new ServerError('INVALID_ARG', `'${path}' is a link to a folder, which is not followed. Replace it by the folder, or leave it out.`)
      } else found.push(path)
      if (found.length > MAX_FILES) throw new ServerError('INVALID_ARG', `'${directory}' has more than ${MAX_FILES} files: that is no model folder.`)
    }
  }
  await walk(directory)
  return found
}

/** A folder: a whole model (version folders), or what belongs into one version, with or without a config.pbtxt. */
async function planFolder(folder: string, root: string | null): Promise<ImportPlan> {
  const fileName = lastPathPart(folder)
  const versions = (await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => { throw unreadable(folder, error) }))
    .filter((entry) => entry.isDirectory() && /^(?:0|[1-9]\d*)$/.test(entry.name)).map((entry) => entry.name).toSorted((a, b) => Number(a) - Number(b))
  const all = await filesBelow(folder)
  const configPath = join(folder, 'config.pbtxt')
  const config = all.includes(configPath) ? { path: configPath, text: await readFile(configPath, 'utf8') } : null
  const inVersion = versions[0] === undefined ? folder : join(folder, versions[0])
  const candidates = all.filter((path) => dirname(path) === inVersion && path !== configPath)
  const { path: modelFile, kind } = await findModelFile(candidates, `files of '${relative(dirname(folder), inVersion)}'`)
  const onnx = await readModelFile(modelFile, kind)
  const { missing } = onnx === null ? { missing: [] } : await externalData(modelFile, onnx, [])
  const isModelFolder = versions.length > 0
  // A config of its own may name the file; without one the file gets the name that its backend looks for.
  const files = all.filter((path) => path !== configPath).map((source) => ({ source, target: relative(folder, source).split(sep).join('/') }))
  const renamed = config !== null || isModelFolder ? files
    : files.map((file) => (file.source === modelFile ? { ...file, target: freeTarget(kind, lastPathPart(modelFile), files.filter((other) => other !== file)) } : file))
  return {
    layout: isModelFolder ? 'modelFolder' : 'version', kind, modelFile, fileName, onnx, config, missing, leftOut: [], files: await withSizes(renamed),
    nameSource: /^\d+$/.test(fileName) && isNamed(dirname(folder), root) ? basename(dirname(folder)) : fileName,
  }
}

async function withSizes(files: readonly { readonly source: string; readonly target: string }[]): Promise<PlannedFile[]> {
  return Promise.all(files.map(async (file) => ({ ...file, byteSize: (await describe(file.source)).byteSize })))
}
