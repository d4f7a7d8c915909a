import { describe, expect, it } from 'vitest'
import type { ModelInstanceReport, ModelReadyState, ModelSummary, ModelVersionSummary } from '../contract/repository.ts'
import { MemoryLedger } from './memory-ledger.ts'

const change = (name: string, state: ModelReadyState, runsOn: string | null = 'NPU 0'): ModelSummary => ({
  name, repositoryPath: '', backend: '', platform: '', state, reason: '', versions: [], instanceCount: 1, runsOn, isSimulated: false, degraded: null, changedAt: 0, stage: null, traffic: null, lastLoad: null, maxBatchSize: 0, awaitsTrust: null,
})
const versionOf = (reports: readonly ModelInstanceReport[]): ModelVersionSummary => ({
  version: '1', state: 'READY', reason: '', files: [], changedAt: 0,
  instances: reports.map((report, index) => ({ name: `m_${index}`, kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, report })),
})
const card = (usedBytes: number, ownBytes: number | null = null) => [{ card: 0, ownBytes, usedBytes }]

describe('MemoryLedger', () => {
  it('takes what is used on the card where no processes are listed', () => {
    const ledger = new MemoryLedger()
    ledger.read(card(500), 0)
    ledger.modelChanged(change('m', 'LOADING'), 10)
    ledger.modelChanged(change('m', 'READY'), 20)
    ledger.read(card(800), 30)
    expect(ledger.records()).toEqual([{ model: 'm', card: 0, basis: 'card', beforeBytes: 500, loadedBytes: 800, afterUnloadBytes: null, reportedBytes: null, startedAt: 10, isShared: false }])
  })

  it('adds what the backend says its instances hold, card by card', () => {
    const ledger = new MemoryLedger((device) => device + 4)
    const report = (device: number, weight_bytes?: number, workspace_bytes?: number): ModelInstanceReport => ({
      runs_on: 'npu', device, ...(weight_bytes === undefined ? {} : { weight_bytes }), ...(workspace_bytes === undefined ? {} : { workspace_bytes }),
    })
    ledger.modelChanged(change('m', 'LOADING'), 10)
    ledger.modelChanged({ ...change('m', 'READY'), versions: [versionOf([report(0, 100, 20), report(0, 100), report(1, undefined, 7), report(2)])] }, 20)
    ledger.read([{ card: 4, ownBytes: 300, usedBytes: 900 }, { card: 5, ownBytes: 0, usedBytes: 500 }, { card: 6, ownBytes: 0, usedBytes: 500 }], 30)
    expect(ledger.records().map(({ card, loadedBytes, reportedBytes }) => [card, loadedBytes, reportedBytes])).toEqual([[4, 300, 220], [5, 0, 7]])
  })

  it('shares out what an instance on several cards holds over them', () => {
    const ledger = new MemoryLedger()
    const both = [{ card: 0, ownBytes: 0, usedBytes: 0 }, { card: 1, ownBytes: 0, usedBytes: 0 }]
    ledger.modelChanged(change('m', 'LOADING'), 10)
    ledger.modelChanged({ ...change('m', 'READY'), versions: [versionOf([{ runs_on: 'npu', device: 0, devices: [0, 1], weight_bytes: 200, workspace_bytes: 20 }])] }, 20)
    ledger.read(both, 30)
    expect(ledger.records().map(({ card, reportedBytes }) => [card, reportedBytes])).toEqual([[0, 110], [1, 110]])
  })

  it('counts once what the instances of a version share on a card', () => {
    const ledger = new MemoryLedger()
    const shared: ModelInstanceReport = { runs_on: 'npu', device: 0, devices: [0, 1], weight_bytes: 200, workspace_bytes: 20, memory_is_shared: true }
    ledger.modelChanged(change('m', 'LOADING'), 10)
    // Two versions, the first with three instances on both cards, the second with one each.
    ledger.modelChanged({ ...change('m', 'READY'), versions: [versionOf([shared, shared, shared]), versionOf([{ ...shared, devices: [0] }, { ...shared, device: 1, devices: [1] }])] }, 20)
    ledger.read([{ card: 0, ownBytes: 0, usedBytes: 0 }, { card: 1, ownBytes: 0, usedBytes: 0 }], 30)
    expect(ledger.records().map(({ card, reportedBytes }) => [card, reportedBytes])).toEqual([[0, 330], [1, 330]])
  })

  it('does not take a reading that began before the load had ended', () => {
    const ledger = new MemoryLedger()
    ledger.read(card(500, 0), 0)
    ledger.modelChanged(change('m', 'LOADING'), 10)
    ledger.modelChanged(change('m', 'READY'), 20)
    ledger.read(card(600, 100), 19)
    expect(ledger.records()).toEqual([])
    ledger.read(card(800, 300), 21)
    expect(ledger.records()[0]).toMatchObject({ basis: 'process', beforeBytes: 0, loadedBytes: 300 })
  })

  it('says of loads at the same time that their differences are not their own', () => {
    const ledger = new MemoryLedger()
    ledger.read(card(0), 0)
    ledger.modelChanged(change('a', 'LOADING'), 10)
    ledger.modelChanged(change('b', 'LOADING'), 11)
    ledger.modelChanged(change('a', 'READY'), 20)
    ledger.modelChanged(change('b', 'READY'), 20)
    ledger.read(card(9), 30)
    ledger.modelChanged(change('c', 'LOADING'), 40)
    ledger.modelChanged(change('c', 'READY'), 50)
    ledger.read(card(12), 60)
    expect(ledger.records().map(({ model, isShared }) => [model, isShared])).toEqual([['c', false], ['b', true], ['a', true]])
  })

  it('forgets loads that failed and models that run on the CPU', () => {
    const ledger = new MemoryLedger()
    ledger.read(card(0), 0)
    ledger.modelChanged(change('broken', 'LOADING'), 10)
    ledger.modelChanged(change('broken', 'UNAVAILABLE', null), 20)
    ledger.modelChanged(change('cpu', 'LOADING'), 30)
    ledger.modelChanged(change('cpu', 'READY', 'CPU'), 40)
    ledger.read(card(100), 50)
    expect(ledger.records()).toEqual([])
  })

  it('begins anew when the model is loaded again', () => {
    const ledger = new MemoryLedger()
    for (const [at, used] of [[0, 100], [100, 300]] as const) {
      ledger.read(card(used), at)
      ledger.modelChanged(change('m', 'LOADING'), at + 10)
      ledger.modelChanged(change('m', 'READY'), at + 20)
      ledger.read(card(used + 50), at + 30)
    }
    expect(ledger.records().map(({ beforeBytes, loadedBytes }) => [beforeBytes, loadedBytes])).toEqual([[300, 350]])
  })
})
