import { describe, expect, it } from 'vitest'
import type { ModelInstanceSummary } from '../../server-core/contract/repository.ts'
import { modelSummary, versionSummary } from '../testing/models.ts'
import { modelsOnCard, troublesOfCard } from './card-models.ts'

const instance = (part: Partial<ModelInstanceSummary>): ModelInstanceSummary => ({ name: 'a_0', kind: 'KIND_MODEL', isPassive: false, state: 'READY', reason: '', restart: null, ...part })
const model = (name: string, instances: readonly ModelInstanceSummary[], reason = '') => modelSummary(name, { reason, versions: [versionSummary('1', { state: 'READY', reason: '', instances })] })
const LOST = 'waiting for the stream of device 1 failed with 507901 SOCKET_CLOSE: the link to the card is gone'

describe('modelsOnCard', () => {
  it('counts the instances that run on it, and leaves those out that do not', () => {
    const models = [model('b', [instance({ report: { runs_on: 'npu', device: 1 } }), instance({ report: { runs_on: 'npu', device: 1 } }), instance({ report: { runs_on: 'npu', device: 0 } })]), model('a', [instance({ report: { runs_on: 'npu', device: 1 }, state: 'RESTARTING' }), instance({ report: { runs_on: 'cpu' } })])]
    expect(modelsOnCard(models, 1)).toEqual([{ model: 'b', instances: 2 }])
    expect(modelsOnCard(null, 1)).toEqual([])
    expect(modelsOnCard(models, null)).toEqual([])
  })

  it('counts an instance on each of the cards that it spreads over', () => {
    const models = [model('spread', [instance({ report: { runs_on: 'npu', device: 0, devices: [0, 1] } })])]
    expect([0, 1, 2].map((device) => modelsOnCard(models, device))).toEqual([[{ model: 'spread', instances: 1 }], [{ model: 'spread', instances: 1 }], []])
  })
})

describe('troublesOfCard', () => {
  it('tells one fault once, with every model that it stops', () => {
    const models = [model('b', [instance({ state: 'RESTARTING', reason: LOST }), instance({ state: 'FAILED', reason: LOST })]), model('a', [instance({ state: 'RESTARTING', reason: LOST, restart: { attempt: 1, limit: null, at: 0 } })])]
    expect(troublesOfCard(models, 1)).toEqual([{ explanation: { fault: 'cardLost', code: '507901', card: 1 }, models: ['a', 'b'], isRetried: true, text: LOST }])
    expect(troublesOfCard(models, 0)).toEqual([])
    expect(troublesOfCard(models, null)).toEqual([])
  })

  it('takes the card from the report where the text names none', () => {
    const text = 'the run failed with 507054 HBM_MULTI_BIT_ECC_ERROR: several bits were wrong at once'
    expect(troublesOfCard([model('a', [instance({ state: 'RESTARTING', reason: text, report: { runs_on: 'npu', device: 3 } })])], 3)).toMatchObject([{ explanation: { fault: 'cardEcc' }, models: ['a'] }])
  })

  it('has the reason of a load that failed', () => {
    expect(troublesOfCard([model('a', [], "loading the model on device 0 failed with 207001 MEMORY_ALLOCATION: the card has not enough free memory")], 0)).toMatchObject([{ explanation: { fault: 'cardMemory' } }])
  })
})
