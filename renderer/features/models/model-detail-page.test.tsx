import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import type { ModelConfig } from '../../../server-core/contract/model-config.ts'
import type { ModelInstanceSummary } from '../../../server-core/contract/repository.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { useRoute } from '../../router.ts'
import { loadStage, modelSample, modelSummary, serverSample, serverStatus, versionSummary } from '../../testing/models.ts'
import { render, type Rendered } from '../../testing/render.tsx'
import ModelDetailPage from './model-detail-page.tsx'

const config = {
  max_batch_size: 8, input: [], parameters: {}, instance_group: [{ kind: 'KIND_CPU', count: 2 }], version_policy: { latest: { num_versions: 1 } },
  dynamic_batching: { preferred_batch_size: [4, 8], max_queue_delay_microseconds: 2000 },
} as unknown as ModelConfig
const loaded: ModelDetail = {
  summary: modelSummary('rec', { state: 'READY' }), config, configText: '', effectiveConfigText: '', samples: [],
  metadata: { name: 'rec', versions: ['1'], platform: '', inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 3, 48, -1] }], outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, -1, 6625] }] },
  log: [{ sequence: 1, time: 0, level: 'info', source: 'model-lifecycle', message: 'model loaded', fields: { model: 'rec', ms: 12 } }],
}

