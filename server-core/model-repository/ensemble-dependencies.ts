import type { ModelConfig } from '../contract/model-config.ts'
import type { LoadParameters } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import type { Model } from '../model/model.ts'
import { refuseFirst } from '../model-config/config-problem.ts'
import { ensembleSteps, isDecoupledEnsemble, validateEnsembleAgainstMembers, type EnsembleMember } from '../model-config/validate-ensemble-members.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { highestReady, sortedVersions, UNLOADED_REASON, type ModelRecord } from './model-record.ts'

export interface EnsembleDependenciesOptions {
  readonly records: ReadonlyMap<string, ModelRecord>
  /** Looks at one model's directory; afterwards its record says which models its steps name. */
  readonly look: (name: string) => Promise<void>
  /** The models that the steps of a load's own config name; null: the load brings none. */
  readonly membersOfOverride: (name: string, parameters: LoadParameters) => Promise<readonly string[] | null>
  /** Loads one model and nothing it depends on. `isStale`: load it again although it is unmodified. */
  readonly loadOne: (name: string, parameters: LoadParameters, isStale: () => boolean) => Promise<void>
  readonly unloadOne: (name: string) => Promise<void>
  /** The model as a whole is not valid: the reason is shown beside it. */
  readonly onInvalid: (name: string, reason: string) => void
  readonly log: Logger
}

interface KnownEnsemble {
  members: readonly string[]
  /** What the steps run on, as it was when the ensemble was checked; empty while it is not loaded. */
  builtWith: ReadonlyMap<string, readonly Model[]>
  /** Wanted, but not loaded because of its members: it is loaded when they are there. */
  isWaiting: boolean
}

interface LoadPlan {
  readonly members: ReadonlyMap<string, readonly string[]>
  /** Ensembles that lead back to themselves, with the way. */
  readonly circles: ReadonlyMap<string, readonly string[]>
}

/**
 * Which ensembles depend on which models (model config facts, sections 11 and 12): models are loaded before the ensembles that name them,
 * an ensemble is loaded again when one of its models changes, leaves with them, and comes back with them.
 */
export class EnsembleDependencies {
  readonly #options: EnsembleDependenciesOptions
  readonly #known = new Map<string, KnownEnsemble>()
  /** Loaded by a call of their own, not only because an ensemble needs them. */
  readonly #asked = new Set<string>()
  /** Models that are not valid as a whole, with the reason. */
  readonly #invalid = new Map<string, string>()
  /** Ensembles found in a circle by the load of another one: name to the circle. */
  readonly #foundInCircle = new Map<string, string>()

  constructor(options: EnsembleDependenciesOptions) { this.#options = options }

  /** Loads a model, and before it what its steps name. @throws ServerError of the model's own load */
  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    const override = await this.#options.membersOfOverride(name, parameters)
    const [result] = await this.#loadAll([name], parameters, await this.#plan([name], this.#options.look, override))
    if (result?.status === 'rejected') throw result.reason
  }

  /** Loads many models of a scan that was just made, each after what its steps name. @returns one result a name */
  async loadMany(names: readonly string[]): Promise<PromiseSettledResult<void>[]> {
    return this.#loadAll(names, {}, await this.#plan(names, async () => {}, null))
  }

