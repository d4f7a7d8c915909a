import { act } from 'react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { latencyBucketIndex } from '../../../server-core/contract/statistics.ts'
import { consoleClient } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import type { ConsoleState } from '../../console-store.ts'
import { modelSample, modelSummary, npuSample, serverSample, serverStatus } from '../../testing/models.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import OverviewPage from './overview-page.tsx'

describe('overview', () => {
  let page: Rendered
  const show = async (part: Partial<ConsoleState>) => {
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus(), models: [modelSummary('rec', { state: 'READY' }), modelSummary('det', { state: 'UNAVAILABLE', reason: 'Invalid argument: KIND_GPU' })], ...part }, true)
    page = await render(<OverviewPage />)
  }
  const figures = () => [...page.container.querySelectorAll('.npu-figure')].map((figure) => [figure.querySelector('.npu-figure-value')?.textContent, figure.querySelector('.npu-figure-note')?.textContent])
  const text = () => page.container.textContent ?? ''

  afterEach(async () => {
    await page.unmount()
    vi.restoreAllMocks()
  })

  it('shows dashes with the reason before anything was measured, never zeros', async () => {
    await show({})
    expect(figures().map(([value]) => value)).toEqual(['—', '—', '—', '—', '—'])
    expect(figures().every(([, note]) => note === 'not measured yet')).toBe(true)
  })

  it('tells measured zeros from what cannot be known without traffic', async () => {
    await show({ samples: [{ ...serverSample(1), processResidentBytes: 2 ** 20 * 100 }] })
    expect(figures()).toEqual([['0.0requests/s', 'mean of 5 s'], ['—', 'no requests in a minute'], ['0waiting', 'now, all models'], ['—', 'no requests in a minute'], ['100MB', 'engine process']])
  })

  it('computes its figures from the last samples', async () => {
    await show({ samples: [serverSample(1, [modelSample('rec', { success: 98, failure: 2, pending: 3, latency: { [latencyBucketIndex(8e6)]: 98 } })])] })
    const [rate, p95, queue, errors] = figures()
    expect(rate?.[0]).toBe('100.0requests/s')
    expect(p95?.[1]).toBe('100 requests in a minute')
    expect(queue?.[0]).toBe('3waiting')
    expect(errors).toEqual(['2.0%', '2 errors in a minute'])
  })

  it('marks the figures of all models while one of those that were asked runs on simulated cards', async () => {
    const marked = () => page.container.querySelectorAll('[data-testid="figure-simulated"]').length
    const samples = [serverSample(1, [modelSample('rec', { success: 10, latency: { [latencyBucketIndex(8e6)]: 10 } })])]
    const onCard = { ...modelSummary('rec', { state: 'READY' }), runsOn: 'NPU 0', isSimulated: true }
    await show({ samples, models: [onCard, modelSummary('other', { state: 'READY' })] })
    expect(marked()).toBe(2)
    expect(page.container.querySelector('[role="note"]')).toBeNull()
    await act(async () => useConsole.setState({ samples: [serverSample(2, [modelSample('other', { success: 10, latency: { [latencyBucketIndex(8e6)]: 10 } })])] }))
    expect(marked()).toBe(0)
  })

  it('says in a banner that the cards are simulated', async () => {
    await show({ samples: [{ ...serverSample(1), npus: [npuSample({ isSimulated: true })] }] })
    expect(page.container.querySelector('[role="note"]')?.textContent).toContain('Card data comes from the simulator.')
  })

  it('lists what needs attention with its sentence, and retries it', async () => {
    const command = vi.spyOn(consoleClient, 'command').mockImplementation(() => new Promise(() => {}))
    await show({})
    const item = page.container.querySelector('.npu-attention')
    expect(item?.textContent).toContain('det failed to load')
    expect(item?.textContent).toContain('the config asks for a GPU, and there is none')
    await act(async () => item?.querySelector('button')?.click())
    expect(command).toHaveBeenCalledWith('model.load', { name: 'det' })
  })

  it('cuts the name of a model in the events, not what happened to it', async () => {
    await show({ activity: [{ id: 1, time: 0, model: 'a'.repeat(80), kind: 'ready', milliseconds: 533 }] })
    const parts = [...page.container.querySelectorAll('.npu-event-text > span')].map((part) => [part.className, part.textContent])
    expect(parts).toEqual([['npu-cut', 'a'.repeat(80)], ['', 'ready · in 533 ms']])
  })

  it('says that there is no NPU, and where the engine listens', async () => {
    await show({ status: serverStatus({ http: { address: '0.0.0.0', port: 8000 }, metrics: null }) })
    expect(text()).toContain('No NPU found')
    expect(text()).toContain('http://127.0.0.1:8000')
    expect(text()).toContain('Reachable from the network')
    expect(text()).toContain('off')
  })

  it('shows the cards with what they report, their trouble and the simulated mark', async () => {
    await show({ samples: [{ ...serverSample(1), npus: [npuSample({ isSimulated: true }), npuSample({ card: 1, health: 'alarm', temperatureCelsius: null, isSimulated: true })] }] })
    const cards = [...page.container.querySelectorAll('.npu-cards > div')].map((card) => card.textContent)
    expect(cards[0]).toBe('Card 0910B3AI Core38 %Card memory8.0 GB / 64.0 GBTemperature51 °CPower98 W')
    expect(cards[1]).toMatch(/^Card 1910B3Alarm.*Temperaturenot reportedPower98 W$/)
    expect(text()).toContain('NPUSimulated2 cards')
  })

  it('offers the three ways in when there is no model', async () => {
    await show({ models: [], status: serverStatus({ repositoryPaths: [] }) })
    expect(['first-run-drop', 'first-run-open', 'first-run-sample'].every((id) => page.container.querySelector(`[data-testid="${id}"]`) !== null)).toBe(true)
  })
})