describe('model page', () => {
  let page: Rendered
  let answer: () => Promise<ModelDetail>
  const command = vi.spyOn(consoleClient, 'command')
  const text = () => page.container.textContent ?? ''
  const button = (id: string) => page.container.querySelector<HTMLButtonElement>(`[data-testid="${id}"]`)
  const show = async (tab: string, detail: ModelDetail = loaded, language: 'en' | 'zh-CN' = 'en') => {
    answer = async () => detail
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus(), models: [detail.summary] }, true)
    useRoute.setState({ page: 'models', rest: ['rec', tab] }, true)
    page = await render(<ModelDetailPage />, language)
  }

  beforeEach(() => {
    command.mockReset()
    command.mockImplementation(((name: string) => (name === 'model.detail' ? answer() : new Promise(() => {}))) as never)
  })

  afterEach(() => page.unmount())

  it('shows signature, instances and batching in words', async () => {
    await show('summary')
    expect(text()).toContain('[-1, 3, 48, -1]')
    expect(text()).toContain('2 instances, CPU')
    expect(text()).toContain('Dynamic, up to 8 items. Preferred sizes 4, 8. A request waits at most 2\u2009000 µs for others.')
  })

  it('does not call a card a CPU where the kind of the instance group does', async () => {
    await show('summary', { ...loaded, summary: { ...modelSummary('rec', { state: 'READY' }), runsOn: 'NPU 1' } })
    expect(text()).toContain('2 instancesBatching')
    expect(text()).not.toContain('2 instances, CPU')
  })

  it('says of each log line, shown and copied, that its cards are simulated', async () => {
    await show('log', { ...loaded, log: loaded.log.map((entry) => ({ ...entry, isSimulated: true as const })) })
    const written: string[] = []
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: (copied: string) => { written.push(copied); return Promise.resolve() } } })
    expect(page.container.querySelector('[data-testid="log-simulated"]')?.textContent).toBe('[simulated] ')
    await act(async () => page.container.querySelector<HTMLButtonElement>('[aria-label="Copy lines"]')?.click())
    expect(written).toEqual(['1970-01-01T00:00:00.000Z INFO model-lifecycle [simulated] model loaded model=rec ms=12'])
  })

  it('lists the instances of each serving version, with what is wrong', async () => {
    const instance = (name: string, part: Partial<ModelInstanceSummary> = {}): ModelInstanceSummary => ({ name, kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, ...part })
    const instances = [instance('rec_0_0'), instance('rec_0_1', { state: 'RESTARTING', reason: 'the worker thread stopped', restart: { attempt: 3, limit: 5, at: 0 } }), instance('rec_0_2', { state: 'FAILED', reason: 'no memory' }), instance('spare_0', { kind: 'KIND_MODEL', isPassive: true })]
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'READY', versions: [versionSummary('3', { state: 'READY', instances }), versionSummary('2')] }) })
    const rows = [...page.container.querySelectorAll('[data-testid="instances"] tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))
    expect(rows).toEqual([
      ['rec_0_0', '3', 'CPU', 'Running', ''], ['rec_0_1', '3', 'CPU', 'Restarting 3/5', 'the worker thread stopped'], ['rec_0_2', '3', 'CPU', 'Given up', 'no memory'],
      ['spare_0', '3', 'MODEL', 'Passive', ''],
    ])
  })

  it('puts what is wrong with an instance under it where its backend says what it runs on', async () => {
    const instances: ModelInstanceSummary[] = [{ name: 'rec_0_0', kind: 'KIND_CPU', isPassive: false, state: 'RESTARTING', reason: 'the card is lost', restart: { attempt: 9, limit: null, at: 0 }, report: { runs_on: 'npu', device: 0, devices: [0, 1], graph: 'dynamic' } }]
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'READY', versions: [versionSummary('3', { state: 'READY', instances })] }) })
    const rows = [...page.container.querySelectorAll('[data-testid="instances"] tr')].map((row) => [...row.querySelectorAll<HTMLTableCellElement>('td, th')])
    expect(rows.map((cells) => cells.reduce((sum, cell) => sum + cell.colSpan, 0))).toEqual([6, 6, 6])
    expect(rows[1]?.map((cell) => cell.textContent)).toEqual(['rec_0_0', '3', 'Card 0, 1', 'dynamic shapes', '—', 'Restarting 9'])
    expect(rows[2]?.map((cell) => cell.textContent)).toEqual(['the card is lost'])
  })

  it('says of each version its state, since when, why, and what it serves now', async () => {
    const versions = [versionSummary('1', { state: 'READY', changedAt: Date.now() - 180_000 }), versionSummary('2', { state: 'UNAVAILABLE', reason: 'Internal: file is damaged', changedAt: Date.now() })]
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'READY', versions }) })
    await act(async () => useConsole.setState({ samples: [serverSample(1, [modelSample('rec', { success: 30, pending: 4, inFlight: 2 })])] }))
    const cells = (version: string) => [...page.container.querySelectorAll(`[data-testid="versions"] [data-version="${version}"] td`)].slice(0, 7).map((cell) => cell.textContent)
    expect(cells('1')).toEqual(['1', 'Ready', '3 minutes ago', '30.0', '—', '4', '2'])
    expect(cells('2')).toEqual(['2', 'Failed', 'just now', '—', '—', '—', '—'])
    expect(page.container.querySelector('[data-testid="versions"]')?.textContent).toContain('Internal: file is damaged')
  })

  it('shows how long the stage of a running load takes and cancels it, but not where a version serves', async () => {
    const stage = loadStage('warmingUp', { version: '1', startedAt: Date.now() - 7500 })
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'LOADING', stage }), metadata: null, config: null })
    expect(page.container.querySelector('[data-testid="stage-time"]')?.textContent).toMatch(/^[78] s$/)
    await act(async () => button('cancel-load')?.click())
    expect(command).toHaveBeenCalledWith('model.unload', { name: 'rec' })
    await act(async () => useConsole.setState({ models: [modelSummary('rec', { state: 'READY', stage })] }))
    expect(page.container.querySelector('[data-testid="running-load"]')).not.toBeNull()
    expect(button('cancel-load')).toBeNull()
  })

  it('lists how long each part of the last load took', async () => {
    const lastLoad = { outcome: 'loaded', startedAt: 1000, endedAt: 3000, stages: [{ kind: 'readingConfig', version: '', startedAt: 1000, instanceCount: 0, milliseconds: 4 }, { kind: 'creatingInstance', version: '1', startedAt: 1010, instanceCount: 2, milliseconds: 1900 }] } as const
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'READY', lastLoad }) })
    const rows = [...page.container.querySelectorAll('[data-testid="last-load"] tr')].map((row) => row.textContent)
    expect(rows).toEqual(['Reading config4.0 ms', 'Creating instances · version 11\u2009900 ms'])
  })

  describe('traffic', () => {
    const two = (part: Parameters<typeof modelSummary>[1] = {}) => modelSummary('rec', { state: 'READY', versions: [versionSummary('1', { state: 'READY' }), versionSummary('2', { state: 'READY' })], ...part })
    const split = { version: '2', percent: 30, baseVersion: '1', versionRequests: 3, baseRequests: 7 }
    const sent = () => command.mock.calls.filter(([name]) => name === 'model.traffic').map(([, args]) => (args as { split: unknown }).split)
    const type = (id: string, value: string) => act(async () => {
      const input = page.container.querySelector<HTMLInputElement>(`[data-testid="${id}"]`)
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, value)
      input?.dispatchEvent(new Event('input', { bubbles: true }))
      input?.dispatchEvent(new Event('change', { bubbles: true }))
    })

    it('cannot be split between one version', async () => {
      await show('summary')
      expect(page.container.querySelector('[data-testid="traffic"]')).toBeNull()
    })

    it('begins as it is: all to the highest version', async () => {
      await show('summary', { ...loaded, summary: two() })
      expect(text()).toContain('all to version 2, the highest that is ready')
      await act(async () => button('traffic-begin')?.click())
      expect(sent()).toEqual([{ version: '2', percent: 100 }])
    })

    it('follows slider and field at once, what is overtaken left out, and ends', async () => {
      const answers: (() => void)[] = []
      await show('summary', { ...loaded, summary: two({ traffic: split }) })
      command.mockImplementation(((name: string) => (name === 'model.detail' ? answer() : new Promise<void>((resolve) => { answers.push(resolve) }))) as never)
      for (const value of ['40', '55', '70']) await type('traffic-slider', value)
      expect(sent()).toEqual([{ version: '2', percent: 40 }])
      expect(text()).toContain('70 % to version 2, the rest to version 1')
      await act(async () => answers.shift()?.())
      expect(sent()).toEqual([{ version: '2', percent: 40 }, { version: '2', percent: 70 }])
      await act(async () => answers.shift()?.())
      await type('traffic-percent', '12.5')
      await act(async () => page.container.querySelector<HTMLInputElement>('[data-testid="traffic-percent"]')?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })))
      expect(sent().at(-1)).toEqual({ version: '2', percent: 12.5 })
      await act(async () => answers.shift()?.())
      await act(async () => button('traffic-end')?.click())
      expect(sent().at(-1)).toBeNull()
    })

    it('is measured beside what was asked for', async () => {
      await show('summary', { ...loaded, summary: two({ traffic: split }) }, 'zh-CN')
      expect(page.container.querySelector('[data-testid="traffic-measured"]')?.textContent).toContain('版本 2 实得 —')
      await act(async () => useConsole.setState({ samples: [serverSample(1, [modelSample('rec', { success: 15 }), modelSample('rec', { version: '2', success: 5 })])] }))
      const measured = [...page.container.querySelectorAll('[data-testid="traffic-measured"] [data-version]')].map((entry) => entry.textContent)
      expect(measured).toEqual(['版本 2 实得 25 % 每秒 5.0', '版本 1 实得 75 % 每秒 15.0'])
    })

    it('says why a share was refused, and goes back to what holds', async () => {
      await show('summary', { ...loaded, summary: two({ traffic: split }) })
      command.mockImplementation(((name: string) => (name === 'model.detail' ? answer() : Promise.reject(new ConsoleError('UNAVAILABLE', 'version 2 is its only ready version')))) as never)
      await type('traffic-slider', '80')
      expect(page.container.querySelector('[role="alert"]')?.textContent).toContain('version 2 is its only ready version')
      expect(text()).toContain('30 % to version 2')
    })
  })

  it('speaks Chinese', async () => {
    await show('summary', loaded, 'zh-CN')
    expect(text()).toContain('动态批处理，最多 8 条。优先批大小 4, 8。请求最多等待 2\u2009000 µs 凑批。')
  })

  it('offers Load for a model that is not loaded, from the header and the Test tab', async () => {
    await show('test', { ...loaded, summary: modelSummary('rec'), metadata: null, config: null })
    expect(button('detail-load')?.textContent).toBe('Load')
    await act(async () => button('load-to-test')?.click())
    expect(command).toHaveBeenCalledWith('model.load', { name: 'rec' })
  })

  it('names the stage of a load in the language of the window', async () => {
    await show('test', { ...loaded, summary: modelSummary('rec', { state: 'LOADING', stage: loadStage('creatingInstance') }), metadata: null, config: null }, 'zh-CN')
    expect(page.container.querySelector('header .npu-state-pill')?.textContent).toBe('创建实例')
    expect(page.container.querySelector('[role="tabpanel"]')?.textContent).toContain('创建实例')
    expect(text()).not.toContain('creating')
  })

  it('goes on to Run when the model is loaded from the Test tab, and stays there when the inputs are ready', async () => {
    const waiting = { ...loaded, summary: modelSummary('rec'), metadata: null, config: null }
    await show('test', waiting)
    await act(async () => button('load-to-test')?.focus())
    answer = async () => loaded
    await act(async () => useConsole.setState({ models: [loaded.summary] }))
    expect(document.activeElement).toBe(button('run'))
  })

  it('says why there is nothing while the connection is lost', async () => {
    answer = async () => loaded
    useConsole.setState({ ...initialConsoleState, connection: 'reconnecting', status: serverStatus(), models: [loaded.summary], lostAt: 1 }, true)
    useRoute.setState({ page: 'models', rest: ['rec', 'summary'] }, true)
    page = await render(<ModelDetailPage />, 'en')
    expect(text()).toContain('The connection to the engine is lost.')
    await act(async () => useConsole.setState({ connection: 'open' }))
    expect(text()).not.toContain('The connection to the engine is lost.')
  })

  it('explains a failed load on the summary', async () => {
    const reason = "Invalid argument: unable to find backend library for backend 'x', try specifying runtime on the model configuration."
    await show('summary', { ...loaded, summary: modelSummary('rec', { state: 'UNAVAILABLE', reason }), metadata: null, config: null })
    expect(page.container.querySelector('[data-testid="failure-card"]')?.textContent).toContain('this engine has no backend “x”')
    expect(button('detail-load')?.textContent).toBe('Retry')
  })

  it('asks the server again when the model changes, and shows the pushed state at once', async () => {
    await show('summary')
    const asked = command.mock.calls.filter(([name]) => name === 'model.detail').length
    answer = () => new Promise(() => {})
    await act(async () => useConsole.setState({ models: [modelSummary('rec', { state: 'UNAVAILABLE', reason: 'unloaded', changedAt: 2000 })] }))
    expect(text()).toContain('Unloaded')
    expect(command.mock.calls.filter(([name]) => name === 'model.detail').length).toBe(asked + 1)
  })

  it('lists files and log lines', async () => {
    await show('files')
    expect(text()).toContain('1/model.onnx')
    await act(async () => useRoute.setState({ rest: ['rec', 'log'] }))
    expect(text()).toContain('model loaded model=rec ms=12')
  })

  it('says so where there is no such model', async () => {
    await show('summary')
    answer = () => Promise.reject(new ConsoleError('NOT_FOUND', "no model 'gone'"))
    await act(async () => useRoute.setState({ rest: ['gone'] }))
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain("no model 'gone'")
  })
})
