/**
 * `--npu=simulated`: the settings file that the simulated CANN obeys, in a folder that only this user can read, and the faults in it. Nothing
 * else in the product writes such a file, and without one the simulated libraries refuse every call.
 */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { findOnnxRuntimeLibrary } from '../backends/onnxruntime/onnxruntime-library.ts'
import { FAULT_KINDS, FAULT_PHASES, type SimulatedFault } from '../contract/devices.ts'
import { ServerError } from '../server-error.ts'
import { readSimulatedCann, type SimulatedCann } from './simulated-cann.ts'

/** Names the settings file to the simulated libraries; read once, when the first of them is opened. */
export const SETTINGS_VARIABLE = 'NPU_SIMULATOR_SETTINGS'

export interface SimulatedNpuOptions {
  /** Names of profiles; each is one card, of one chip or two. */
  readonly cards: readonly string[]
  /** Factor on all modelled times; 0: as fast as this machine computes. */
  readonly timeScale: number
  readonly environment: NodeJS.ProcessEnv
  /** Default: what the build put beside the addon. */
  readonly cannDirectory?: string
}

/** What must be there for simulated cards. */
interface SimulatedNpuNeeds {
  readonly cann: SimulatedCann
  readonly onnxRuntimePath: string
}

const MAXIMUM_CARDS = 16

export class SimulatedNpu {
  readonly cann: SimulatedCann
  readonly cards: readonly string[]
  readonly timeScale: number
  readonly settingsPath: string
  /** For the simulated tools: that of the process, and they find each other and the settings. */
  readonly environment: NodeJS.ProcessEnv
  readonly #runtimeDirectory: string
  readonly #onnxRuntimePath: string
  #faults: readonly SimulatedFault[] = []
  #writing: Promise<void> = Promise.resolve()

  private constructor(cann: SimulatedCann, runtimeDirectory: string, onnxRuntimePath: string, { cards, timeScale, environment }: SimulatedNpuOptions) {
    this.cann = cann
    this.cards = cards
    this.timeScale = timeScale
    this.#runtimeDirectory = runtimeDirectory
    this.#onnxRuntimePath = onnxRuntimePath
    this.settingsPath = join(runtimeDirectory, 'settings.json')
    this.environment = {
      ...environment, [SETTINGS_VARIABLE]: this.settingsPath,
      PATH: withFirst(cann.toolDirectory, environment['PATH']), LD_LIBRARY_PATH: withFirst(cann.libraryDirectory, environment['LD_LIBRARY_PATH']),
    }
  }