  /** Loads that were refused and can be made now, each as it was asked for, and the ensembles that waited for those models. */
  async loadAgain(refused: ReadonlyMap<string, LoadParameters>): Promise<void> {
    await Promise.allSettled([...refused].map(([name, parameters]) => this.#options.loadOne(name, parameters, () => !this.#isCurrent(name)))) // each tells its model's state
    await this.#follow([...refused.keys()])
  }

  /**
   * Unloads a model; ensembles that need it leave before it.
   * @param withMembers also what only this ensemble needed (`unload_dependents`)
   */
  async unload(name: string, withMembers: boolean): Promise<void> {
    for (const ensemble of this.#dependents([name]).reverse()) await this.#setAside(ensemble)
    const members = this.#known.get(name)?.members ?? []
    this.#known.delete(name)
    this.#asked.delete(name)
    await this.#options.unloadOne(name)
    if (!withMembers) return
    for (const member of members) {
      if (!this.#asked.has(member) && !this.#isNeeded(member)) await this.unload(member, true)
    }
  }

  /** Everything was unloaded at once. */
  forgetAll(): void {
    for (const known of [this.#known, this.#asked, this.#invalid, this.#foundInCircle]) known.clear()
  }

  /** A model is not valid as a whole (no version to load, an ensemble that does not fit its members); null: it is again. */
  noteValidity(name: string, reason: string | null): void {
    if (reason === null) this.#invalid.delete(name)
    else this.#invalid.set(name, reason)
  }

  /**
   * An ensemble's config against the models that are loaded now, completed: it is decoupled when a member is.
   * @throws ServerError INVALID_ARG with the texts of section 11
   */
  complete(config: ModelConfig): ModelConfig {
    const names = memberNames(config)
    const members = new Map(names.flatMap((name) => {
      const member = this.#memberState(name)
      return member === null ? [] : [[name, member] as const]
    }))
    const known: KnownEnsemble = this.#known.get(config.name) ?? { members: names, builtWith: new Map(), isWaiting: false }
    this.#known.set(config.name, known)
    try {
      refuseFirst(validateEnsembleAgainstMembers(config, members))
    } catch (error) {
      if (!this.#isLoaded(config.name)) Object.assign(known, { members: names, isWaiting: true })
      throw error
    }
    Object.assign(known, { members: names, builtWith: this.#serving(names), isWaiting: false })
    return isDecoupledEnsemble(config, members) ? { ...config, model_transaction_policy: { decoupled: true } } : config
  }

  async #loadAll(names: readonly string[], parameters: LoadParameters, plan: LoadPlan): Promise<PromiseSettledResult<void>[]> {
    const loads = new Map<string, Promise<void>>()
    const load = (name: string): Promise<void> => {
      const begun = loads.get(name) ?? this.#loadAfterMembers(name, names.length === 1 && name === names[0] ? parameters : {}, plan, load)
      loads.set(name, begun)
      return begun
    }
    for (const name of names) this.#asked.add(name)
    const results = await Promise.allSettled(names.map(load))
    for (const [index, result] of results.entries()) {
      const name = names[index]
      // What never came to be is not kept as asked for, so that a later load because of an ensemble counts as that.
      if (result.status === 'rejected' && name !== undefined && !this.#isLoaded(name)) this.#asked.delete(name)
    }
    await this.#follow([...loads.keys()])
    return results
  }

  async #loadAfterMembers(name: string, parameters: LoadParameters, plan: LoadPlan, load: (name: string) => Promise<void>): Promise<void> {
    const circle = plan.circles.get(name)
    if (circle !== undefined) throw this.#refuseCircle(name, circle, plan)
    this.#foundInCircle.delete(name)
    await Promise.allSettled((plan.members.get(name) ?? []).map(load))
    await this.#options.loadOne(name, parameters, () => !this.#isCurrent(name))
  }

  #refuseCircle(name: string, circle: readonly string[], plan: LoadPlan): ServerError {
    const key = circle.toSorted().join('\0')
    const text = `circular dependency between ensembles: ${[...circle, name].join(' -> ')}`
    this.#options.onInvalid(name, text)
    this.#invalid.set(name, text)
    const wasFoundBefore = this.#foundInCircle.get(name) === key
    this.#foundInCircle.delete(name)
    if (wasFoundBefore) return new ServerError('INTERNAL', `failed to load '${name}', no version is available`, { cause: new Error(text) })
    for (const other of circle) if (other !== name && plan.circles.has(other)) this.#foundInCircle.set(other, key)
    return new ServerError('INVALID_ARG', `load failed for model '${name}': ${text}\n`)
  }

  async #plan(names: readonly string[], look: (name: string) => Promise<void>, override: readonly string[] | null): Promise<LoadPlan> {
    const members = new Map<string, readonly string[]>()
    const queue = new Set(names)
    for (const name of queue) {
      const given = name === names[0] ? override : null
      if (given === null) await look(name)
      const list = given ?? this.#options.records.get(name)?.description?.members ?? []
      members.set(name, list)
      for (const member of list) queue.add(member)
    }
    const circles = new Map<string, readonly string[]>()
    for (const [name, list] of members) {
      const circle = list.length === 0 ? null : wayBack(name, members)
      if (circle !== null) circles.set(name, circle)
    }
    return { members, circles }
  }

  /** Brings the ensembles that depend on these models to what the models are now. */
  async #follow(changed: readonly string[]): Promise<void> {
    for (const ensemble of this.#dependents(changed)) await this.#bringUpToDate(ensemble)
    // What was just loaded may have been overtaken by a change of its members.
    for (const name of changed) if (this.#isLoaded(name) && !this.#isCurrent(name)) await this.#bringUpToDate(name)
  }

  async #bringUpToDate(name: string): Promise<void> {
    const known = this.#known.get(name)
    if (known === undefined) return
    const isLoaded = this.#isLoaded(name)
    const hasMembers = known.members.every((member) => this.#isLoaded(member))
    if (!isLoaded && !(known.isWaiting && hasMembers)) return
    if (isLoaded && this.#isCurrent(name)) return
    if (isLoaded && !hasMembers) {
      await this.#setAside(name)
      return
    }
    try {
      await this.#options.loadOne(name, {}, () => !this.#isCurrent(name))
    } catch (error) {
      const { message } = toServerError(error)
      this.#options.log.warning('an ensemble does not fit a model that changed', { model: name, error: message.trim() })
      if (this.#isLoaded(name) && !this.#isCurrent(name)) await this.#setAside(name)
    }
  }

  /** Unloads an ensemble that its members do not carry any more, until they do. */
  async #setAside(name: string): Promise<void> {
    const known = this.#known.get(name)
    if (known === undefined || !this.#isLoaded(name)) return
    known.isWaiting = true
    known.builtWith = new Map()
    await this.#options.unloadOne(name)
  }

  /** Ensembles that depend on these models, directly or not; each after those it depends on. */
  #dependents(names: readonly string[]): string[] {
    const found: string[] = []
    const seen = new Set<string>()
    const visit = (name: string): void => {
      for (const [ensemble, { members }] of this.#known) {
        if (!members.includes(name) || seen.has(ensemble)) continue
        seen.add(ensemble)
        visit(ensemble)
        found.push(ensemble)
      }
    }
    for (const name of names) visit(name)
    return found.reverse()
  }

  #isNeeded(name: string): boolean {
    return [...this.#known].some(([ensemble, { members }]) => members.includes(name) && this.#isLoaded(ensemble))
  }

  #isLoaded(name: string): boolean {
    const record = this.#options.records.get(name)
    return record !== undefined && highestReady(record) !== null
  }

  /** Does a loaded ensemble run on the very models it was checked against? What is no ensemble always does. */
  #isCurrent(name: string): boolean {
    const known = this.#known.get(name)
    if (known === undefined) return true
    const now = this.#serving(known.members)
    return known.members.every((member) => {
      const before = known.builtWith.get(member) ?? []
      const after = now.get(member) ?? []
      return before.length === after.length && before.every((model) => after.includes(model))
    })
  }

  #serving(names: readonly string[]): Map<string, readonly Model[]> {
    return new Map(names.map((name) => {
      const record = this.#options.records.get(name)
      return [name, record === undefined ? [] : [...record.versions.values()].flatMap(({ state, model }) => (state === 'READY' && model !== null ? [model] : []))]
    }))
  }

  /** Null: no such model, or one whose config cannot be read. */
  #memberState(name: string): EnsembleMember | null {
    const record = this.#options.records.get(name)
    if (record === undefined) return null
    const serving = highestReady(record)
    if (serving !== null) {
      return { config: serving.config, versions: sortedVersions(record).filter(([, { state }]) => state === 'READY').map(([version]) => Number(version)) }
    }
    const invalidReason = this.#invalid.get(name)
    if (invalidReason !== undefined) return { config: null, versions: [], invalidReason }
    if (record.entry?.kind !== 'model' || (record.versions.size === 0 && record.pollError !== '')) return null
    const failure = sortedVersions(record).find(([, { reason }]) => reason !== '' && reason !== UNLOADED_REASON)?.[1].reason
    return { config: null, versions: [], ...(failure === undefined ? {} : { loadError: failure }) }
  }
}

/** The models that the steps of an ensemble name, each once; none for other models. */
export function memberNames(config: ModelConfig): string[] {
  return [...new Set(ensembleSteps(config).map((step) => step.model_name))]
}

/** A shortest way from an ensemble back to itself, without its end; null: there is none. */
function wayBack(name: string, members: ReadonlyMap<string, readonly string[]>): string[] | null {
  const cameFrom = new Map<string, string>()
  const queue = [name]
  for (const from of queue) {
    for (const to of members.get(from) ?? []) {
      if (to === name) {
        const way = [from]
        for (let step = from; step !== name; step = cameFrom.get(step) ?? name) way.unshift(cameFrom.get(step) ?? name)
        return way
      }
      if (cameFrom.has(to)) continue
      cameFrom.set(to, from)
      queue.push(to)
    }
  }
  return null
}
