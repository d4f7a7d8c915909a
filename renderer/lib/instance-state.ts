/** What the instances of a model say: how many run, which start again, which were given up. */
import type { InstanceRestart, ModelInstanceSummary, ModelSummary } from '../../server-core/contract/repository.ts'

export interface PlacedInstance {
  readonly version: string
  readonly instance: ModelInstanceSummary
}

export interface InstanceTally {
  /** Passive ones aside. */
  readonly total: number
  readonly running: number
  readonly restarting: readonly PlacedInstance[]
  readonly givenUp: readonly PlacedInstance[]
}

/** Over all versions that serve. */
export function instanceTally(model: ModelSummary): InstanceTally {
  const all = model.versions.flatMap(({ version, instances }) => instances.map((instance) => ({ version, instance })))
  const executing = all.filter(({ instance }) => !instance.isPassive)
  return {
    total: executing.length, running: executing.filter(({ instance }) => instance.state === 'READY').length,
    restarting: all.filter(({ instance }) => instance.state === 'RESTARTING'), givenUp: all.filter(({ instance }) => instance.state === 'FAILED'),
  }
}

/** The reason beside READY is that of instances, not of a load: the server begins it with their number. */
const OF_INSTANCES = /^\d+ of \d+ instances (?:start again|were given up)/

/** It loaded, and something of it died since. */
export function hasInstanceTrouble(model: ModelSummary): boolean {
  const { restarting, givenUp } = instanceTally(model)
  return restarting.length + givenUp.length > 0 && (model.reason === '' || OF_INSTANCES.test(model.reason)) && model.versions.every(({ reason }) => reason === '' || reason === 'unloaded' || OF_INSTANCES.test(reason))
}

/** The restart that comes first; null: none is planned. */
export function nextRestart({ restarting }: InstanceTally): InstanceRestart | null {
  return restarting.flatMap(({ instance }) => instance.restart ?? []).sort((a, b) => a.at - b.at)[0] ?? null
}

/** Whole seconds until a restart begins; 0: it is under way. */
export function secondsUntil(restart: InstanceRestart, now: number): number {
  return Math.max(0, Math.ceil((restart.at - now) / 1000))
}
