import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EnsembleGraph } from '../../../server-core/contract/ensemble.ts'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { useRepository } from '../../frame/repository-actions.ts'
import { useRoute } from '../../router.ts'
import { ensembleExecution, ensembleGraph, graphEdge, graphStep, stepRun, stepStatistics } from '../../testing/ensembles.ts'
import { modelSample, modelSummary, serverSample, serverStatus } from '../../testing/models.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import PipelinesPage from './pipelines-page.tsx'
import { usePipelinesView } from './pipelines-store.ts'

const line = (part: Partial<ModelSummary> = {}) => modelSummary('line', { state: 'READY', platform: 'ensemble', backend: '', ...part })
const graph = ensembleGraph({
  steps: [graphStep(0, 'cls'), graphStep(1, 'rec')],
  edges: [graphEdge('x', null, 0, { shape: [-1, 3, 48, 192] }), graphEdge('x', null, 1, { shape: [-1, 3, 48, 192] }), graphEdge('direction', 0, null), graphEdge('text', 1, null)],
  statistics: [stepStatistics(0, { count: 2, totalNanoseconds: 2e6 }), stepStatistics(1, { count: 2, totalNanoseconds: 18e6 })],
  executions: [ensembleExecution(1000, 12, [stepRun(0, 0, 1), stepRun(1, 0, 11.5)], { id: 'older' }), ensembleExecution(2000, 9, [stepRun(0, 0, 1), stepRun(1, 0, 8.5)], { id: 'newer' })],
})

