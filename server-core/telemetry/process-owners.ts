import type { ModelSummary } from '../contract/repository.ts'
import { devicesOf } from '../contract/repository.ts'

/** Says which models live in a process: the server's own holds all instances that are threads of it; a backend tells of processes that it starts. */
export class ProcessOwners {
  readonly #ownProcessId: number
  readonly #summaries: () => readonly ModelSummary[]
  readonly #started = new Map<number, string>()

  constructor(ownProcessId: number, summaries: () => readonly ModelSummary[]) {
    this.#ownProcessId = ownProcessId
    this.#summaries = summaries
  }

  /** A backend started a process for the instances of one model. Returns the function to call when the process has ended. */
  add(processId: number, model: string): () => void {
    this.#started.set(processId, model)
    return () => { this.#started.delete(processId) }
  }

  isOurs(processId: number): boolean { return processId === this.#ownProcessId || this.#started.has(processId) }

  /**
   * Names of models; empty where none is known.
   * @param isHere whether a device, as the process numbers it, is the one asked about
   */
  modelsOf(processId: number, isHere: (device: number) => boolean = () => true): readonly string[] {
    const started = this.#started.get(processId)
    if (started !== undefined) return [started]
    if (processId !== this.#ownProcessId) return []
    const elsewhere = new Set(this.#started.values())
    return this.#summaries().filter((model) => runsOnNpu(model) && !elsewhere.has(model.name) && isOnDevice(model, isHere)).map(({ name }) => name)
  }
}

/** Models whose backend names no device may be on any. */
function isOnDevice({ versions }: ModelSummary, isHere: (device: number) => boolean): boolean {
  const devices = versions.flatMap(({ instances }) => instances.flatMap(({ report }) => devicesOf(report)))
  return devices.length === 0 || devices.some(isHere)
}

export function runsOnNpu({ runsOn }: Pick<ModelSummary, 'runsOn'>): boolean {
  return runsOn !== null && runsOn !== 'CPU'
}
