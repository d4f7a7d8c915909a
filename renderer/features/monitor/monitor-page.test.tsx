import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { latencyBucketIndex } from '../../../server-core/contract/statistics.ts'
import { consoleClient } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { modelSample, npuSample, serverSample } from '../../testing/models.ts'
import { press, render, type Rendered } from '../../testing/render.tsx'
import MonitorPage from './monitor-page.tsx'
import { useMonitor } from './monitor-store.ts'
import { MonitorViewBuilder, type WindowSeconds } from './monitor-view.ts'

const T0 = 1_700_000_000
const samples = [
  serverSample(T0 + 1, [modelSample('rec', { success: 20, latency: { [latencyBucketIndex(8e6)]: 20 }, batchSizes: { 1: 2, 4: 5 }, executions: 7, inferences: 22 })]),
  serverSample(T0 + 2, [modelSample('rec', { success: 30, failure: 1, latency: { [latencyBucketIndex(8e6)]: 30 } })]),
  serverSample(T0 + 4),
]

describe('Monitor page', () => {
  let page: Rendered
  const find = <T extends HTMLElement = HTMLElement>(selector: string) => page.container.querySelector<T>(selector)
  const rows = () => [...page.container.querySelectorAll<HTMLElement>('[data-testid="second"]')]
  const chart = (name: string) => find(`section[aria-label="${name}"] .npu-chart-head`)?.textContent ?? ''

  const show = async (language: 'en' | 'zh-CN' = 'en', windowSeconds: WindowSeconds = 60) => {
    page = await render(<MonitorPage />, language)
    const view = new MonitorViewBuilder().build(samples, { end: (T0 + 5) * 1000, windowSeconds, model: '', plotWidth: 560, hasRows: true })
    await act(async () => useMonitor.setState({ view }))
  }

  beforeEach(() => {
    vi.spyOn(consoleClient, 'command').mockImplementation(() => new Promise(() => {}))
    useConsole.setState({ ...initialConsoleState, connection: 'open' }, true)
    useMonitor.setState(useMonitor.getInitialState(), true)
  })

  afterEach(async () => {
    await page.unmount()
    vi.restoreAllMocks()
  })

  it('says the window in a sentence, and that there is no NPU', async () => {
    await show()
    expect(find('.npu-page-note')?.textContent).toMatch(/^Last .*: 50 requests \(16\.7\/s\), p95 .* ms, 1 error\.$/)
    expect(page.container.textContent).toContain('No NPU found')
    expect([...page.container.querySelectorAll('.npu-monitor-npu-row dd')].map((cell) => cell.textContent)).toEqual(['—', '—', '—', '—', '—'])
  })

  it('shows the cards of the newest sample, from when they are, and that they are simulated', async () => {
    page = await render(<MonitorPage />)
    const withCards = [{ ...serverSample(T0 + 4), npus: [npuSample({ readAt: (T0 - 8) * 1000, isSimulated: true }), npuSample({ card: 1, powerWatts: null, readAt: T0 * 1000, isSimulated: true })] }]
    const view = new MonitorViewBuilder().build(withCards, { end: (T0 + 5) * 1000, windowSeconds: 60, model: '', plotWidth: 560, hasRows: false })
    await act(async () => useMonitor.setState({ view }))
    expect(find('[role="note"]')?.textContent).toContain('Card data comes from the simulator.')
    // Latency and throughput too: their plots are hatched.
    expect([...page.container.querySelectorAll<HTMLElement>('.npu-monitor-half')].map(({ dataset }) => dataset['simulated'])).toEqual(['true', undefined])
    expect(find('.npu-monitor-npu-head')?.textContent).toMatch(/^NPU2 cardsSimulatedfrom \d\d:\d\d:\d\d$/)
    expect([...page.container.querySelectorAll('.npu-monitor-npu-row')].map((row) => [...row.querySelectorAll('dd')].map((cell) => cell.textContent))).toEqual([
      ['0 · 910B3', '38 %', '19 %', '8.0 GB / 64.0 GB', '51 °C', '98 W'], ['1 · 910B3', '38 %', '19 %', '8.0 GB / 64.0 GB', '51 °C', '—'],
    ])
  })

  it('says why there is nothing while the connection is lost, and nothing about the machine', async () => {
    useConsole.setState({ connection: 'reconnecting' })
    page = await render(<MonitorPage />)
    expect(find('.npu-monitor-body')?.textContent).toContain('The connection to the engine is lost.')
    expect(page.container.textContent).not.toContain('NPU found')
    expect(find('.npu-monitor-npu-head')?.textContent).toBe('NPU—')
  })

  it('lists every second of the window, with the exact counts and unknown as a dash', async () => {
    await show()
    await act(async () => useMonitor.setState({ showsTable: true }))
    expect(rows()).toHaveLength(60)
    expect(rows().slice(0, 5).map((row) => row.dataset['requests'])).toEqual(['', '0', '', '30', '20'])
    const cells = (index: number) => [...(rows()[index]?.querySelectorAll('td') ?? [])].slice(1, 5).map((cell) => cell.textContent)
    expect(cells(0)).toEqual(['—', '—', '—', '—'])
    expect(cells(1)).toEqual(['0', '0', '—', '—'])
    expect(cells(3)?.slice(0, 2)).toEqual(['30', '1'])
    expect(Number(rows()[3]?.dataset['p95Milliseconds'])).toBeCloseTo(8, 0)
  })

  it('draws only what is seen of a long table', async () => {
    await show('en', 3600)
    await act(async () => useMonitor.setState({ showsTable: true }))
    expect(find('table')?.getAttribute('aria-rowcount')).toBe('3601')
    expect(rows().length).toBeLessThan(100)
  })

  it('moves one cursor over all charts with the keyboard, the headers follow', async () => {
    await show()
    expect(chart('Throughput')).toContain('—')
    await act(async () => find('[role="slider"]')?.focus())
    await press('ArrowLeft')
    expect(chart('Throughput')).toContain('—')
    await press('ArrowLeft')
    expect(chart('Throughput')).toContain('0 req/s')
    await press('ArrowLeft')
    await press('ArrowLeft')
    expect(chart('Throughput')).toContain('30 req/s')
    expect(chart('Errors')).toContain('1 /s')
    expect(find('[role="slider"]')?.getAttribute('aria-valuetext')).toContain('30 requests')
    await press('Escape')
    expect(useMonitor.getState().cursor).toBeNull()
  })

  it('says when the connection is gone, and when it is paused', async () => {
    await show('zh-CN')
    expect(page.container.textContent).toContain('实时 · 1 秒')
    await act(async () => useConsole.setState({ connection: 'reconnecting' }))
    expect(page.container.textContent).toContain('连接中断')
    await act(async () => useMonitor.setState({ pausedAt: 0 }))
    expect(page.container.textContent).toContain('已暂停于')
  })
})