describe('pipelines page', () => {
  let page: Rendered
  let answer: () => Promise<EnsembleGraph>
  const command = vi.spyOn(consoleClient, 'command')
  const text = () => page.container.textContent ?? ''
  const byId = (id: string) => page.container.querySelector<HTMLElement>(`[data-testid="${id}"]`)
  const asked = () => command.mock.calls.filter(([name]) => name === 'model.ensembleGraph').length
  const show = async (models: readonly ModelSummary[], { language = 'en' as 'en' | 'zh-CN', rest = [] as string[], mode = 'explicit' as 'explicit' | 'poll' } = {}) => {
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus({ controlMode: mode }), models, samples: [serverSample(1)] }, true)
    useRoute.setState({ page: 'pipelines', rest }, true)
    page = await render(<PipelinesPage />, language)
  }

  beforeEach(() => {
    usePipelinesView.setState(usePipelinesView.getInitialState(), true)
    answer = () => Promise.resolve(graph)
    command.mockReset()
    command.mockImplementation(((name: string) => (name === 'model.ensembleGraph' ? answer() : new Promise(() => {}))) as never)
  })

  afterEach(() => page.unmount())

  it('says what an ensemble is where there is none, and opens the sample repository', async () => {
    await show([modelSummary('cls', { state: 'READY' })])
    expect(byId('no-pipelines')?.textContent).toContain('An ensemble is a model that calls other models')
    expect(byId('no-pipelines')?.querySelector('pre')?.textContent).toContain('ensemble_scheduling')
    await act(async () => [...page.container.querySelectorAll('button')].find((button) => button.textContent === 'Open the sample repository')?.click())
    expect(command).toHaveBeenCalledWith('repository.openSample')
    expect(useRepository.getState().task).toMatchObject({ kind: 'sample' })
    await act(async () => useRepository.setState({ task: null }))
  })

  it('shows both steps as nodes and in the outline, with tensors, times and shares', async () => {
    await show([line(), modelSummary('cls', { state: 'READY' }), modelSummary('rec', { state: 'UNAVAILABLE', reason: 'Internal: no' })])
    const node = (step: number) => [byId(`pipeline-node-${step}`)?.querySelector('button svg')?.getAttribute('aria-label'), byId(`pipeline-node-${step}`)?.querySelector('b')?.textContent, byId(`pipeline-node-${step}`)?.querySelector('[data-testid="node-time"]')?.textContent]
    expect([node(0), node(1)]).toEqual([['Ready', '1 cls', '1.0 ms'], ['Failed', '2 rec', '9.0 ms']])
    expect(byId('pipeline-node-1')?.textContent).toContain('FP32 [-1, 3, 48, 192]')
    expect(byId('pipeline-node-1')?.textContent).toContain('90 %')
    expect(byId('pipeline-canvas')?.querySelectorAll('path.npu-pipelines-line').length).toBe(4)
    expect(byId('pipeline-outline')?.textContent).toContain('in_x ←from x')
    expect(byId('pipeline-outline')?.textContent).toContain('direction ←from 1 cls.out_direction')
    expect(text()).toContain('Step 2, rec, takes 90 % of the steps’ time')
    expect(text()).toContain('2 steps · 4 edges')
  })

  it('links the selected step to its model and its config, chosen from the outline by keyboard or from the canvas', async () => {
    await show([line(), modelSummary('cls', { state: 'READY' }), modelSummary('rec', { state: 'READY' })])
    await act(async () => byId('outline-step-1')?.click())
    expect(byId('pipeline-node-1')?.querySelector('button')?.getAttribute('aria-pressed')).toBe('true')
    await act(async () => byId('step-config')?.click())
    expect(window.location.hash).toBe('#/models/rec/config')
    await act(async () => byId('pipeline-node-0')?.click())
    await act(async () => byId('step-model')?.click())
    expect(window.location.hash).toBe('#/models/cls')
  })

  it('leads from a step that is an ensemble to its pipeline', async () => {
    answer = () => Promise.resolve({ ...graph, steps: [graphStep(0, 'inner', { isEnsemble: true }), graphStep(1, 'rec')] })
    await show([line(), modelSummary('inner', { state: 'READY', platform: 'ensemble' })], { rest: ['line'] })
    await act(async () => byId('pipeline-node-0')?.click())
    await act(async () => byId('step-model')?.click())
    expect(window.location.hash).toBe('#/pipelines/inner')
  })

  it('shows the newest request as a waterfall of steps side by side, and keeps an older one that was chosen', async () => {
    await show([line()])
    expect(byId('pipeline-waterfall')?.textContent).toContain('2 rec takes 94 % of 9.0 ms.')
    expect(byId('side-by-side')?.textContent).toBe('Steps 1, 2 ran at the same time.')
    const older = [...(byId('pipeline-requests')?.querySelectorAll('button') ?? [])].find((button) => button.textContent?.includes('older'))
    await act(async () => older?.click())
    answer = () => Promise.resolve({ ...graph, executions: [ensembleExecution(3000, 5, [stepRun(0, 0, 1)], { id: 'newest' })] })
    await act(async () => useConsole.setState({ samples: [serverSample(2, [modelSample('line', { success: 1 })])] }))
    expect(byId('pipeline-requests')?.textContent).toContain('newest')
    expect(byId('pipeline-waterfall')?.textContent).toContain('of 12.0 ms')
    await act(async () => [...page.container.querySelectorAll('button')].find((button) => button.textContent === 'Follow newest')?.click())
    expect(byId('pipeline-waterfall')?.textContent).toContain('of 5.0 ms')
  })

  it('reads the graph again in seconds in which the ensemble worked, and not in the others', async () => {
    await show([line()])
    expect(asked()).toBe(1)
    await act(async () => useConsole.setState({ samples: [serverSample(2, [modelSample('other', { success: 1 })])] }))
    expect(asked()).toBe(1)
    await act(async () => useConsole.setState({ samples: [serverSample(3, [modelSample('line', { success: 1 })])] }))
    expect(asked()).toBe(2)
  })

  it('says why a step failed and what the client was told', async () => {
    answer = () => Promise.resolve({ ...graph, executions: [ensembleExecution(1, 3, [stepRun(0, 0, 1), stepRun(1, 0, 2, { error: 'bad shape' })], { outcome: 'failure', error: "in ensemble 'line', bad shape" })] })
    await show([line()])
    expect(byId('pipeline-waterfall')?.textContent).toContain("in ensemble 'line', bad shape")
    expect(byId('pipeline-waterfall')?.querySelector('[data-step="1"]')?.textContent).toContain('failed')
  })

  it('offers to load an ensemble that is not, in explicit mode only, and says why otherwise', async () => {
    await show([line({ state: 'UNAVAILABLE', reason: 'unloaded' })])
    expect(asked()).toBe(0)
    await act(async () => byId('pipeline-load')?.click())
    expect(command).toHaveBeenCalledWith('model.load', { name: 'line' })
    await page.unmount()
    await show([line({ state: 'UNAVAILABLE', reason: 'unloaded' })], { mode: 'poll', language: 'zh-CN' })
    expect(text()).toContain('“line”未加载。')
    expect(text()).toContain('控制模式为轮询')
  })

  it('shows why the graph cannot be read', async () => {
    answer = () => Promise.reject(new ConsoleError('UNAVAILABLE', 'stopping'))
    await show([line()])
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain('stopping')
  })

  it('shows the ensemble of the address, else one that serves, and goes to another by its choice', async () => {
    await show([line({ state: 'UNAVAILABLE', reason: 'unloaded' }), modelSummary('ready', { state: 'READY', platform: 'ensemble' })])
    const choice = () => byId('pipeline-choice') as HTMLSelectElement
    expect(choice().value).toBe('ready')
    await act(async () => useRoute.setState({ rest: ['line'] }))
    expect(choice().value).toBe('line')
  })

  it('speaks Chinese', async () => {
    await show([line()], { language: 'zh-CN' })
    expect(text()).toContain('步骤 2 rec 占步骤耗时的 90 %')
    expect(byId('side-by-side')?.textContent).toBe('步骤 1, 2 同时运行。')
  })
})
