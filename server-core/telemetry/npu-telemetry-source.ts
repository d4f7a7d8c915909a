/**
 * Where figures of the cards come from. Two ways to ask the driver: its C library (DCMI, through the native addon) and its command npu-smi.
 * Whoever reads is off the request path and asks one thing at a time.
 */
import type { LocalizedText } from '../contract/config-language.ts'
import type { NpuGauges, NpuHealth } from '../contract/statistics.ts'

/** Null wherever the driver does not tell a value: never 0 for unknown. */
export interface NpuTelemetrySource {
  readonly kind: 'dcmi' | 'npu-smi'
  /**
   * Asks for what moves, and maybe for one of the slow parts; those that were not asked for again come with the time of their last answer.
   * The caller never overlaps two reads. @throws NpuTelemetryError
   */
  read(): Promise<NpuReading>
}

export interface NpuReading {
  /** When the driver was asked, milliseconds since the epoch. */
  readonly readAt: number
  readonly isSimulated: boolean
  readonly driverVersion: string | null
  /** In the driver's order. */
  readonly chips: readonly NpuChipReading[]
}

/** A value with the time when it was asked for. */
export interface Dated<T> {
  readonly value: T
  /** Milliseconds since the epoch. */
  readonly readAt: number
}

export interface NpuChipReading {
  readonly slot: number
  readonly chipIndex: number | null
  readonly logicalId: number | null
  readonly name: string
  readonly busId: string | null
  readonly health: NpuHealth | null
  readonly powerWatts: number | null
  readonly temperatureCelsius: number | null
  readonly aiCorePercent: number | null
  readonly memoryUsedBytes: number | null
  readonly memoryTotalBytes: number | null
  /** Null: the driver does not list processes. */
  readonly processes: readonly NpuProcessReading[] | null
  readonly vectorCorePercent: Dated<number> | null
  readonly cubeCorePercent: Dated<number> | null
  readonly errorCodes: Dated<readonly string[]> | null
  /** Absent: the source does not tell. */
  readonly gauges?: NpuGauges
}

export interface NpuProcessReading {
  readonly processId: number
  readonly name: string
  readonly memoryBytes: number | null
}

/** Why the driver could not be read, for people. */
export class NpuTelemetryError extends Error {
  readonly explanation: LocalizedText

  constructor(explanation: LocalizedText, options?: ErrorOptions) {
    super(explanation.en, options)
    this.name = 'NpuTelemetryError'
    this.explanation = explanation
  }
}
