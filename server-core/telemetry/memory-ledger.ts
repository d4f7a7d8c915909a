import type { ModelCardMemory } from '../contract/devices.ts'
import type { ModelSummary } from '../contract/repository.ts'
import { devicesOf } from '../contract/repository.ts'
import { runsOnNpu } from './process-owners.ts'

/** Memory of one card at one time, in bytes. */
export interface CardMemory {
  readonly card: number
  /** What the server's processes hold; null: the driver lists no processes. */
  readonly ownBytes: number | null
  /** All that is used; null: not reported. */
  readonly usedBytes: number | null
}

interface Entry {
  readonly model: string
  readonly startedAt: number
  readonly before: ReadonlyMap<number, CardMemory>
  loaded: ReadonlyMap<number, CardMemory> | null
  afterUnload: ReadonlyMap<number, CardMemory> | null
  /** By card, as the backend says; empty: it does not. */
  reported: ReadonlyMap<number, number>
  isShared: boolean
  /** What the next reading that began after `since` is to be filled in as. */
  awaits: { readonly what: 'loaded' | 'afterUnload'; readonly since: number } | null
  /** A load or an unload goes on. */
  isBusy: boolean
}

const KEPT_ENTRIES = 50

/**
 * Notes what the cards' memory is before a model loads, when it is loaded, and after it was unloaded. The second and third come with the first
 * reading that began after the change, so the driver has counted it.
 */
export class MemoryLedger {
  readonly #cardOf: (device: number) => number
  /** Newest first. */
  #entries: Entry[] = []
  #last: ReadonlyMap<number, CardMemory> = new Map()

  /** @param cardOf the card of a device as the process numbers it */
  constructor(cardOf: (device: number) => number = (device) => device) { this.#cardOf = cardOf }

  modelChanged(summary: ModelSummary, now: number): void {
    const current = this.#entries.find((entry) => entry.model === summary.name)
    if (summary.state === 'LOADING' && current?.isBusy !== true) this.#loadBegan(summary.name, now)
    if (current === undefined) return
    if (summary.state === 'READY' && current.isBusy && current.loaded === null) {
      current.reported = reportedBytes(summary, this.#cardOf)
      if (runsOnNpu(summary)) this.#await(current, 'loaded', now)
      else this.#entries = this.#entries.filter((entry) => entry !== current)
    }
    if (summary.state === 'UNLOADING' && !current.isBusy) {
      current.isBusy = true
      this.#markShared(current)
    }
    if (summary.state === 'UNAVAILABLE' && current.afterUnload === null) {
      // A load that failed has nothing to compare.
      if (current.loaded === null && current.awaits === null) this.#entries = this.#entries.filter((entry) => entry !== current)
      else this.#await(current, 'afterUnload', now)
    }
  }

  /** @param startedAt when the driver was asked, milliseconds since the epoch */
  read(cards: readonly CardMemory[], startedAt: number): void {
    this.#last = new Map(cards.map((card) => [card.card, card]))
    for (const entry of this.#entries) {
      if (entry.awaits === null || startedAt < entry.awaits.since) continue
      entry[entry.awaits.what] = this.#last
      entry.awaits = null
    }
  }

  /** Newest load first; only the cards on which something was measured. */
  records(): readonly ModelCardMemory[] {
    return this.#entries.flatMap((entry) => {
      const cards = [...new Set([...entry.before.keys(), ...(entry.loaded?.keys() ?? []), ...entry.reported.keys()])].sort((a, b) => a - b)
      const records = cards.map((card) => recordOf(entry, card))
      // Where the backend says which cards it is on, it is those; else a card whose memory did not move is not the model's.
      const moved = records.filter(({ beforeBytes, loadedBytes, reportedBytes }) => (entry.reported.size > 0 ? reportedBytes !== null : beforeBytes !== loadedBytes))
      return entry.loaded === null ? [] : moved
    })
  }

  #loadBegan(model: string, now: number): void {
    const entry: Entry = { model, startedAt: now, before: this.#last, loaded: null, afterUnload: null, reported: new Map(), isShared: false, awaits: null, isBusy: true }
    this.#entries = [entry, ...this.#entries.filter((other) => other.model !== model)].slice(0, KEPT_ENTRIES)
    this.#markShared(entry)
  }

  #await(entry: Entry, what: 'loaded' | 'afterUnload', since: number): void {
    entry.isBusy = false
    entry.awaits = { what, since }
  }

  /** Two at the same time: neither's difference is its own. */
  #markShared(entry: Entry): void {
    const others = this.#entries.filter((other) => other !== entry && (other.isBusy || other.awaits !== null))
    if (others.length === 0) return
    for (const shared of [entry, ...others]) shared.isShared = true
  }
}

function reportedBytes({ versions }: ModelSummary, cardOf: (device: number) => number): ReadonlyMap<number, number> {
  const sums = new Map<number, number>()
  for (const { instances } of versions) {
    // Of what its instances share, the card has one; it may have been told of before another card was ready.
    const shared = new Map<number, number>()
    for (const { report } of instances) {
      if (!report || (report.weight_bytes === undefined && report.workspace_bytes === undefined)) continue
      const devices = devicesOf(report)
      // An instance on several cards has the same on each, and tells the sum.
      const share = ((report.weight_bytes ?? 0) + (report.workspace_bytes ?? 0)) / devices.length
      for (const card of devices.map(cardOf)) {
        if (report.memory_is_shared === true) shared.set(card, Math.max(shared.get(card) ?? 0, share))
        else sums.set(card, (sums.get(card) ?? 0) + share)
      }
    }
    for (const [card, bytes] of shared) sums.set(card, (sums.get(card) ?? 0) + bytes)
  }
  return sums
}

function recordOf(entry: Entry, card: number): ModelCardMemory {
  const phases = [entry.before, entry.loaded, entry.afterUnload].map((phase) => phase?.get(card))
  const basis = phases.some((phase) => phase?.ownBytes === null) ? 'card' : 'process'
  const [beforeBytes = null, loadedBytes = null, afterUnloadBytes = null] = phases.map((phase) => (basis === 'card' ? phase?.usedBytes : phase?.ownBytes) ?? null)
  return { model: entry.model, card, basis, beforeBytes, loadedBytes, afterUnloadBytes, reportedBytes: entry.reported.get(card) ?? null, startedAt: entry.startedAt, isShared: entry.isShared }
}
