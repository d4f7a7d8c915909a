/** What a model.py says about its tensors: by its own `auto_complete_config`, and by the names that its code asks for. */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { DataTypeConfigName } from '../contract/inference.ts'
import { DATA_TYPES } from '../contract/inference.ts'
import { ServerError } from '../server-error.ts'
import { PYTHON_RECORDER } from './python-recorder.ts'

export interface PythonTensor {
  readonly name: string
  readonly dataType: DataTypeConfigName
  readonly dims: readonly number[]
  readonly isOptional: boolean
}

export interface PythonSignature {
  /** null: the model has no `auto_complete_config`, or there is no python3 to ask it. */
  readonly declared: {
    readonly maxBatchSize: number
    readonly inputs: readonly PythonTensor[]
    readonly outputs: readonly PythonTensor[]
    readonly isDynamicBatching: boolean
    readonly isDecoupled: boolean
  } | null
  /** In the order of the text; types and dims are not known. */
  readonly namesInCode: { readonly inputs: readonly string[]; readonly outputs: readonly string[] }
  /** Why nothing was declared, for a comment; null where it was. */
  readonly reason: string | null
}

export interface PythonSignatureOptions {
  readonly timeoutMilliseconds?: number
  /** Default: `python3` of the path. */
  readonly pythonPath?: string
  /** False: no line of the file runs, and only the names in its text are found. Default: true. */
  readonly runsCode?: boolean
}

/** Python's own text: why a model.py could not be imported, or raised. The cause of the error that `readPythonSignature` throws for it. */
export class PythonModelError extends Error {
  /** True where no Python anywhere can import the file; false where another machine, with other modules and files, may. */
  get isSyntaxError(): boolean { return /^(?:SyntaxError|IndentationError|TabError):/.test(this.message) }
}

const DEFAULT_TIMEOUT_MILLISECONDS = 10_000
const MAX_OUTPUT_BYTES = 1024 * 1024
const MAX_SOURCE_BYTES = 16 * 1024 * 1024

/**
 * Runs the top level of the file and its `auto_complete_config` in a process of its own, nothing else of the model, for at most the time given.
 * @throws ServerError NOT_FOUND when there is no file; INVALID_ARG with Python's text when it cannot be imported, raises or takes too long
 */
export async function readPythonSignature(path: string, options: PythonSignatureOptions = {}): Promise<PythonSignature> {
  const source = await readFile(path).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `There is no file '${path}'.`, { cause }) })
  if (source.byteLength > MAX_SOURCE_BYTES) throw new ServerError('INVALID_ARG', `'${path}' has ${source.byteLength} bytes: that is no model.py.`)
  const namesInCode = findTensorNames(new TextDecoder().decode(source))
  if (options.runsCode === false) return { declared: null, namesInCode, reason: 'the model repository is not trusted, so that auto_complete_config of the file was not run' }
  const answer = await runRecorder(resolve(path), options)
  if (answer === null) return { declared: null, namesInCode, reason: 'there is no python3 here to ask auto_complete_config' }
  if (answer.error !== undefined) throw new ServerError('INVALID_ARG', `'${path}' cannot describe itself: ${answer.error}`, { cause: new PythonModelError(answer.error) })
  if (answer.config === undefined || answer.config === null) return { declared: null, namesInCode, reason: 'model.py has no auto_complete_config' }
  const { config } = answer
  const read = (role: 'input' | 'output'): PythonTensor[] => asList(config[role]).map((tensor) => readTensor(tensor, role, path))
  const maxBatchSize = config['max_batch_size']
  if (typeof maxBatchSize !== 'number' || !Number.isInteger(maxBatchSize) || maxBatchSize < 0) {
    throw new ServerError('INVALID_ARG', `'${path}' sets max_batch_size to ${JSON.stringify(maxBatchSize)}: it must be a whole number from 0 on.`)
  }
  const policy = config['model_transaction_policy'] as { readonly decoupled?: unknown } | undefined
  return {
    declared: {
      maxBatchSize, inputs: read('input'), outputs: read('output'), isDynamicBatching: config['dynamic_batching'] !== undefined,
      isDecoupled: policy?.decoupled === true,
    },
    namesInCode,
    reason: null,
  }
}

interface Answer {
  readonly config?: Readonly<Record<string, unknown>> | null
  readonly error?: string
}

