/** Reads the cards once a second, off the request path, and answers at any moment what is known and how old it is. */
import type { Clock } from '../clock.ts'
import type { LocalizedText } from '../contract/config-language.ts'
import type { DeviceProcess, DevicesReport } from '../contract/devices.ts'
import type { ModelSummary } from '../contract/repository.ts'
import type { NpuSample } from '../contract/statistics.ts'
import type { Logger } from '../logger.ts'
import { cardNumber, deviceCards } from './device-cards.ts'
import { MemoryLedger } from './memory-ledger.ts'
import { NpuTelemetryError, type Dated, type NpuChipReading, type NpuReading, type NpuTelemetrySource } from './npu-telemetry-source.ts'
import type { ProcessOwners } from './process-owners.ts'
import { readVisibleDevices } from './visible-devices.ts'

export interface NpuTelemetryOptions {
  readonly clock: Clock
  /** Null: there is nothing to ask; asked again from time to time, since a driver may be installed meanwhile. */
  readonly findSource: () => Promise<NpuTelemetrySource | null>
  readonly owners: ProcessOwners
  /** `ASCEND_RT_VISIBLE_DEVICES` of this process. */
  readonly visibleDevices: string | undefined
  readonly log: Logger
  readonly onReportChanged: (report: DevicesReport) => void
  /** Cards that were missing, silent or in alarm are well. @param isBack whether a device, as backends number it, is one of them */
  readonly onCardsAnswer?: (isBack: (device: number) => boolean) => void
}

const NANOSECONDS_PER_MILLISECOND = 1e6
const PERIOD_MILLISECONDS = 1000
const SEARCH_MILLISECONDS = 60_000
/** Older than this a value does not stand for the present: it is unknown. */
const EXPIRY_MILLISECONDS = 10_000
/** Details are asked for in turn, one a second: with eight cards that takes a while. */
const DETAIL_EXPIRY_MILLISECONDS = 60_000

export class NpuTelemetry {
  readonly #options: NpuTelemetryOptions
  readonly #ledger = new MemoryLedger((device) => this.#cardOf(device))
  #source: NpuTelemetrySource | null = null
  #reading: NpuReading | null = null
  #problem: LocalizedText | null = null
  #cancelTimer: (() => void) | null = null
  #isStopped = true
  #announced = ''

