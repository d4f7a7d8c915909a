import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SimulatedNpuReport } from '../../../server-core/contract/devices.ts'
import { consoleClient } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { useEngineRestart } from '../../engine-restart.ts'
import type { Language } from '../../preferences.ts'
import { serverStatus } from '../../testing/models.ts'
import { render, type Rendered } from '../../testing/render.tsx'
import { NpuSettings } from './npu-settings.tsx'

const PROFILE = { name: '310P3', chip: 'Ascend310P3', product: 'Atlas 300I Pro', chipCount: 1, aiCores: 8, memoryBytes: 2 ** 34 }
const SIMULATION: SimulatedNpuReport = { isOn: true, unavailableReason: null, profiles: [PROFILE], cards: ['310P3'], timeScale: 0.25, faults: [] }

describe('the NPU in Settings', () => {
  let page: Rendered
  const asked: unknown[] = []
  const find = <E extends HTMLElement>(testId: string) => page.container.querySelector<E>(`[data-testid="${testId}"]`)
  const click = (testId: string) => act(async () => find(testId)?.click())
  const show = async (part: Parameters<typeof serverStatus>[0] = {}, language: Language = 'en') => {
    useConsole.setState({ status: serverStatus({ npuSource: 'simulated', canRestart: true, ...part }), connection: 'open' })
    page = await render(<NpuSettings />, language)
  }

  beforeEach(() => {
    asked.length = 0
    useConsole.setState(initialConsoleState)
    useEngineRestart.setState({ leaving: null, error: null })
    vi.spyOn(consoleClient, 'command').mockImplementation(((name: string, args: unknown) => {
      if (name === 'npu.simulation') return Promise.resolve(SIMULATION)
      asked.push([name, args])
      return new Promise(() => {})
    }) as typeof consoleClient.command)
  })

  afterEach(async () => {
    await page.unmount()
    vi.restoreAllMocks()
  })

  it.each([
    ['en', ['None: as fast as this machine computes', 'Modelled × 0.1', 'Modelled × 0.25', 'As modelled', 'Modelled × 10'], 'runs on the CPU, marked as degraded'],
    ['zh-CN', ['不计：以本机最快速度计算', '推算值 × 0.1', '推算值 × 0.25', '按推算值', '推算值 × 10'], '在 CPU 上运行，并标为降级'],
  ] as const)('starts the engine again with what was changed, and with nothing else (%s)', async (language, scales, hint) => {
    await show({}, language)
    const scale = find<HTMLSelectElement>('npu-time-scale')!
    expect(scale.value).toBe('0.25')
    expect([...scale.options].map((option) => option.textContent)).toEqual(scales)
    await click('npu-apply')
    expect(asked).toEqual([])
    await act(async () => {
      scale.value = '0'
      scale.dispatchEvent(new Event('change', { bubbles: true }))
    })
    await click('npu-fallback-allow')
    expect(page.container.textContent).toContain(hint)
    await click('npu-apply')
    expect(asked).toEqual([['server.restart', { npuFallback: 'allow', simulatedTimeScale: 0 }]])
  })

  it('leaves the times of simulated cards out where there are none', async () => {
    await show({ npuSource: 'auto', npuFallback: 'allow' })
    expect(find('npu-time-scale')).toBeNull()
    await click('npu-fallback-fail')
    await click('npu-apply')
    expect(asked).toEqual([['server.restart', { npuFallback: 'fail' }]])
  })

  it('shows what is in force and changes nothing where the engine cannot restart', async () => {
    await show({ canRestart: false })
    expect([find<HTMLSelectElement>('npu-time-scale')?.disabled, find<HTMLInputElement>('npu-fallback-allow')?.disabled, find<HTMLInputElement>('npu-fallback-fail')?.checked]).toEqual([true, true, true])
  })
})
