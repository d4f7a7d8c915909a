import { describe, expect, it } from 'vitest'
import type { ModelInstanceReport } from '../contract/repository.ts'
import { placementOf } from './runs-on.ts'

const on = (device: number, more: Partial<ModelInstanceReport> = {}): ModelInstanceReport => ({ runs_on: 'npu', device, ...more })

describe('placementOf', () => {
  it.each<[string, readonly (ModelInstanceReport | null)[], string]>([
    ['backends that say nothing', [null, null], 'CPU'],
    ['a model without instances', [], 'CPU'],
    ['one card', [on(1)], 'NPU 1'],
    ['several cards, each once and in order', [on(1), on(0), on(1)], 'NPU 0, 1'],
    ['one instance on several cards', [on(0, { devices: [0, 1] })], 'NPU 0, 1'],
    ['a card without a number', [{ runs_on: 'npu' }], 'NPU'],
    ['cards and the CPU', [on(0), { runs_on: 'cpu' }], 'NPU 0 + CPU'],
  ])('%s', (_name, reports, runsOn) => {
    expect(placementOf(reports)).toEqual({ runsOn, isSimulated: false, degraded: null })
  })

  it('says that a card is simulated', () => {
    expect(placementOf([on(0), on(1, { simulated: true })]).isSimulated).toBe(true)
  })

  it('says what was wanted and why it was not to be had, also where others got it', () => {
    const lost: ModelInstanceReport = { runs_on: 'cpu', device: 1, fallback_reason: 'the card does not answer' }
    expect(placementOf([lost])).toEqual({ runsOn: 'CPU', isSimulated: false, degraded: { wanted: 'NPU 1', reason: 'the card does not answer' } })
    expect(placementOf([on(0), lost])).toMatchObject({ runsOn: 'NPU 0 + CPU', degraded: { wanted: 'NPU 1' } })
    expect(placementOf([{ runs_on: 'cpu', fallback_reason: 'no NPU' }]).degraded).toEqual({ wanted: 'NPU', reason: 'no NPU' })
  })
})
