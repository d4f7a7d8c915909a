import { act } from 'react'
import { afterEach, describe, expect, it } from 'vitest'
import type { NpuSample } from '../../server-core/contract/statistics.ts'
import { initialConsoleState, useConsole } from '../console-store.ts'
import { npuSample, serverSample } from '../testing/models.ts'
import { render, type Rendered } from '../testing/render.tsx'
import { NpuMeter } from './npu-meter.tsx'

describe('NpuMeter', () => {
  let meter: Rendered
  const show = async (npus: readonly NpuSample[] | null) => {
    useConsole.setState({ ...initialConsoleState, samples: [{ ...serverSample(1), npus }] }, true)
    meter = await render(<NpuMeter />)
    await act(async () => {})
    return [...meter.container.querySelectorAll('.npu-meter')].map((card) => [card.textContent, card.querySelector('i')?.style.width ?? null])
  }

  afterEach(async () => { await meter.unmount() })

  it('is a dash without a card', async () => {
    expect(await show(null)).toEqual([['NPU —', null]])
  })

  it('has no bar for what a card does not report: an empty one would say 0', async () => {
    expect(await show([npuSample(), npuSample({ card: 1, aiCorePercent: null }), npuSample({ card: 2, aiCorePercent: 0 })])).toEqual([['Card 038 %', '38%'], ['Card 1—', null], ['Card 20 %', '0%']])
    expect(meter.container.textContent).not.toContain('Simulated')
  })

  it('says simulated beside the figures', async () => {
    await show([npuSample({ isSimulated: true })])
    expect(meter.container.querySelector('.npu-is-simulated')?.textContent).toBe('Simulated')
    expect(meter.container.querySelector('i')?.style.background).toBe('var(--npuSimulated)')
  })

  it('counts the cards that do not fit', async () => {
    expect(await show(Array.from({ length: 8 }, (_, card) => npuSample({ card })))).toHaveLength(4)
    expect(meter.container.textContent).toContain('and 4 more')
  })
})
