/** Asks the driver by its command npu-smi: the table each time, and after it one of the slower questions in turn. */
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { logicalIdOf } from './device-cards.ts'
import { chipErrorCodes, chipUsage, parseChipBlocks, parseIdTable, type ChipIds, type NpuSmiFields } from './npu-smi-details.ts'
import { parseNpuSmiTable, type NpuSmiChip } from './npu-smi-table.ts'
import { NpuTelemetryError, type Dated, type NpuReading, type NpuTelemetrySource } from './npu-telemetry-source.ts'
import { runTool, type RunTool } from './run-tool.ts'

export interface NpuSmiSourceOptions {
  readonly toolPath: string
  readonly environment: NodeJS.ProcessEnv
  readonly wallMilliseconds: () => number
  readonly run?: RunTool
}

/** A card in trouble answers after seconds; a healthy one within one. */
const TIMEOUT_MILLISECONDS = 10_000
/** What a card does not support is asked for again after a driver update at the latest: not every second. */
const RETRY_MILLISECONDS = 60_000
/** How old a detail may be before it is asked for again. */
const DETAIL_MILLISECONDS = 3000

interface ChipDetails {
  readonly vectorCorePercent: Dated<number> | null
  readonly cubeCorePercent: Dated<number> | null
  readonly errorCodes: Dated<readonly string[]> | null
}

const NO_DETAILS: ChipDetails = { vectorCorePercent: null, cubeCorePercent: null, errorCodes: null }

/** One of the slower questions. */
interface Question {
  readonly key: string
  readonly args: readonly string[]
  readonly take: (text: string, readAt: number) => void
}

export class NpuSmiSource implements NpuTelemetrySource {
  readonly kind = 'npu-smi'
  readonly #toolPath: string
  readonly #environment: NodeJS.ProcessEnv
  readonly #now: () => number
  readonly #run: RunTool
  readonly #details = new Map<string, ChipDetails>()
  /** When each question is due. */
  readonly #dueAt = new Map<string, number>()
  #ids: readonly ChipIds[] = []
  #knownChips = ''

  constructor({ toolPath, environment, wallMilliseconds, run }: NpuSmiSourceOptions) {
    this.#toolPath = toolPath
    this.#environment = withDriverLibraries(environment)
    this.#now = wallMilliseconds
    this.#run = run ?? runTool
  }

  async read(): Promise<NpuReading> {
    const readAt = this.#now()
    const text = await this.#ask(['info'])
    const table = parseNpuSmiTable(text)
    if (table === null) throw unreadable(text)
    const chips = table.chips.map((chip) => keyOf(chip.slot, chip.chipIndex)).join()
    if (chips !== this.#knownChips) {
      // Cards came or went: everything is asked for anew.
      this.#knownChips = chips
      this.#dueAt.clear()
      this.#details.clear()
      this.#ids = []
    }
    await this.#askNextDetail(table.chips)
    return {
      readAt, isSimulated: table.isSimulated, driverVersion: table.driverVersion,
      chips: table.chips.map(({ physicalId: _physicalId, logicalId, ...chip }) => ({
        ...chip, logicalId: logicalId ?? logicalIdOf(chip, this.#ids), ...(this.#details.get(keyOf(chip.slot, chip.chipIndex)) ?? NO_DETAILS),
      })),
    }
  }

  /** The question that has been due for longest. One that fails leaves what it would have told unknown, and comes again later. */
  async #askNextDetail(chips: readonly NpuSmiChip[]): Promise<void> {
    const now = this.#now()
    const due = this.#questions(chips).filter(({ key }) => (this.#dueAt.get(key) ?? 0) <= now).sort((a, b) => (this.#dueAt.get(a.key) ?? 0) - (this.#dueAt.get(b.key) ?? 0))
    const [question] = due
    if (question === undefined) return
    try {
      const text = await this.#ask(question.args)
      question.take(text, now)
      this.#dueAt.set(question.key, now + (question.key === 'ids' ? RETRY_MILLISECONDS : DETAIL_MILLISECONDS))
    } catch (error) {
      if (!(error instanceof NpuTelemetryError)) throw error
      this.#dueAt.set(question.key, now + RETRY_MILLISECONDS)
    }
  }

