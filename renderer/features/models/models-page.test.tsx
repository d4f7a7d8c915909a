import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelInstanceSummary } from '../../../server-core/contract/repository.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { loadStage, modelSample, modelSummary, serverSample, serverStatus, versionSummary } from '../../testing/models.ts'
import { press, render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import ModelsPage from './models-page.tsx'
import { useModelsView } from './models-store.ts'

const FAILURE = "Invalid argument: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration."

describe('models page', () => {
  let page: Rendered
  const command = vi.spyOn(consoleClient, 'command')
  const row = (name: string) => page.container.querySelector<HTMLElement>(`[data-row="${name}"]`)
  const button = (id: string) => page.container.querySelector<HTMLButtonElement>(`[data-testid="${id}"]`)
  const show = async (part: Parameters<typeof serverStatus>[0] = {}, language: 'en' | 'zh-CN' = 'en') => {
    useConsole.setState({
      ...initialConsoleState, connection: 'open', status: serverStatus(part),
      models: [modelSummary('det', { state: 'UNAVAILABLE', reason: FAILURE }), modelSummary('rec', { state: 'READY' }), modelSummary('vad')],
      samples: [serverSample(1, [modelSample('rec', { success: 20, failure: 2, pending: 3, inFlight: 2 })])],
    }, true)
    page = await render(<ModelsPage />, language)
  }

  beforeEach(() => {
    useModelsView.setState(useModelsView.getInitialState(), true)
    command.mockReset()
    command.mockImplementation(() => new Promise(() => {}))
  })

  afterEach(async () => {
    await page.unmount()
  })

  it('lists models in order of attention with their figures, unknown as a dash', async () => {
    await show()
    const rows = [...page.container.querySelectorAll<HTMLElement>('[data-row]')]
    expect(rows.map((entry) => entry.dataset['row'])).toEqual(['det', 'rec', 'vad'])
    const cells = (name: string) => [...(row(name)?.querySelectorAll('[role="gridcell"]') ?? [])].slice(4, 10).map((cell) => cell.textContent)
    expect(cells('rec')).toEqual(['1', '3', '2', '22.0', '—', '2'])
    expect(cells('vad')).toEqual(['—', '—', '—', '—', '—', '—'])
  })

  it('marks a latency that simulated cards took, and no other', async () => {
    await show()
    const put = (isSimulated: boolean) => act(async () => useConsole.setState({
      models: [modelSummary('rec', { state: 'READY', runsOn: 'NPU 0', isSimulated })], samples: [serverSample(1, [modelSample('rec', { success: 20, latency: { 100: 20 } })])],
    }))
    await put(false)
    expect(page.container.querySelector('[data-testid="latency-simulated"]')).toBeNull()
    await put(true)
    const figure = row('rec')?.querySelector('[data-testid="latency-simulated"]')
    expect(figure?.textContent).toMatch(/\d (ms|s|µs)$/)
    expect(figure?.querySelector('svg')?.getAttribute('aria-label')).toBe('Simulated')
  })

  it('names what an ensemble is, which has no backend', async () => {
    await show()
    await act(async () => { useConsole.setState({ models: [{ ...modelSummary('line'), backend: '', platform: 'ensemble' }, { ...modelSummary('what'), backend: '' }] }) })
    const backendOf = (name: string) => [...(row(name)?.querySelectorAll('[role="gridcell"]') ?? [])][2]?.textContent
    expect([backendOf('line'), backendOf('what')]).toEqual(['ensemble', '—'])
  })

  it('is walked, unfolded and selected with the keyboard alone', async () => {
    await show()
    await act(async () => row('det')?.focus())
    await press('ArrowDown')
    expect(document.activeElement).toBe(row('rec'))
    await press('ArrowRight')
    expect(row('rec')?.getAttribute('aria-expanded')).toBe('true')
    await press('ArrowDown')
    expect(document.activeElement).toBe(row('rec/1'))
    await press('ArrowLeft')
    expect(document.activeElement).toBe(row('rec'))
    await press(' ')
    expect(row('rec')?.getAttribute('aria-selected')).toBe('true')
    expect(page.container.querySelector('[data-testid="selection-bar"]')?.textContent).toContain('1 selected')
    await press('Enter')
    expect(window.location.hash).toBe('#/models/rec')
  })

  it('has exactly one row in the tab order, and its actions with it', async () => {
    await show()
    expect([...page.container.querySelectorAll('[data-row][tabindex="0"]')].length).toBe(1)
    expect(button('load-vad')?.tabIndex).toBe(-1)
    await act(async () => row('vad')?.focus())
    expect(button('load-vad')?.tabIndex).toBe(0)
  })

  it('keeps the focus in the table when the part that held it goes', async () => {
    await show()
    await act(async () => row('det')?.focus())
    await press(' ')
    const clear = [...page.container.querySelectorAll<HTMLButtonElement>('[data-testid="selection-bar"] button')].at(-1)
    await act(async () => { clear?.focus(); clear?.click() })
    expect(document.activeElement).toBe(row('det'))
    await act(async () => page.container.querySelector<HTMLElement>('[data-region="pane"] button')?.focus())
    await press('Escape')
    expect(page.container.querySelector('[data-region="pane"]')).toBeNull()
    expect(document.activeElement).toBe(row('det'))
  })

  it('gives the focus to the filter when the filter is cleared', async () => {
    await show()
    await act(async () => useModelsView.setState({ text: 'nothing like it' }))
    const clear = page.container.querySelector<HTMLButtonElement>('.npu-empty button')
    await act(async () => { clear?.focus(); clear?.click() })
    expect(document.activeElement).toBe(page.container.querySelector('input[data-page-filter]'))
  })

  it('names the model in the action, and not again in its tooltip', async () => {
    await show()
    await act(async () => {
      button('load-vad')?.dispatchEvent(new MouseEvent('pointerover', { bubbles: true }))
      // As long as Fluent waits before it shows a tooltip.
      await new Promise((resolve) => setTimeout(resolve, 300))
    })
    expect(button('load-vad')?.getAttribute('aria-label')).toBe('Load vad')
    const tooltips = () => [...document.querySelectorAll('[role="tooltip"]')].map((tooltip) => tooltip.textContent)
    expect(tooltips()).toContain('Load')
    expect(tooltips()).not.toContain('Load vad')
  })

  it('loads and unloads with the button of the row', async () => {
    await show()
    await act(async () => button('load-vad')?.click())
    await act(async () => button('unload-rec')?.click())
    expect(command.mock.calls.filter(([name]) => name !== 'model.detail')).toEqual([['model.load', { name: 'vad' }], ['model.unload', { name: 'rec' }]])
  })

  it('explains a failed model in the side pane and retries from there', async () => {
    await show()
    const card = page.container.querySelector('[data-testid="failure-card"]')
    expect(card?.querySelector('h3')?.textContent).toBe('Version 1 did not load: this engine has no backend “tensorrt”.')
    expect(card?.textContent).toContain('1 other model keeps serving.')
    await act(async () => button('failure-retry')?.click())
    expect(command).toHaveBeenCalledWith('model.load', { name: 'det' })
  })

  it('keeps the pane of a retried model until it serves, with the focus in it', async () => {
    await show()
    const pane = () => page.container.querySelector<HTMLElement>('[data-region="pane"]')
    const change = (part: Parameters<typeof modelSummary>[1]) => act(async () => useConsole.setState((state) => ({ models: (state.models ?? []).map((model) => (model.name === 'det' ? modelSummary('det', part) : model)) })))
    await act(async () => { button('failure-retry')?.focus(); button('failure-retry')?.click() })
    await change({ state: 'LOADING', stage: loadStage('creatingInstance') })
    expect(pane()?.textContent).toContain('Creating instances')
    expect(document.activeElement).toBe(pane())
    await change({ state: 'READY' })
    expect(pane()?.textContent).toContain('Loaded: version 1 serves.')
    await press('Escape')
    expect(pane()).toBeNull()
  })

  it('shows a refused action that leaves no trace on its model', async () => {
    await show()
    command.mockImplementation((...[name]) => (name === 'model.unload' ? Promise.reject(new ConsoleError('UNAVAILABLE', 'busy')) : new Promise(() => {})))
    await act(async () => button('unload-rec')?.click())
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain('“rec” was not unloaded.')
  })

  describe('instances that died', () => {
    const at = Date.now() + 600_000
    const instance = (name: string, part: Partial<ModelInstanceSummary> = {}): ModelInstanceSummary => ({ name, kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, ...part })
    const put = (instances: readonly ModelInstanceSummary[], reason: string) => act(async () => useConsole.setState((state) => ({
      models: (state.models ?? []).filter(({ name }) => name !== 'det').map((model) => (model.name === 'rec' ? modelSummary('rec', { state: 'READY', reason, instanceCount: instances.filter((entry) => entry.state === 'READY').length, versions: [versionSummary('1', { state: 'READY', reason, instances })] }) : model)),
    })))

    it('show on the row with the attempt that comes, and in the pane with their reason, until they run again', async () => {
      await show()
      await put([instance('rec_0_0'), instance('rec_0_1', { state: 'RESTARTING', reason: 'the worker thread ended', restart: { attempt: 2, limit: 5, at } })], '1 of 2 instances start again: the worker thread ended')
      await act(async () => row('rec')?.click())
      expect(row('rec')?.textContent).toMatch(/Restart 2\/5· (5\d\d|600) s/)
      expect(row('rec')?.querySelector('[data-cell="instances"]')?.textContent).toBe('1/2')
      const pane = page.container.querySelector('[data-region="pane"]')
      expect(pane?.querySelector('h3')?.textContent).toBe('1 of 2 instances run: the model serves, more slowly.')
      expect(pane?.textContent).toContain('the worker thread ended')
      expect(pane?.textContent).not.toContain('did not load')
      await put([instance('rec_0_0'), instance('rec_0_1')], '')
      expect(row('rec')?.textContent).toContain('Ready')
      expect(row('rec')?.querySelector('[data-cell="instances"]')?.textContent).toBe('2')
    })

    it.each([['en', /Restart 7· (5\d\d|600) s/, 'as soon as their card answers'], ['zh-CN', /重启 7· (5\d\d|600) s/, '卡一恢复应答']] as const)('of a card at fault show the attempt without a last one, and when they come back (%s)', async (language, pill, comesBack) => {
      await show({}, language)
      const reason = 'Device 1: running failed with 507901 SOCKET_CLOSE: the link to the card is gone'
      await put([instance('rec_0_0', { state: 'RESTARTING', reason, restart: { attempt: 7, limit: null, at } })], `1 of 1 instances start again: ${reason}`)
      await act(async () => row('rec')?.click())
      expect(row('rec')?.textContent).toMatch(pill)
      expect(row('rec')?.textContent).not.toMatch(/7\//)
      expect(page.container.querySelector('[data-testid="instance-trouble"]')?.textContent).toContain(comesBack)
      expect(button('trouble-reload')).toBeNull()
    })

    it('that were given up are said to be, and are had again by a load', async () => {
      await show({}, 'zh-CN')
      await put([instance('rec_0_0', { state: 'FAILED', reason: 'no memory' })], '1 of 1 instances were given up; load the model again: no memory')
      await act(async () => row('rec')?.click())
      expect(row('rec')?.textContent).toContain('已放弃 1 个')
      expect(page.container.querySelector('[data-testid="instance-trouble"] h3')?.textContent).toBe('没有实例在运行：模型现在不答复请求。')
      await act(async () => button('trouble-reload')?.click())
      expect(command).toHaveBeenCalledWith('model.load', { name: 'rec' })
    })
  })

  it('cancels a load from its row, and takes its end for no failure', async () => {
    await show()
    let fail = (_error: Error) => {}
    command.mockImplementation(((name: string) => (name === 'model.load' ? new Promise((_resolve, reject) => { fail = reject }) : Promise.resolve())) as never)
    await act(async () => button('load-vad')?.click())
    await act(async () => useConsole.setState((state) => ({ models: (state.models ?? []).map((model) => (model.name === 'vad' ? modelSummary('vad', { state: 'LOADING', stage: loadStage('creatingInstance') }) : model)) })))
    await act(async () => button('cancel-vad')?.click())
    expect(command).toHaveBeenCalledWith('model.unload', { name: 'vad' })
    await act(async () => {
      useConsole.setState((state) => ({ models: (state.models ?? []).map((model) => (model.name === 'vad' ? modelSummary('vad', { state: 'UNAVAILABLE', reason: 'unloaded' }) : model)) }))
      fail(new ConsoleError('INVALID_ARG', "load failed for model 'vad': Newer operation has been applied to the model lifecycle, current load operation is out-dated."))
    })
    expect(page.container.querySelector('[role="alert"]')).toBeNull()
    // The next one counts again.
    await act(async () => button('load-vad')?.click())
    await act(async () => fail(new ConsoleError('INTERNAL', 'no such thing')))
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain('no such thing')
  })

  it('disables loading in poll mode and says why, on the page and on the button', async () => {
    await show({ controlMode: 'poll' }, 'zh-CN')
    expect(button('load-vad')?.getAttribute('aria-disabled')).toBe('true')
    expect(page.container.querySelector('[data-testid="why-blocked"]')?.textContent).toContain('控制模式为轮询')
    await act(async () => button('load-vad')?.click())
    expect(command.mock.calls.some(([name]) => name === 'model.load')).toBe(false)
  })
})