  /**
   * Writes the settings. Opens no library.
   * @throws ServerError INVALID_ARG: a card that cannot be simulated; UNAVAILABLE: the simulated CANN or ONNX Runtime is not there
   */
  static async start(options: SimulatedNpuOptions): Promise<SimulatedNpu> {
    const { environment } = options
    const { cann, onnxRuntimePath } = await SimulatedNpu.check(options)
    const runtime = environment['XDG_RUNTIME_DIR'] ?? ''
    const parent = isAbsolute(runtime) ? runtime : tmpdir()
    const directory = await mkdtemp(join(parent, 'npu-console-simulated-')).catch((error: unknown) => {
      throw new ServerError('UNAVAILABLE', `--npu=simulated: no folder can be made in ${parent} (XDG_RUNTIME_DIR or TMPDIR name another): ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    })
    const simulated = new SimulatedNpu(cann, directory, onnxRuntimePath, options)
    await simulated.#write([])
    return simulated
  }

  /** What `start` needs, or why it would fail. Writes nothing. @throws ServerError as `start` */
  static async check({ cards, environment, cannDirectory }: Pick<SimulatedNpuOptions, 'cards' | 'environment' | 'cannDirectory'>): Promise<SimulatedNpuNeeds> {
    const cann = await readSimulatedCann(cannDirectory)
    const known = cann.profiles.map(({ name }) => name)
    const unknown = cards.find((card) => !known.includes(card))
    if (unknown !== undefined) throw new ServerError('INVALID_ARG', `--npu-simulated-cards: '${unknown}' cannot be simulated. Choose from ${known.join(', ')}`)
    if (cards.length === 0 || cards.length > MAXIMUM_CARDS) throw new ServerError('INVALID_ARG', `--npu-simulated-cards: name 1 to ${MAXIMUM_CARDS} cards, got ${cards.length}`)
    const onnxRuntimePath = findOnnxRuntimeLibrary(environment)
    if (onnxRuntimePath === null) throw new ServerError('UNAVAILABLE', '--npu=simulated: simulated cards compute through ONNX Runtime, and its library was not found. Install the application again, or set ORT_DYLIB_PATH')
    return { cann, onnxRuntimePath }
  }

  /** Those that were set last; how often a counted one has struck since is not known. */
  get faults(): readonly SimulatedFault[] { return this.#faults }

  /** How many devices there are: a card may have two chips. */
  get deviceCount(): number {
    return this.cards.reduce((sum, card) => sum + (this.cann.profiles.find(({ name }) => name === card)?.chipCount ?? 0), 0)
  }

  /**
   * These faults and no others, from the next call on. Setting them again starts every count anew.
   * @throws ServerError INVALID_ARG: a device that is not there
   */
  async setFaults(faults: readonly SimulatedFault[]): Promise<void> {
    const absent = faults.find(({ device }) => device !== null && device >= this.deviceCount)
    if (absent !== undefined) throw new ServerError('INVALID_ARG', `device ${absent.device} is not there: the simulated devices are 0 to ${this.deviceCount - 1}`)
    const write = this.#writing.then(() => this.#write(faults))
    this.#writing = write.catch(() => undefined)
    await write
    this.#faults = faults
  }

  /** What is still open goes on as it was set last. */
  async stop(): Promise<void> {
    await this.#writing
    await rm(this.#runtimeDirectory, { recursive: true, force: true })
  }

  /** At once for readers: they see the old file or the new one. */
  async #write(faults: readonly SimulatedFault[]): Promise<void> {
    const settings = {
      cards: this.cards.map((profile) => ({ profile })), onnxruntime: this.#onnxRuntimePath, stateDirectory: this.#runtimeDirectory, timeScale: this.timeScale,
      faults: faults.map(({ kind, device, count, phase, needsReset }) => ({
        kind, ...(device === null ? {} : { device }), ...(count === null ? {} : { count }), ...(phase === null ? {} : { phase }), ...(needsReset ? { needsReset } : {}),
      })),
    }
    const fresh = `${this.settingsPath}.new`
    await writeFile(fresh, `${JSON.stringify(settings, null, 1)}\n`, { mode: 0o600 })
    await rename(fresh, this.settingsPath)
  }
}

function withFirst(directory: string, path: string | undefined): string {
  return [directory, ...(path ?? '').split(delimiter)].filter((part) => part !== '').join(delimiter)
}

/** Faults as somebody outside wrote them. @throws ServerError INVALID_ARG that names the field */
export function readFaults(value: unknown): readonly SimulatedFault[] {
  if (!Array.isArray(value)) throw new ServerError('INVALID_ARG', "'faults' must be a list of {kind, device, count, phase, needsReset}; an empty list clears all faults")
  return value.map((entry: unknown, index) => {
    const wrong = (field: string, expected: string) => new ServerError('INVALID_ARG', `faults[${index}].${field} must be ${expected}`)
    const { kind, device = null, count = null, phase = null, needsReset = false } = (typeof entry === 'object' && entry !== null ? entry : {}) as Readonly<Record<string, unknown>>
    const knownKind = FAULT_KINDS.find((name) => name === kind)
    if (knownKind === undefined) throw wrong('kind', `one of ${FAULT_KINDS.join(', ')}`)
    if (device !== null && !isWholeNumber(device, 0)) throw wrong('device', 'a device number, or null for every device')
    if (count !== null && !isWholeNumber(count, 1)) throw wrong('count', 'how often it strikes, from 1, or null for always')
    const knownPhase = phase === null ? null : FAULT_PHASES.find((name) => name === phase)
    if (knownPhase === undefined) throw wrong('phase', `null or one of ${FAULT_PHASES.join(', ')}`)
    if (typeof needsReset !== 'boolean') throw wrong('needsReset', 'true or false')
    return { kind: knownKind, device, count, phase: knownPhase, needsReset }
  })
}

function isWholeNumber(value: unknown, low: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= low
}
