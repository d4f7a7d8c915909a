/**
 * A model file becomes a model of the repository: reviewed first (nothing written), then created all at once. ONNX files only; other
 * kinds are refused with what they wait for.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ModelImportReview } from '../contract/console-api.ts'
import { generateOnnxConfig } from '../model-config/generate-config.ts'
import { readOnnxSignatureFromBytes } from '../model-config/onnx-signature.ts'
import type { OnnxSignature, OnnxTensor } from '../model-config/onnx-signature.ts'
import { ServerError } from '../server-error.ts'

/** Start of the name of a folder in which an imported model is being built; no model, whoever scans. */
export const IMPORT_PREFIX = '.npu-console-import-'

/** Bytes of a name that every file system takes, with room for what we append. */
const MAX_NAME_BYTES = 200
/** Kinds that are known, and what serving them needs. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  om: 'OM files (compiled for Ascend) come with the Ascend backend',
  air: 'AIR files come with the Ascend backend',
  py: 'Python models come with the python backend',
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

/**
 * @param file the whole file; its name may be a path of any system
 * @param existingNames names that are taken
 * @throws ServerError UNSUPPORTED for another kind of file or a model that cannot be served, INVALID_ARG for a broken one
 */
export function reviewModelImport(file: { readonly fileName: string; readonly data: Uint8Array }, existingNames: readonly string[]): ModelImportReview {
  const fileName = lastPathPart(file.fileName)
  const signature = readSignature(fileName, file.data)
  return {
    modelName: proposeModelName(fileName, existingNames),
    fileName,
    byteSize: file.data.length,
    backend: 'onnxruntime',
    opset: signature.opset,
    inputs: signature.inputs.map(reviewTensor),
    outputs: signature.outputs.map(reviewTensor),
    configText: configText(fileName, signature),
  }
}

/**
 * Writes `<repository>/<modelName>/1/model.onnx` and `config.pbtxt` so that the model is either there completely or not at all: built in a
 * hidden folder beside the repository (or in it, see `temporaryParent`) and renamed into place. Never overwrites.
 *
 * @throws ServerError INVALID_ARG for a name that is none, ALREADY_EXISTS for one that is taken
 */
