import type { TrafficSplit, TrafficSplitSettings } from '../contract/repository.ts'
import type { InferenceRequest } from '../contract/inference.ts'

/** Hundredths of a percent: shares are counted in whole numbers, so that they never drift. */
const WHOLE = 10_000
/** A sequence that was silent this long is over: every batcher has given its slot away by then. */
const FORGOTTEN_NANOSECONDS = 600e9

interface Pin {
  readonly version: string
  usedAt: number
}

/**
 * Where the requests of one model that name no version go while a share of them goes to another version (a canary, blue-green). The share is
 * exact: what is left over of one request is carried to the next. A sequence stays with the version it began on, also when the share
 * changes or ends.
 */
export class TrafficRouter {
  #split: { readonly version: string; readonly share: number } | null = null
  #carried = 0
  #versionRequests = 0
  #baseRequests = 0
  /** Where sequences went that began before the share. */
  #served = ''
  /** By correlation id; the one that was silent the longest comes first. */
  readonly #pins = new Map<bigint | string, Pin>()

  /** The version that gets the share; null: there is none, only sequences that began under one may still be pinned. */
  get version(): string | null { return this.#split?.version ?? null }

  /** @param served the version that all went to while there was no share */
  set(settings: TrafficSplitSettings | null, served: string): void {
    if (this.#split === null) this.#served = served
    if (settings === null || settings.version !== this.#split?.version) {
      this.#carried = 0
      this.#versionRequests = 0
      this.#baseRequests = 0
    }
    this.#split = settings === null ? null : { version: settings.version, share: Math.round(settings.percent * (WHOLE / 100)) }
  }

  /** @param base the version that gets the rest */
  describe(base: string): TrafficSplit | null {
    if (this.#split === null) return null
    return {
      version: this.#split.version, percent: this.#split.share / (WHOLE / 100), baseVersion: base,
      versionRequests: this.#versionRequests, baseRequests: this.#baseRequests,
    }
  }

  /**
   * The version of a request that names none. null: that of the version policy.
   * @param base the version that gets the rest; null: there is none, and so no share
   * @param now steady nanoseconds
   */
  choose(request: Pick<InferenceRequest, 'sequenceId' | 'sequenceStart' | 'sequenceEnd'>, base: string | null, now: number): string | null {
    const id = request.sequenceId ?? 0n
    if (id === 0n || id === '') return this.#next(base)
    this.#forget(now)
    const pin = this.#pins.get(id)
    // One that is unknown and does not begin began before there was a share.
    if (pin === undefined && request.sequenceStart !== true) return this.#split === null ? null : this.#count(this.#served)
    const version = pin?.version ?? this.#next(base)
    if (pin !== undefined) this.#count(version)
    this.#pins.delete(id)
    if (version !== null && request.sequenceEnd !== true) this.#pins.set(id, { version, usedAt: now })
    return version
  }

  #next(base: string | null): string | null {
    if (this.#split === null || base === null) return null
    this.#carried += this.#split.share
    if (this.#carried < WHOLE) return this.#count(base)
    this.#carried -= WHOLE
    return this.#count(this.#split.version)
  }

  #count(version: string | null): string | null {
    if (this.#split === null) return version
    if (version === this.#split.version) this.#versionRequests++
    else this.#baseRequests++
    return version
  }

  #forget(now: number): void {
    for (const [id, pin] of this.#pins) {
      if (now - pin.usedAt < FORGOTTEN_NANOSECONDS) return
      this.#pins.delete(id)
    }
  }
}
