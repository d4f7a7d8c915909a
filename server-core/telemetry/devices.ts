/** The cards of this machine for the rest of the server: telemetry, who uses them, and the Doctor. Wired by the composition root. */
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { DevicesReport, DoctorReport } from '../contract/devices.ts'
import type { ModelSummary } from '../contract/repository.ts'
import type { NpuSample } from '../contract/statistics.ts'
import type { LogHub } from '../logger.ts'
import { runDoctor } from './doctor/doctor.ts'
import type { Machine } from './doctor/machine.ts'
import { NpuTelemetry } from './npu-telemetry.ts'
import { findNpuSmi, NpuSmiSource } from './npu-smi-source.ts'
import type { NpuTelemetrySource } from './npu-telemetry-source.ts'
import { ProcessOwners } from './process-owners.ts'

export interface DevicesOptions {
  readonly clock: Clock
  readonly logs: LogHub
  readonly machine: Machine
  readonly processId: number
  readonly modelSummaries: () => readonly ModelSummary[]
  /** Told when cards are well again; see NpuTelemetry. */
  readonly onCardsAnswer?: (isBack: (device: number) => boolean) => void
  /** Asked first where it is given and finds something; npu-smi otherwise. */
  readonly findDcmi?: () => Promise<NpuTelemetrySource | null>
}

/** What front ends may ask. */
export interface DevicesView {
  report(): DevicesReport
  /** The cards as they are known now; null: no NPU found. */
  samples(): readonly NpuSample[] | null
  runDoctor(): Promise<DoctorReport>
  /** Returns an unsubscribe function. */
  subscribe(listener: (report: DevicesReport) => void): () => void
}

export class Devices implements DevicesView {
  /** Backends that start processes of their own tell it here. */
  readonly owners: ProcessOwners
  readonly #machine: Machine
  readonly #telemetry: NpuTelemetry
  readonly #listeners = new Set<(report: DevicesReport) => void>()
  #examination: Promise<DoctorReport> | null = null

  constructor({ clock, logs, machine, processId, modelSummaries, findDcmi, onCardsAnswer }: DevicesOptions) {
    const { environment } = machine
    const wallMilliseconds = () => clock.wallMilliseconds()
    this.#machine = machine
    this.owners = new ProcessOwners(processId, modelSummaries)
    this.#telemetry = new NpuTelemetry({
      clock, owners: this.owners, visibleDevices: environment['ASCEND_RT_VISIBLE_DEVICES'], log: logs.logger('npu-telemetry'),
      findSource: async () => {
        if (machine.npu.source === 'off') return null
        const dcmi = await findDcmi?.()
        if (dcmi !== null && dcmi !== undefined) return dcmi
        const { simulatedCann } = machine.npu
        // Beside a real driver too, figures of simulated cards come from the simulator.
        const toolPath = simulatedCann === null ? await findNpuSmi(environment) : join(simulatedCann, 'bin/npu-smi')
        return toolPath === null ? null : new NpuSmiSource({ toolPath, environment, wallMilliseconds })
      },
      onReportChanged: (report) => { for (const listener of this.#listeners) listener(report) },
      ...(onCardsAnswer === undefined ? {} : { onCardsAnswer }),
    })
  }

  /** Null: no NPU found. */
  get count(): number | null { return this.#telemetry.count }
  /** Null: no NPU found, or the driver does not say. */
  get driverVersion(): string | null { return this.#telemetry.driverVersion }

  start(): void { this.#telemetry.start() }
  stop(): void { this.#telemetry.stop() }
  modelChanged(summary: ModelSummary): void { this.#telemetry.modelChanged(summary) }
  report(): DevicesReport { return this.#telemetry.report() }
  samples(): readonly NpuSample[] | null { return this.#telemetry.samples() }

  /** Two windows that ask at the same time share one examination. */
  runDoctor(): Promise<DoctorReport> {
    this.#examination ??= runDoctor(this.#machine).finally(() => { this.#examination = null })
    return this.#examination
  }

  subscribe(listener: (report: DevicesReport) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }
}
