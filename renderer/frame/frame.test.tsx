import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleClient } from '../console-client.ts'
import { initialConsoleState, useConsole } from '../console-store.ts'
import { useRoute } from '../router.ts'
import { modelSummary, npuSample, serverSample, serverStatus } from '../testing/models.ts'
import { press, render } from '../testing/render.tsx'
import type { Rendered } from '../testing/render.tsx'
import { ConnectionBanner } from './connection-banner.tsx'
import { Dock } from './dock.tsx'
import { engineWord } from './engine-state.tsx'
import { filterLog } from './log-panel.tsx'
import { Rail } from './rail.tsx'
import { useShortcuts } from './shortcuts.ts'

describe('engineWord', () => {
  it('trusts the connection first, then the supervisor', () => {
    expect(engineWord('open', serverStatus(), null)).toBe('ready')
    expect(engineWord('open', serverStatus({ state: 'STARTING' }), null)).toBe('starting')
    expect(engineWord('open', null, null)).toBe('connecting')
    expect(engineWord('reconnecting', serverStatus(), null)).toBe('reconnecting')
    expect(engineWord('reconnecting', serverStatus(), { kind: 'restarting', attempt: 2, delayMilliseconds: 1000, reason: 'killed' })).toBe('restarting')
    expect(engineWord('reconnecting', serverStatus(), { kind: 'failed', reason: 'gave up' })).toBe('failed')
    expect(engineWord('reconnecting', serverStatus(), { kind: 'running', processId: 1 })).toBe('reconnecting')
  })
})

describe('filterLog', () => {
  const entry = (sequence: number, level: 'error' | 'warning' | 'info' | 'verbose', message: string) => ({ sequence, time: 0, level, source: 'core', message, fields: { model: 'rec' } })
  const log = [entry(1, 'error', 'Load failed'), entry(2, 'info', 'ready'), entry(3, 'verbose', 'request')]

  it('keeps what is at least as severe and holds the text, facts included', () => {
    expect(filterLog(log, 'info', '').map((line) => line.sequence)).toEqual([1, 2])
    expect(filterLog(log, 'verbose', 'FAILED').map((line) => line.sequence)).toEqual([1])
    expect(filterLog(log, 'verbose', 'model=rec').length).toBe(3)
  })
})

function TestFrame() {
  useShortcuts()
  return <><Rail current="models" /><main data-region="page"><span data-page-filter><input aria-label="filter" /></span></main><ConnectionBanner /><Dock /></>
}

