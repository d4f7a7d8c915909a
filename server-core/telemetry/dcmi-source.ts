/**
 * Asks the driver through its library DCMI. Each reading runs on a native thread of its own; one that a card lets hang is not waited for, and no
 * second one is begun while it lasts.
 */
import { readFile } from 'node:fs/promises'
import { parse } from 'node:path'
import type { Clock } from '../clock.ts'
import type { NpuHealth } from '../contract/statistics.ts'
import type { DcmiChipValues, DcmiValues, NativeAddon } from '../backends/native-addon.ts'
import type { Logger } from '../logger.ts'
import { NpuTelemetryError, type Dated, type NpuChipReading, type NpuProcessReading, type NpuReading, type NpuTelemetrySource } from './npu-telemetry-source.ts'

export interface DcmiSourceOptions {
  readonly readDcmi: NativeAddon['readDcmi']
  /** Of libdcmi.so; '' : where the loader and the driver's installer have it. */
  readonly directory: string
  readonly clock: Clock
  /** Default: from /proc. @returns null: it is gone */
  readonly processName?: (processId: number) => Promise<string | null>
}

/** A card in trouble answers after seconds; a healthy one within milliseconds. */
const TIMEOUT_MILLISECONDS = 10_000
const HEALTH: readonly NpuHealth[] = ['ok', 'warning', 'alarm', 'critical']

/** What names a chip and never changes; kept for a chip that does not answer any more. */
type ChipNames = Pick<NpuChipReading, 'logicalId' | 'name' | 'busId'>

export class DcmiSource implements NpuTelemetrySource {
  readonly kind = 'dcmi'
  readonly #options: DcmiSourceOptions
  readonly #names = new Map<string, ChipNames>()
  #pending: Promise<DcmiValues> | null = null

  constructor(options: DcmiSourceOptions) { this.#options = options }

  async read(): Promise<NpuReading> {
    const readAt = this.#options.clock.wallMilliseconds()
    const { driverVersion, isSimulated, chips } = await this.#answer()
    return { readAt, isSimulated, driverVersion: driverVersion === '' ? null : driverVersion, chips: await Promise.all(chips.map((chip) => this.#chip(chip, readAt))) }
  }

  async #answer(): Promise<DcmiValues> {
    const pending = this.#pending ??= this.#begin().finally(() => { this.#pending = null })
    const { promise: late, reject } = Promise.withResolvers<never>()
    const seconds = TIMEOUT_MILLISECONDS / 1000
    const cancel = this.#options.clock.after(TIMEOUT_MILLISECONDS * 1e6, () => {
      reject(new NpuTelemetryError({ en: `the driver's library DCMI did not answer within ${seconds} s: a card hangs`, 'zh-CN': `驱动库 DCMI 在 ${seconds} 秒内没有应答：有卡挂起` }))
    })
    try {
      return await Promise.race([pending, late])
    } finally {
      cancel()
      // Whoever reads next waits for the same answer; its failure is theirs.
      pending.catch(() => undefined)
    }
  }

  #begin(): Promise<DcmiValues> {
    return new Promise((resolve, reject) => {
      this.#options.readDcmi(this.#options.directory, (error, values) => {
        if (error !== null) reject(explain(error))
        else resolve(values)
      })
    })
  }

  async #chip(values: DcmiChipValues, readAt: number): Promise<NpuChipReading> {
    const key = `${values.card}/${values.chip}`
    const known = this.#names.get(key)
    const names: ChipNames = { logicalId: values.logicalId ?? known?.logicalId ?? null, name: values.name ?? known?.name ?? '', busId: values.busId ?? known?.busId ?? null }
    this.#names.set(key, names)
    const { powerWatts, temperatureCelsius, aiCorePercent, memoryUsedBytes, memoryTotalBytes, vectorCorePercent, cubeCorePercent, errorCodes, overallPercent, aiCoreMegahertz, hbmTemperatureCelsius, hbmBandwidthPercent } = values
    return {
      ...names, slot: values.card, chipIndex: values.chip, health: values.health === null ? null : HEALTH[values.health] ?? null,
      powerWatts, temperatureCelsius, aiCorePercent, memoryUsedBytes, memoryTotalBytes,
      processes: values.processes === null ? null : await this.#processes(values.processes),
      gauges: { overallPercent, aiCoreMegahertz, hbmTemperatureCelsius, hbmBandwidthPercent },
      vectorCorePercent: dated(vectorCorePercent, readAt), cubeCorePercent: dated(cubeCorePercent, readAt),
      errorCodes: dated(errorCodes?.filter((code) => code !== 0).map((code) => code.toString(16).toUpperCase().padStart(8, '0')) ?? null, readAt),
    }
  }

  async #processes(processes: NonNullable<DcmiChipValues['processes']>): Promise<readonly NpuProcessReading[]> {
    const nameOf = this.#options.processName ?? processName
    return Promise.all(processes.map(async ({ processId, memoryBytes }) => ({ processId, memoryBytes, name: await nameOf(processId) ?? '' })))
  }
}

/**
 * DCMI where it is there and lets this process in. One look at it is taken for that.
 * @returns null: ask npu-smi, which says why when it fails too
 */
export async function findDcmi(options: DcmiSourceOptions, log: Logger): Promise<DcmiSource | null> {
  const source = new DcmiSource(options)
  try {
    const { chips } = await source.read()
    if (chips.length > 0) return source
    log.verbose(1, 'DCMI lists no chips, npu-smi is asked instead')
  } catch (error) {
    if (!(error instanceof NpuTelemetryError)) throw error
    log.verbose(1, 'DCMI cannot be used, npu-smi is asked instead', { reason: error.message })
  }
  return null
}

/** What Node calls the first thread of every process, which says nothing about the program. */
const NODE_MAIN_THREAD = 'MainThread'

/** As `ps` names it; of a program that Node runs, the name of its script without its ending. */
async function processName(processId: number): Promise<string | null> {
  const read = (file: string) => readFile(`/proc/${processId}/${file}`, 'utf8').catch(() => null)
  const name = (await read('comm'))?.trimEnd() ?? null
  if (name !== NODE_MAIN_THREAD) return name
  const [program = name, ...args] = (await read('cmdline'))?.split('\0') ?? []
  return parse(args.find((arg) => arg !== '' && !arg.startsWith('-')) ?? program).name
}

function explain(error: Error & { readonly dcmiCode: number }): NpuTelemetryError {
  if (error.dcmiCode !== -8005 && error.dcmiCode !== -8002) return new NpuTelemetryError({ en: error.message, 'zh-CN': error.message }, { cause: error })
  return new NpuTelemetryError({
    en: `the driver refuses this process (${error.message}): the user is not in the group HwHiAiUser, or the card is given to a container`,
    'zh-CN': `驱动拒绝了本进程（${error.message}）：当前用户不在 HwHiAiUser 组，或该卡已分配给某个容器`,
  }, { cause: error })
}

function dated<T>(value: T | null, readAt: number): Dated<T> | null {
  return value === null ? null : { value, readAt }
}
