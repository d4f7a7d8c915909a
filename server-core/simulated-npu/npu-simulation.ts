/** The simulated NPU as front ends see it, also while it is off. */
import type { SimulatedFault, SimulatedNpuReport } from '../contract/devices.ts'
import type { Logger } from '../logger.ts'
import type { ServerOptions } from '../options.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { readSimulatedCann } from './simulated-cann.ts'
import { readFaults, type SimulatedNpu } from './simulated-npu.ts'

export interface NpuSimulation {
  report(): Promise<SimulatedNpuReport>
  /** @throws ServerError UNAVAILABLE unless the server runs with `--npu=simulated` */
  faults(): readonly SimulatedFault[]
  /**
   * These faults and no others.
   * @param value what somebody outside sent; checked here
   * @throws ServerError UNAVAILABLE unless the server runs with `--npu=simulated`; INVALID_ARG that names the field
   */
  setFaults(value: unknown): Promise<readonly SimulatedFault[]>
}

/**
 * @param simulated null: the server runs without
 * @param options what it would be like
 */
export function npuSimulation(simulated: SimulatedNpu | null, options: Pick<ServerOptions, 'npuSimulatedCards' | 'npuSimulatedTimeScale'>, log: Logger): NpuSimulation {
  const running = (): SimulatedNpu => {
    if (simulated === null) throw new ServerError('UNAVAILABLE', 'Faults can be injected into simulated cards only, and this server runs without: start it with --npu=simulated')
    return simulated
  }
  const off = { isOn: false, cards: options.npuSimulatedCards, timeScale: options.npuSimulatedTimeScale, faults: [] } as const
  return {
    async report() {
      if (simulated !== null) return { isOn: true, unavailableReason: null, profiles: simulated.cann.profiles, cards: simulated.cards, timeScale: simulated.timeScale, faults: simulated.faults }
      try {
        return { ...off, unavailableReason: null, profiles: (await readSimulatedCann()).profiles }
      } catch (error) {
        return { ...off, unavailableReason: toServerError(error).message, profiles: [] }
      }
    },
    faults: () => running().faults,
    async setFaults(value) {
      const npu = running()
      const faults = readFaults(value)
      await npu.setFaults(faults)
      log.warning(faults.length === 0 ? 'faults of the simulated cards cleared' : 'faults injected into simulated cards', { faults: faults.map(printFault).join(', ') })
      return faults
    },
  }
}

function printFault({ kind, device, count, phase, needsReset }: SimulatedFault): string {
  return `${kind}${phase === null ? '' : ` at ${phase}`} on ${device === null ? 'every device' : `device ${device}`}${count === null ? '' : ` x${count}`}${needsReset ? ' until a reset' : ''}`
}