  constructor(options: NpuTelemetryOptions) {
    this.#options = options
  }

  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    void this.#turn()
  }

  /** A reading that is under way ends by itself and changes nothing any more. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  modelChanged(summary: ModelSummary): void {
    this.#ledger.modelChanged(summary, this.#options.clock.wallMilliseconds())
    this.#announce()
  }

  /** Null: no NPU found. */
  get count(): number | null { return this.#reading === null ? null : this.#reading.chips.length }

  get driverVersion(): string | null { return this.#reading?.driverVersion ?? null }

  /** Each card as it is known now; null: no NPU found. What is too old is unknown. */
  samples(): readonly NpuSample[] | null {
    const reading = this.#reading
    if (reading === null) return null
    const now = this.#options.clock.wallMilliseconds()
    const isFresh = now - reading.readAt <= EXPIRY_MILLISECONDS
    const current = <T>(value: T | null): T | null => (isFresh ? value : null)
    const detail = <T>(dated: Dated<T> | null): T | null => (dated !== null && now - dated.readAt <= DETAIL_EXPIRY_MILLISECONDS ? dated.value : null)
    return reading.chips.map((chip, index) => {
      const details = [chip.vectorCorePercent, chip.cubeCorePercent, chip.errorCodes].filter((dated) => dated !== null)
      return {
        card: cardNumber(chip, index), chip: chip.name, aiCorePercent: current(chip.aiCorePercent),
        vectorCorePercent: detail(chip.vectorCorePercent), cubeCorePercent: detail(chip.cubeCorePercent),
        memoryUsedBytes: current(chip.memoryUsedBytes), memoryTotalBytes: chip.memoryTotalBytes,
        temperatureCelsius: current(chip.temperatureCelsius), powerWatts: current(chip.powerWatts), health: current(chip.health),
        errorCodes: detail(chip.errorCodes), ...(chip.gauges === undefined ? {} : { gauges: current(chip.gauges) }), readAt: reading.readAt,
        detailsReadAt: details.length === 0 ? null : Math.min(...details.map(({ readAt }) => readAt)), isSimulated: reading.isSimulated,
      }
    })
  }

  report(): DevicesReport {
    const chips = this.#reading?.chips ?? []
    const visible = readVisibleDevices(this.#options.visibleDevices, this.#reading === null ? null : chips.length)
    const lists = chips.filter(({ processes }) => processes !== null)
    return {
      source: this.#source?.kind ?? null,
      isSimulated: this.#reading?.isSimulated ?? false,
      driverVersion: this.driverVersion,
      problem: this.#problem,
      cards: deviceCards(chips, visible),
      processes: lists.length === 0 ? null : chips.flatMap((chip, index) => this.#processesOf(chip, cardNumber(chip, index))),
      memory: this.#ledger.records(),
      visibleDevices: visible,
    }
  }

  /** Backends number the devices that are visible to the process. */
  #cardOf(device: number): number {
    const visible = readVisibleDevices(this.#options.visibleDevices, this.#reading === null ? null : this.#reading.chips.length)
    return visible === null ? device : visible.logicalIds[device] ?? device
  }

  #processesOf(chip: NpuChipReading, card: number): DeviceProcess[] {
    const { owners } = this.#options
    return (chip.processes ?? []).map((process) => ({
      card, processId: process.processId, name: process.name, memoryBytes: process.memoryBytes,
      models: owners.modelsOf(process.processId, (device) => this.#cardOf(device) === card), isOurs: owners.isOurs(process.processId),
    }))
  }

  /** One look, then the next: a second after this one began, or as soon as it has ended. */
  async #turn(): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.now()
    const hasSource = await this.#look()
    if (this.#isStopped) return
    const wait = hasSource ? PERIOD_MILLISECONDS : SEARCH_MILLISECONDS
    const elapsed = clock.now() - startedAt
    this.#cancelTimer = clock.after(Math.max(0, wait * NANOSECONDS_PER_MILLISECOND - elapsed), () => { void this.#turn() })
  }

  async #look(): Promise<boolean> {
    try {
      this.#source ??= await this.#options.findSource()
      const reading = await this.#source?.read()
      if (this.#isStopped || reading === undefined) return this.#source !== null
      this.#take(reading)
      this.#setProblem(null)
    } catch (error) {
      this.#setProblem(error instanceof NpuTelemetryError ? error.explanation : unexpected(error))
    }
    this.#announce()
    return true
  }

  #take(reading: NpuReading): void {
    const before = this.#reading
    if (before === null) this.#options.log.info('cards found', { count: reading.chips.length, source: this.#source?.kind ?? '', simulated: reading.isSimulated })
    this.#reading = reading
    const { owners, onCardsAnswer } = this.#options
    const well = before === null ? [] : wellCards(before)
    const back = before === null ? [] : wellCards(reading).filter((card) => !well.includes(card))
    if (back.length > 0) onCardsAnswer?.((device) => back.includes(this.#cardOf(device)))
    this.#ledger.read(reading.chips.map((chip, index) => ({
      card: cardNumber(chip, index), usedBytes: chip.memoryUsedBytes,
      ownBytes: chip.processes === null ? null : chip.processes.reduce((sum, process) => sum + (owners.isOurs(process.processId) ? process.memoryBytes ?? 0 : 0), 0),
    })), reading.readAt)
  }

  /** The same trouble every second is one line in the log. */
  #setProblem(problem: LocalizedText | null): void {
    if (problem?.en === this.#problem?.en) return
    this.#problem = problem
    if (problem !== null) this.#options.log.warning('the cards could not be read', { reason: problem.en })
    else this.#options.log.info('the cards can be read again')
  }

  #announce(): void {
    if (this.#isStopped) return
    const report = this.report()
    const text = JSON.stringify(report)
    if (text === this.#announced) return
    this.#announced = text
    this.#options.onReportChanged(report)
  }
}

/** Numbers of the cards that say of themselves that they work. */
function wellCards({ chips }: NpuReading): readonly number[] {
  return chips.flatMap((chip, index) => (chip.health === 'ok' || chip.health === 'warning' ? [cardNumber(chip, index)] : []))
}

function unexpected(error: unknown): LocalizedText {
  const message = error instanceof Error ? error.message : String(error)
  return { en: `reading the cards failed: ${message}`, 'zh-CN': `读取设备失败：${message}` }
}
