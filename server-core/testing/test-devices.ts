import { LogHub } from '../logger.ts'
import { Devices } from '../telemetry/devices.ts'
import { thisMachine } from '../telemetry/doctor/machine.ts'
import { npuSimulation, type NpuSimulation } from '../simulated-npu/npu-simulation.ts'
import { FakeClock } from './fake-clock.ts'

/** The cards of the machine that the test runs on, never read: for front ends that want some. */
export function idleDevices(): Devices {
  return new Devices({ clock: new FakeClock(), logs: new LogHub(), machine: thisMachine({}, null), processId: process.pid, modelSummaries: () => [] })
}

/** What front ends have of the simulated NPU while the server runs without. */
export function noSimulation(): NpuSimulation {
  return npuSimulation(null, { npuSimulatedCards: [], npuSimulatedTimeScale: 1 }, new LogHub().logger('simulated-npu'))
}