  #questions(chips: readonly NpuSmiChip[]): readonly Question[] {
    const slots = [...new Set(chips.map(({ slot }) => slot))]
    const needsIds = chips.some(({ logicalId }) => logicalId === null)
    return [
      ...(needsIds ? [{ key: 'ids', args: ['info', '-m'], take: (text: string) => { this.#ids = parseIdTable(text) } }] : []),
      ...slots.map((slot): Question => ({
        key: `usages ${slot}`, args: ['info', '-t', 'usages', '-i', String(slot)],
        take: (text, readAt) => {
          this.#merge(slot, text, (fields) => {
            const { vectorCorePercent, cubeCorePercent } = chipUsage(fields)
            return { vectorCorePercent: dated(vectorCorePercent, readAt), cubeCorePercent: dated(cubeCorePercent, readAt) }
          })
        },
      })),
      ...slots.map((slot): Question => ({
        key: `health ${slot}`, args: ['info', '-t', 'health', '-i', String(slot)],
        take: (text, readAt) => { this.#merge(slot, text, (fields) => ({ errorCodes: dated(chipErrorCodes(fields), readAt) })) },
      })),
    ]
  }

  #merge(slot: number, text: string, values: (fields: NpuSmiFields) => Partial<ChipDetails>): void {
    for (const [chip, fields] of parseChipBlocks(text)) {
      const key = keyOf(slot, chip)
      this.#details.set(key, { ...(this.#details.get(key) ?? NO_DETAILS), ...values(fields) })
    }
  }

  async #ask(args: readonly string[]): Promise<string> {
    const result = await this.#run({ command: this.#toolPath, args, environment: this.#environment, timeoutMilliseconds: TIMEOUT_MILLISECONDS }).catch((cause: unknown) => {
      throw new NpuTelemetryError({
        en: `${this.#toolPath} cannot be started: ${messageOf(cause)}`, 'zh-CN': `无法启动 ${this.#toolPath}：${messageOf(cause)}`,
      }, { cause })
    })
    if (result.isTimedOut) {
      const seconds = TIMEOUT_MILLISECONDS / 1000
      throw new NpuTelemetryError({ en: `npu-smi did not answer within ${seconds} s`, 'zh-CN': `npu-smi 在 ${seconds} 秒内没有应答` })
    }
    if (result.exitCode !== 0) throw explainNpuSmiFailure(`${result.stdout}\n${result.stderr}`.trim(), result.exitCode)
    return result.stdout
  }
}

/** The failures of npu-smi that are known (their texts are the driver's), and what to do about them. */
export function explainNpuSmiFailure(output: string, exitCode: number | null): NpuTelemetryError {
  const said = output.split('\n').map((line) => line.trim()).find((line) => line !== '') ?? ''
  if (/-8005\b/.test(output)) {
    return new NpuTelemetryError({
      en: `the driver refuses this process (${said}): the user is not in the group HwHiAiUser, or the card is given to a container`,
      'zh-CN': `驱动拒绝了本进程（${said}）：当前用户不在 HwHiAiUser 组，或该卡已分配给某个容器`,
    })
  }
  const library = /(lib[\w.+-]+\.so[\w.]*): cannot open shared object file/.exec(output)?.[1]
  if (library !== undefined) {
    return new NpuTelemetryError({
      en: `npu-smi does not find ${library}: the driver's libraries are not installed completely, or not where they are looked for`,
      'zh-CN': `npu-smi 找不到 ${library}：驱动库未装全，或不在查找路径中`,
    })
  }
  return new NpuTelemetryError({ en: `npu-smi failed with exit code ${exitCode ?? '-'}: ${said}`, 'zh-CN': `npu-smi 失败，退出码 ${exitCode ?? '-'}：${said}` })
}

function unreadable(text: string): NpuTelemetryError {
  if (/-8005\b|cannot open shared object file/.test(text)) return explainNpuSmiFailure(text, 0)
  const said = text.split('\n').find((line) => line.trim() !== '')?.trim() ?? ''
  return new NpuTelemetryError({ en: `npu-smi printed no table of cards: ${said}`, 'zh-CN': `npu-smi 没有打印卡的列表：${said}` })
}

/** Looked for as a shell would, then where the driver puts it. @returns null: not installed */
export async function findNpuSmi(environment: NodeJS.ProcessEnv, root = '/'): Promise<string | null> {
  const directories = [...(environment['PATH'] ?? '').split(delimiter).filter((path) => path !== ''), join(root, 'usr/local/bin'), join(root, 'usr/local/sbin')]
  for (const directory of directories) {
    const path = join(directory, 'npu-smi')
    if (await access(path, constants.X_OK).then(() => true, () => false)) return path
  }
  return null
}

/** npu-smi needs the driver's libraries (libc_sec.so and others), which only set_env.sh puts on the path. */
function withDriverLibraries(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const driver = '/usr/local/Ascend/driver/lib64'
  const paths = [environment['LD_LIBRARY_PATH'], driver, `${driver}/common`, `${driver}/driver`].filter((path) => path !== undefined && path !== '')
  return { ...environment, LD_LIBRARY_PATH: paths.join(':') }
}

function keyOf(slot: number, chipIndex: number | null): string {
  return `${slot}/${chipIndex ?? ''}`
}

function dated<T>(value: T | null, readAt: number): Dated<T> | null {
  return value === null ? null : { value, readAt }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
