/** What the Devices page knows: the cards and who uses them (pushed by the server), the Doctor's last findings, and ten minutes of samples. */
import { create } from 'zustand'
import type { DevicesReport, DoctorReport, SimulatedFault, SimulatedNpuReport } from '../../../server-core/contract/devices.ts'
import type { ServerSample } from '../../../server-core/contract/statistics.ts'
import { ConsoleError, type ConsoleClient } from '../../console-client.ts'
import { SampleRing } from '../../lib/sample-ring.ts'

export const HISTORY_SECONDS = 600

export interface DevicesState {
  /** Null until the server has told. */
  readonly report: DevicesReport | null
  readonly doctor: DoctorReport | null
  /** Since when an examination runs, milliseconds since the epoch; null: none does. */
  readonly examinedSince: number | null
  readonly doctorError: unknown
  /** Null until the server has told. */
  readonly simulation: SimulatedNpuReport | null
  /** Why the last change of the faults did not take place. */
  readonly faultsError: unknown
  /** The last ten minutes, oldest first. */
  readonly samples: readonly ServerSample[]
}

export const useDevices = create<DevicesState>()(() => ({ report: null, doctor: null, examinedSince: null, doctorError: null, simulation: null, faultsError: null, samples: [] }))

type Client = Pick<ConsoleClient, 'command' | 'on' | 'onState' | 'state'>

/** Keeps the page in step while it is shown. Returns the function that stops it. */
export function followDevices(client: Client): () => void {
  const ring = new SampleRing(HISTORY_SECONDS)
  const show = () => useDevices.setState({ samples: ring.between(-Infinity, Infinity) })
  const fetchAll = () => {
    void ignoringDisconnect(client.command('devices.report').then((report) => useDevices.setState({ report })))
    void ignoringDisconnect(client.command('npu.simulation').then((simulation) => useDevices.setState({ simulation, faultsError: null })))
    void ignoringDisconnect(client.command('statistics.history', { seconds: HISTORY_SECONDS }).then((samples) => { ring.add(samples); show() }))
    if (useDevices.getState().doctor === null) void examine(client)
  }
  const stops = [
    client.on('devices.changed', (report) => useDevices.setState({ report })),
    client.on('statistics.sample', (sample) => {
      ring.add([sample])
      if (!document.hidden) show()
    }),
    client.onState((state) => { if (state === 'open') fetchAll() }),
  ]
  document.addEventListener('visibilitychange', show)
  if (client.state === 'open') fetchAll()
  return () => {
    for (const stop of stops) stop()
    document.removeEventListener('visibilitychange', show)
  }
}

/** Has the Doctor look at the machine; while it looks a second call does nothing. */
export async function examine(client: Pick<ConsoleClient, 'command'>): Promise<void> {
  if (useDevices.getState().examinedSince !== null) return
  useDevices.setState({ examinedSince: Date.now(), doctorError: null })
  try {
    useDevices.setState({ doctor: await client.command('doctor.run') })
  } catch (error) {
    if (!isDisconnect(error)) useDevices.setState({ doctorError: error })
  } finally {
    useDevices.setState({ examinedSince: null })
  }
}

/** Has the simulated cards suffer from these faults and no others. */
export async function setFaults(client: Pick<ConsoleClient, 'command'>, faults: readonly SimulatedFault[]): Promise<void> {
  try {
    const now = await client.command('npu.setFaults', { faults })
    useDevices.setState(({ simulation }) => ({ simulation: simulation === null ? null : { ...simulation, faults: now }, faultsError: null }))
  } catch (error) {
    useDevices.setState({ faultsError: error })
  }
}

/** The next connection fetches again; the banner of the frame says that there is none. */
async function ignoringDisconnect(work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!isDisconnect(error)) throw error
  }
}

function isDisconnect(error: unknown): boolean { return error instanceof ConsoleError && error.isDisconnect }
