/** What an .om file says about itself, asked of CANN (real or simulated) in a process of its own: `native/tools/om_passport.cc`. */
import { execFile, type ExecFileException } from 'node:child_process'
import { dirname, join } from 'node:path'
import { NATIVE_ADDON_PATH } from '../backends/native-addon.ts'
import { ServerError } from '../server-error.ts'

export interface OmTensor {
  readonly name: string
  /** Protocol name (`FP32`); '' for a type that the protocol has no name for. */
  readonly datatype: string
  /** Number of AscendCL's `aclDataType`, for texts. */
  readonly aclDatatype: number
  /** -1: open. Of outputs of a model with gears: those of its largest gear. */
  readonly dims: readonly number[]
}

/** One set of shapes that the file was compiled for. */
export interface OmGear {
  /** As atc takes it: `4`, `224x224`, `x=1,64`. */
  readonly text: string
  /** In the order of the inputs. */
  readonly inputs: readonly (readonly number[])[]
}

export interface OmPassport {
  readonly bytes: number
  /** Chips named in the file, usually the one it was compiled for: `Ascend310P3`. */
  readonly chips: readonly string[]
  /** Version of the CANN that was asked; '' : it does not say. */
  readonly cann: string
  readonly isSimulated: boolean
  /** `dynamic`: runs with any shape. */
  readonly graph: 'static' | 'gears' | 'dynamic'
  readonly gearKind: 'none' | 'batch' | 'image' | 'dims'
  /** Empty unless `graph` is `gears`. */
  readonly gears: readonly OmGear[]
  readonly inputs: readonly OmTensor[]
  readonly outputs: readonly OmTensor[]
  readonly workspaceBytes: number
  readonly weightBytes: number
}

/** @throws ServerError UNSUPPORTED where no CANN is there to ask, NOT_FOUND, INVALID_ARG with CANN's words for a file that it cannot describe */
export type OmReader = (path: string) => Promise<OmPassport>

export interface OmReaderOptions {
  /** Folder with CANN's libraries; '' : where the loader looks by itself. */
  readonly cannLibraryDirectory?: string
  /** Default: this process's, looked at with each file. */
  readonly environment?: NodeJS.ProcessEnv
  /** Default: what the build put beside the addon. */
  readonly command?: string
  readonly timeoutMilliseconds?: number
}

/** Exit codes of om-passport. */
const [NOT_DESCRIBED, NO_CANN] = [1, 3]
/** CANN's start takes seconds on a busy machine; a card that hangs would take for ever. */
const DEFAULT_TIMEOUT_MILLISECONDS = 60_000
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

export function omReader(options: OmReaderOptions = {}): OmReader {
  const { cannLibraryDirectory = '', command = join(dirname(NATIVE_ADDON_PATH), 'om-passport'), timeoutMilliseconds = DEFAULT_TIMEOUT_MILLISECONDS } = options
  return (path) => new Promise((resolve, reject) => {
    const args = [...(cannLibraryDirectory === '' ? [] : [`--cann-library-directory=${cannLibraryDirectory}`]), path]
    execFile(command, args, { env: options.environment ?? process.env, timeout: timeoutMilliseconds, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      try {
        if (error !== null) throw failure(path, error, stderr.trim(), timeoutMilliseconds)
        resolve(readPassport(stdout))
      } catch (reason) {
        reject(reason instanceof ServerError ? reason : new ServerError('INTERNAL', `om-passport answered nothing readable about '${path}': ${String(reason)}`, { cause: reason }))
      }
    })
  })
}

function failure(path: string, error: ExecFileException, said: string, timeout: number): ServerError {
  if (error.code === 'ENOENT') return new ServerError('UNSUPPORTED', `'${path}' cannot be described: the native parts are not built. Install g++, cmake and make, then run: npm run build`, { cause: error })
  if (error.code === NO_CANN) {
    return new ServerError('UNSUPPORTED', `'${path}' is compiled for an Ascend chip, and only CANN can say which tensors it has: ${said}. A file of the simulated atc is read with --npu=simulated.`, { cause: error })
  }
  if (error.code === NOT_DESCRIBED) return new ServerError('INVALID_ARG', said, { cause: error })
  if (error.killed === true) return new ServerError('UNAVAILABLE', `'${path}': CANN did not describe it within ${timeout / 1000} s. npu-console doctor examines the cards`, { cause: error })
  return new ServerError('INTERNAL', `'${path}' could not be described: ${said === '' ? error.message : said}`, { cause: error })
}

interface PassportTensor {
  readonly name: string
  readonly datatype: string
  readonly acl_datatype: number
  readonly dims: readonly number[]
}

/** As om_passport.cc writes it. */
interface PassportText extends Pick<OmPassport, 'bytes' | 'chips' | 'cann' | 'graph' | 'gears'> {
  readonly simulated: boolean
  readonly gear_kind: OmPassport['gearKind']
  readonly inputs: readonly PassportTensor[]
  readonly outputs: readonly PassportTensor[]
  readonly workspace_bytes: number
  readonly weight_bytes: number
}

function readPassport(text: string): OmPassport {
  const { bytes, chips, cann, graph, gears, simulated, gear_kind: gearKind, inputs, outputs, workspace_bytes: workspaceBytes, weight_bytes: weightBytes } = JSON.parse(text) as PassportText
  const tensor = ({ name, datatype, acl_datatype: aclDatatype, dims }: PassportTensor): OmTensor => ({ name, datatype, aclDatatype, dims })
  return { bytes, chips, cann, isSimulated: simulated, graph, gearKind, gears, inputs: inputs.map(tensor), outputs: outputs.map(tensor), workspaceBytes, weightBytes }
}
