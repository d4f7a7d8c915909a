import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ServerSample } from '../../../server-core/contract/statistics.ts'
import type { ConnectionState } from '../../console-client.ts'
import { modelSample, serverSample } from '../../testing/models.ts'
import { MonitorFeed } from './monitor-feed.ts'
import { useMonitor } from './monitor-store.ts'

const T0 = 1_700_000_000
const busy = (second: number, requests: number) => serverSample(T0 + second, [modelSample('rec', { success: requests })])

describe('MonitorFeed', () => {
  let now = 0
  let isHidden = false
  let stop: () => void = () => {}
  let history: readonly ServerSample[] = []
  let onSample: (sample: ServerSample) => void = () => {}
  let onState: (state: ConnectionState, attempts: number) => void = () => {}
  const command = vi.fn(async (_name: string, _args?: unknown): Promise<unknown> => history)
  const view = () => useMonitor.getState().view
  const requests = () => view()?.points.map((point) => point.requests).filter((count) => count !== null && count > 0)

  const start = async () => {
    const client = {
      state: 'open' as const, command: command as never,
      on: ((_name: string, listener: (sample: ServerSample) => void) => { onSample = listener; return () => {} }) as never,
      onState: (listener: typeof onState) => { onState = listener; return () => {} },
    }
    const feed = new MonitorFeed({ client, now: () => now, isHidden: () => isHidden })
    stop = feed.start()
    await vi.waitFor(() => expect(command).toHaveBeenCalled())
    await Promise.resolve()
    return feed
  }

  beforeEach(() => {
    vi.useFakeTimers()
    now = (T0 + 10) * 1000
    isHidden = false
    history = [busy(8, 1), busy(9, 2), busy(10, 3)]
    command.mockClear()
    useMonitor.setState({ ...useMonitor.getInitialState(), windowSeconds: 60 }, true)
  })

  afterEach(() => {
    stop()
    vi.useRealTimers()
  })

  it('shows the history, then each sample as it comes', async () => {
    await start()
    expect(requests()).toEqual([1, 2, 3])
    onSample(busy(11, 4))
    expect(requests()).toEqual([1, 2, 3, 4])
    expect(view()?.end).toBe((T0 + 11) * 1000)
    expect(view()?.total.requests).toBe(10)
  })

  it('stands still while paused, and catches up after', async () => {
    await start()
    useMonitor.setState({ pausedAt: view()?.end ?? null })
    const paused = view()
    onSample(busy(11, 4))
    expect(view()).toBe(paused)
    useMonitor.setState({ pausedAt: null })
    expect(requests()).toEqual([1, 2, 3, 4])
  })

  it('computes nothing while the page is hidden, and all of it when it is shown again', async () => {
    await start()
    isHidden = true
    const hidden = view()
    onSample(busy(11, 4))
    onSample(busy(12, 5))
    expect(view()).toBe(hidden)
    isHidden = false
    document.dispatchEvent(new Event('visibilitychange'))
    expect(requests()).toEqual([1, 2, 3, 4, 5])
  })

  it('moves on with a gap when samples stop, and fills it from the history of the same server', async () => {
    await start()
    now += 4000
    vi.advanceTimersByTime(4000)
    expect(view()?.end).toBe((T0 + 14) * 1000)
    expect(view()?.gaps.at(-1)).toEqual({ from: (T0 + 10) * 1000, to: (T0 + 14) * 1000 })
    history = [busy(11, 4), busy(12, 5), busy(13, 6), busy(14, 7)]
    onState('open', 0)
    await vi.waitFor(() => expect(requests()).toEqual([1, 2, 3, 4, 5, 6, 7]))
    expect(command).toHaveBeenLastCalledWith('statistics.history', { seconds: 9 })
  })

  it('answers another window, model and the table at once', async () => {
    await start()
    useMonitor.setState({ showsTable: true })
    expect(view()?.rows).toHaveLength(60)
    useMonitor.setState({ model: 'other', windowSeconds: 300 })
    expect(view()?.rows).toHaveLength(300)
    expect(requests()).toEqual([])
  })
})