describe('frame', () => {
  let frame: Rendered

  beforeEach(async () => {
    useRoute.setState({ page: 'models', rest: [] })
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus(), models: [modelSummary('b', { state: 'UNAVAILABLE', reason: 'x' }), modelSummary('a', { state: 'UNAVAILABLE', reason: 'x' }), modelSummary('c', { state: 'READY' })] }, true)
    frame = await render(<TestFrame />)
  })

  afterEach(async () => {
    await frame.unmount()
  })

  it('walks the regions with F6, forwards and back, starting at the page that is open', async () => {
    await press('F6')
    expect(document.activeElement?.getAttribute('aria-current')).toBe('page')
    await press('F6')
    expect(document.activeElement?.getAttribute('aria-label')).toBe('filter')
    await press('F6')
    expect(document.activeElement?.closest('[data-region]')?.getAttribute('data-region')).toBe('dock')
    await act(async () => { document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'F6', shiftKey: true, bubbles: true })) })
    expect(document.activeElement?.getAttribute('aria-label')).toBe('filter')
  })

  it('focuses the filter with a slash, which stays a slash while typing', async () => {
    await press('/')
    expect(document.activeElement?.getAttribute('aria-label')).toBe('filter')
    const event = new KeyboardEvent('keydown', { key: '/', bubbles: true, cancelable: true })
    await act(async () => { document.activeElement?.dispatchEvent(event) })
    expect(event.defaultPrevented).toBe(false)
  })

  it('goes to pages with Ctrl and a digit, and through the problems with F8', async () => {
    const go = async (init: KeyboardEventInit) => {
      await act(async () => { document.body.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init })) })
      return window.location.hash
    }
    expect(await go({ key: '1', ctrlKey: true })).toBe('#/overview')
    expect(await go({ key: 'F8' })).toBe('#/models/a')
    useRoute.setState({ page: 'models', rest: ['a'] })
    expect(await go({ key: 'F8' })).toBe('#/models/b')
    useRoute.setState({ page: 'models', rest: ['b'] })
    expect(await go({ key: 'F8' })).toBe('#/models/a')
  })

  it('says in the dock that device data is simulated', async () => {
    expect(frame.container.querySelector('.npu-dock-simulated')).toBeNull()
    await act(async () => useConsole.setState({ samples: [{ ...serverSample(1), npus: [npuSample({ isSimulated: true })] }] }))
    expect(frame.container.querySelector('.npu-dock-simulated')?.textContent).toBe('All device data is simulated')
  })

  it('counts problems in the dock and lists them with their way', async () => {
    const button = frame.container.querySelector<HTMLButtonElement>('[data-testid="dock-problems-button"]')
    expect(button?.textContent).toContain('2')
    await act(async () => button?.click())
    expect([...frame.container.querySelectorAll('.npu-problem-name')].map((link) => link.getAttribute('href'))).toEqual(['#/models/a', '#/models/b'])
  })

  it('names what computes: CANN and the driver where there are cards, else ONNX Runtime', async () => {
    const version = () => frame.container.querySelector('[data-testid="dock-version"]')
    const show = (part: Parameters<typeof serverStatus>[0]) => act(async () => useConsole.setState({ status: serverStatus({ onnxRuntimeVersion: '1.27.0', ...part }) }))
    await show({})
    expect(version()?.textContent).toBe('ONNX Runtime 1.27.0')
    await show({ cannVersion: '8.5.0', driverVersion: '25.2.0' })
    expect(version()?.textContent).toBe('CANN 8.5.0 · driver 25.2.0')
    expect(version()?.getAttribute('title')).toContain('ONNX Runtime 1.27.0')
    await show({ npuSource: 'simulated', driverVersion: '26.0.sim' })
    expect(version()?.textContent).toBe('CANN (simulated) · driver 26.0.sim')
  })

  it('says of a log line, in the dock and in its log, that the cards are simulated', async () => {
    const entry = { sequence: 1, time: 0, level: 'info', source: 'core', message: 'cards found', fields: {}, isSimulated: true } as const
    await act(async () => useConsole.setState({ log: [entry] }))
    expect(frame.container.querySelector('.npu-dock-bar')?.textContent).toContain('[simulated] cards found')
    expect(filterLog([entry], 'verbose', '[simulated]')).toEqual([entry])
  })

  it.each(['logs', 'problems'])('gives the focus back to the button when the %s close', async (panel) => {
    const button = frame.container.querySelector<HTMLButtonElement>(`[data-testid="dock-${panel}-button"]`)
    const open = async () => {
      await act(async () => button?.click())
      await act(async () => frame.container.querySelector<HTMLElement>(`[data-testid="dock-${panel}"] button`)?.focus())
    }
    await open()
    await press('Escape')
    expect(frame.container.querySelector(`[data-testid="dock-${panel}"]`)).toBeNull()
    expect(document.activeElement).toBe(button)
    await open()
    await act(async () => frame.container.querySelector<HTMLElement>(`[data-testid="dock-${panel}"] [aria-label="Close"]`)?.click())
    expect(document.activeElement).toBe(button)
  })

  it('says that the connection is lost and since when, and tries at once when asked', async () => {
    const retry = vi.spyOn(consoleClient, 'retryNow').mockImplementation(() => {})
    expect(frame.container.querySelector('[data-testid="connection-banner"]')).toBeNull()
    await act(async () => useConsole.setState({ connection: 'reconnecting', failedAttempts: 1, lostAt: new Date(2026, 0, 1, 14, 3, 9).getTime() }))
    const banner = frame.container.querySelector('[data-testid="connection-banner"]')
    expect(banner?.textContent).toContain('Figures are from 14:03:09.')
    expect(banner?.textContent).toContain('Trying again by itself.')
    await act(async () => banner?.querySelector('button')?.click())
    expect(retry).toHaveBeenCalled()
  })
})