export async function createImportedModel(model: {
  readonly repositoryPath: string
  readonly modelName: string
  readonly fileName: string
  readonly data: Uint8Array
}): Promise<void> {
  const { repositoryPath, modelName, data } = model
  const fileName = lastPathPart(model.fileName)
  checkModelName(modelName)
  const text = configText(fileName, readSignature(fileName, data))
  const target = join(repositoryPath, modelName)
  if (await isThere(target)) throw alreadyExists(modelName, repositoryPath)

  const temporary = join(await temporaryParent(repositoryPath), `${IMPORT_PREFIX}${randomBytes(8).toString('hex')}`)
  try {
    await mkdir(join(temporary, '1'), { recursive: true })
    await writeDurably(join(temporary, '1', 'model.onnx'), data)
    await writeDurably(join(temporary, 'config.pbtxt'), new TextEncoder().encode(text))
    // A folder that appeared meanwhile is refused by the system unless it is empty, and then nothing is lost.
    await rename(temporary, target).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOTEMPTY' || error.code === 'EEXIST' || error.code === 'ENOTDIR' ? alreadyExists(modelName, repositoryPath) : error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

function alreadyExists(modelName: string, repositoryPath: string): ServerError {
  return new ServerError('ALREADY_EXISTS', `There is already a model '${modelName}' in '${repositoryPath}'. Choose another name.`)
}

/**
 * Where to build: beside the repository, so that nobody who watches it sees half a model. Where that is another file system (the repository
 * is a mount point) or not writable, in the repository itself: there the hidden folder is seen for as long as writing takes, and the
 * rename is still atomic.
 */
async function temporaryParent(repositoryPath: string): Promise<string> {
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

async function writeDurably(path: string, data: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx')
  await file.writeFile(data)
  await file.sync()
}

function readSignature(fileName: string, data: Uint8Array): OnnxSignature {
  const extension = /\.([^.]*)$/.exec(fileName)?.[1]?.toLowerCase() ?? ''
  if (extension !== 'onnx') {
    const known = OTHER_KINDS[extension]
    throw new ServerError('UNSUPPORTED', `'${shorten(fileName)}' cannot be imported: ${known ?? 'it is not an ONNX file (.onnx)'}. `
      + 'Only .onnx files can be imported here.')
  }
  const signature = readOnnxSignatureFromBytes(data)
  if (signature.externalDataFiles.length > 0) {
    throw new ServerError('UNSUPPORTED', `'${shorten(fileName)}' keeps its weights in other files (${signature.externalDataFiles.join(', ')}), which a single `
      + 'dropped file cannot bring along. Put the model and these files into <repository>/<model>/1/ by hand.')
  }
  for (const tensor of [...signature.inputs, ...signature.outputs]) {
    if (tensor.datatype !== null) continue
    const what = tensor.kind === 'tensor' ? `the element type ${tensor.elementType}` : `the kind '${tensor.kind}'`
    throw new ServerError('UNSUPPORTED', `'${shorten(fileName)}' cannot be served: its tensor '${tensor.name}' has ${what}, which the protocol does not know.`)
  }
  return signature
}

function reviewTensor(tensor: OnnxTensor): ModelImportReview['inputs'][number] {
  return { name: tensor.name, datatype: tensor.datatype ?? tensor.elementType, shape: tensor.dims }
}

function configText(fileName: string, signature: OnnxSignature): string {
  const printable = [...shorten(fileName)].map((character) => (/[\p{C}\p{Z}]/u.test(character) ? ' ' : character)).join('')
  return `# Made from ${printable}\n${generateOnnxConfig(signature)}`
}

function lastPathPart(path: string): string {
  return basename(path.replaceAll('\\', '/'))
}

function shorten(text: string): string {
  const characters = [...text]
  return characters.length > 80 ? `${characters.slice(0, 79).join('')}…` : text
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

function truncate(name: string, bytes: number): string {
  let result = ''
  for (const character of name) {
    if (byteLength(result + character) > bytes) break
    result += character
  }
  return result
}

/** Letters and digits of any script, `_`, `-`, `.`; free among `existingNames` in any case. */
export function proposeModelName(fileName: string, existingNames: readonly string[]): string {
  const stem = lastPathPart(fileName).normalize('NFC').replace(/\.[^.]*$/, '')
  const clean = truncate(stem.replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, '_'), MAX_NAME_BYTES).replace(/^[._-]+|[._-]+$/g, '')
  const isReserved = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i.test(clean) // names Windows keeps for devices
  const name = clean === '' ? 'model' : isReserved ? `model_${clean}` : clean
  const taken = new Set(existingNames.map((existing) => existing.toLowerCase()))
  let proposal = name
  for (let suffix = 2; taken.has(proposal.toLowerCase()); suffix++) proposal = `${name}-${suffix}`
  return proposal
}

/** @throws ServerError INVALID_ARG when the name cannot be that of a folder in the repository */
export function checkModelName(name: string): void {
  const refuse = (why: string): never => {
    throw new ServerError('INVALID_ARG', `'${shorten(name)}' cannot be a model name: ${why}.`)
  }
  if (name === '') refuse('it is empty')
  if (/[/\\]/.test(name)) refuse('it contains a path separator')
  if (name.startsWith('.')) refuse('it starts with a dot')
  if (/[\p{C}]/u.test(name)) refuse('it contains a control character')
  if (name !== name.trim() || name.endsWith('.')) refuse('it starts or ends with a space or ends with a dot')
  if (byteLength(name) > MAX_NAME_BYTES + 20) refuse(`it is longer than ${MAX_NAME_BYTES + 20} bytes`)
}
