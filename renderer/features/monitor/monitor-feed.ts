/**
 * Keeps the Monitor page moving while it is mounted: history first, then one sample a second, one update a second for everything. While
 * the page is hidden samples are only collected. When no sample comes (the server is away) the window still moves, and shows a gap.
 */
import type { ConsoleClient } from '../../console-client.ts'
import { ConsoleError } from '../../console-client.ts'
import { SampleRing } from '../../lib/sample-ring.ts'
import { MonitorViewBuilder } from './monitor-view.ts'
import { useMonitor, type MonitorState } from './monitor-store.ts'

export interface MonitorFeedOptions {
  readonly client: Pick<ConsoleClient, 'command' | 'on' | 'onState' | 'state'>
  readonly now?: () => number
  readonly isHidden?: () => boolean
}

/** How late a sample may be before the window moves on without it. */
const LATE_MILLISECONDS = 1600

export class MonitorFeed {
  readonly #client: MonitorFeedOptions['client']
  readonly #now: () => number
  readonly #isHidden: () => boolean
  readonly #ring = new SampleRing()
  readonly #builder = new MonitorViewBuilder()
  #plotWidth = 560
  /** When the latest sample arrived, by this window's clock. */
  #arrivedAt = 0
  #hasHistory = false

  constructor(options: MonitorFeedOptions) {
    this.#client = options.client
    this.#now = options.now ?? Date.now
    this.#isHidden = options.isHidden ?? (() => document.hidden)
  }

  /** Starts collecting and drawing. Returns the function that stops both. */
  start(): () => void {
    useMonitor.setState({ view: null, pausedAt: null, cursor: null })
    const stops = [
      this.#client.on('statistics.sample', (sample) => {
        this.#ring.add([sample])
        this.#arrivedAt = this.#now()
        if (useMonitor.getState().pausedAt === null) this.refresh()
      }),
      this.#client.onState((state) => { if (state === 'open') void this.#fetchHistory() }),
      useMonitor.subscribe((state, before) => { if (isOtherQuery(state, before)) this.refresh() }),
    ]
    const timer = setInterval(() => { if (useMonitor.getState().pausedAt === null && this.#now() - this.#arrivedAt > LATE_MILLISECONDS) this.refresh() }, 1000)
    const wake = () => this.refresh()
    document.addEventListener('visibilitychange', wake)
    if (this.#client.state === 'open') void this.#fetchHistory()
    return () => {
      for (const stop of stops) stop()
      clearInterval(timer)
      document.removeEventListener('visibilitychange', wake)
    }
  }

  /** Width of the plots in CSS pixels: decides how many seconds share a point. */
  setPlotWidth(width: number): void {
    if (width === this.#plotWidth || width <= 0) return
    this.#plotWidth = width
    this.refresh()
  }

  /** The newest end of the window: the latest sample's time, moved on by whole seconds where samples are late. */
  end(): number {
    const latest = this.#ring.latest
    if (!latest) return Math.floor(this.#now() / 1000) * 1000
    const late = this.#now() - this.#arrivedAt
    return latest.time + (late > LATE_MILLISECONDS ? Math.floor(late / 1000) * 1000 : 0)
  }

  /** Computes the view anew, unless nobody looks. */
  refresh(): void {
    if (this.#isHidden() || !this.#hasHistory) return
    const { windowSeconds, model, pausedAt, showsTable } = useMonitor.getState()
    const end = pausedAt ?? this.end()
    const samples = this.#ring.between(end - windowSeconds * 1000, end)
    useMonitor.setState({ view: this.#builder.build(samples, { end, windowSeconds, model, plotWidth: this.#plotWidth, hasRows: showsTable }) })
  }

  async #fetchHistory(): Promise<void> {
    try {
      const { length, latest } = this.#ring
      const missing = length === 0 || !latest ? 3600 : Math.ceil((this.#now() - this.#arrivedAt) / 1000) + 5
      this.#ring.add(await this.#client.command('statistics.history', { seconds: Math.min(3600, missing) }))
      this.#arrivedAt = this.#now()
      this.#hasHistory = true
      this.refresh()
    } catch (error) {
      // The connection ended meanwhile: the next one fetches again. Anything else is a defect and must be seen.
      if (!(error instanceof ConsoleError && error.isDisconnect)) throw error
    }
  }
}

function isOtherQuery(state: MonitorState, before: MonitorState): boolean {
  return state.windowSeconds !== before.windowSeconds || state.model !== before.model || state.pausedAt !== before.pausedAt || state.showsTable !== before.showsTable
}