/** @returns null where there is no Python */
async function runRecorder(path: string, options: PythonSignatureOptions): Promise<Answer | null> {
  const timeout = options.timeoutMilliseconds ?? DEFAULT_TIMEOUT_MILLISECONDS
  // The model's folder is what models are named by: <model>/<version>/model.py.
  const modelName = basename(dirname(dirname(path)))
  const child = spawn(options.pythonPath ?? 'python3', ['-B', '-c', PYTHON_RECORDER, path, modelName], {
    cwd: dirname(path), stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  })
  // All of what the file started: it leads a process group of its own.
  const kill = (): void => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const chunks: Buffer[] = []
  let size = 0
  let errorText = ''
  let isTooLong = false
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_OUTPUT_BYTES) kill()
    else chunks.push(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => { errorText = (errorText + chunk.toString()).slice(-4000) })
  const timer = setTimeout(() => { isTooLong = true; kill() }, timeout)
  try {
    const isMissing = await new Promise<boolean>((done, fail) => {
      child.on('error', (error: NodeJS.ErrnoException) => { if (error.code === 'ENOENT') done(true); else fail(error) })
      // Not 'close': a process that the file left behind may hold the pipes.
      child.on('exit', () => { setImmediate(() => { done(false) }) })
    })
    if (isMissing) return null
    await drained(child.stdout)
  } finally {
    clearTimeout(timer)
    kill()
  }
  if (isTooLong) throw new ServerError('INVALID_ARG', `'${path}' did not describe itself within ${timeout / 1000} s.`)
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as Answer
  } catch (cause) {
    throw new ServerError('INVALID_ARG', `'${path}' ended before it described itself: ${errorText.trim() === '' ? 'it said nothing' : errorText.trim()}`, { cause })
  }
}

/** What a process that has ended wrote, read to its end, or for as long as somebody else keeps the pipe open. */
async function drained(stream: NodeJS.ReadableStream & { readonly readableEnded?: boolean }): Promise<void> {
  if (stream.readableEnded === true) return
  await new Promise<void>((done) => {
    const timer = setTimeout(done, 500)
    stream.once('end', () => { clearTimeout(timer); done() })
  })
}

function asList(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value as Readonly<Record<string, unknown>>[] : []
}

const TYPE_NAMES = new Set<string>(Object.values(DATA_TYPES).map(({ configName }) => configName))

function readTensor(tensor: Readonly<Record<string, unknown>>, role: string, path: string): PythonTensor {
  const { name, data_type: dataType, dims } = tensor
  const refuse = (what: string): never => { throw new ServerError('INVALID_ARG', `'${path}' declares the ${role} ${JSON.stringify(name)} with ${what}.`) }
  if (typeof name !== 'string' || name === '') return refuse('a name that is none')
  if (typeof dataType !== 'string' || !TYPE_NAMES.has(dataType)) return refuse(`the data_type ${JSON.stringify(dataType)}, which is none`)
  if (!Array.isArray(dims) || !dims.every((dim) => Number.isSafeInteger(dim) && ((dim as number) >= 1 || dim === -1))) {
    return refuse(`the dims ${JSON.stringify(dims)}: whole numbers from 1 on, or -1, are wanted`)
  }
  return { name, dataType: dataType as DataTypeConfigName, dims: dims as number[], isOptional: tensor['optional'] === true }
}

const STRING = String.raw`(?:'([^'\\\n]*)'|"([^"\\\n]*)")`
const INPUT_CALLS = new RegExp(String.raw`\b(?:get_input_tensor_by_name|get_input_config_by_name)\(\s*[^,()]+(?:\([^()]*\)[^,()]*)?,\s*(?:name\s*=\s*)?${STRING}`, 'g')
const OUTPUT_CALLS = new RegExp(String.raw`\b(?:get_output_config_by_name\(\s*[^,()]+,\s*|(?:pb_utils|triton_python_backend_utils|pb)\.Tensor(?:\.from_dlpack)?\(\s*)${STRING}`, 'g')

/** Names that stand literally in calls; whatever is computed is not found. */
export function findTensorNames(source: string): { inputs: string[]; outputs: string[] } {
  const code = source.replaceAll(/^[ \t]*#.*$/gm, '')
  const names = (pattern: RegExp): string[] => [...new Set([...code.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '').filter((name) => name !== ''))]
  const inputs = names(INPUT_CALLS)
  return { inputs, outputs: names(OUTPUT_CALLS).filter((name) => !inputs.includes(name)) }
}
