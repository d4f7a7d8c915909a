import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelInstanceSummary } from '../../server-core/contract/repository.ts'
import { initialConsoleState, useConsole } from '../console-store.ts'
import { modelSummary, versionSummary } from '../testing/models.ts'
import { render } from '../testing/render.tsx'
import type { Rendered } from '../testing/render.tsx'
import { InstanceNotices, useInstanceNotices } from './instance-notices.tsx'

const RUNS: ModelInstanceSummary = { name: 'rec_0_0', kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null }
const models = (part: Partial<ModelInstanceSummary>) => [modelSummary('rec', { state: 'READY', versions: [versionSummary('1', { state: 'READY', instances: [{ ...RUNS, ...part }] })] })]

describe('a notice about an instance', () => {
  let page: Rendered
  const notices = () => [...page.container.querySelectorAll('[data-testid="instance-notice"]')].map((entry) => entry.textContent)
  const become = (part: Partial<ModelInstanceSummary>) => act(async () => useConsole.setState({ models: models(part) }))
  const died = { state: 'RESTARTING', reason: 'the worker thread ended', restart: { attempt: 1, limit: 5, at: 0 } } as const

  beforeEach(async () => {
    useInstanceNotices.setState({ notices: [] })
    useConsole.setState({ ...initialConsoleState, connection: 'open', models: models({}) }, true)
    page = await render(<InstanceNotices />)
    vi.useFakeTimers()
  })

  afterEach(async () => {
    vi.useRealTimers()
    await page.unmount()
  })

  it('comes when it dies, repeats what stands on it, and goes some seconds after it runs again', async () => {
    expect(notices()).toEqual([])
    await become(died)
    expect(notices()).toEqual(['Restarting 1/5rec rec_0_0the worker thread ended'])
    expect(page.container.querySelector('a')?.getAttribute('href')).toBe('#/models/rec')
    await become({ ...died, restart: { attempt: 2, limit: 5, at: 0 } })
    expect(notices()[0]).toContain('Restarting 2/5')
    await become({})
    expect(notices()).toEqual(['Runs againrec rec_0_0'])
    await act(async () => vi.advanceTimersByTime(8000))
    expect(notices()).toEqual([])
  })

  it('stays when it was given up, until it is closed', async () => {
    await become({ state: 'FAILED', reason: 'no memory' })
    await act(async () => vi.advanceTimersByTime(60_000))
    expect(notices()).toEqual(['Given uprec rec_0_0no memory'])
    await act(async () => page.container.querySelector('button')?.click())
    expect(notices()).toEqual([])
  })

  it('does not come for what was down before the window looked', async () => {
    await act(async () => useConsole.setState({ models: null }))
    await become(died)
    expect(notices()).toEqual([])
  })
})
