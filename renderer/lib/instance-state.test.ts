import { describe, expect, it } from 'vitest'
import type { ModelInstanceSummary } from '../../server-core/contract/repository.ts'
import { modelSummary, versionSummary } from '../testing/models.ts'
import { hasInstanceTrouble, instanceTally, nextRestart, secondsUntil } from './instance-state.ts'

const instance = (name: string, part: Partial<ModelInstanceSummary> = {}): ModelInstanceSummary => ({ name, kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, ...part })
const restarting = (name: string, at: number) => instance(name, { state: 'RESTARTING', reason: 'dead', restart: { attempt: 1, limit: 5, at } })
const model = (instances: readonly ModelInstanceSummary[], reason = '1 of 3 instances start again: dead') => modelSummary('m', { state: 'READY', reason, versions: [versionSummary('1', { state: 'READY', reason, instances })] })

describe('instances of a model', () => {
  it('are counted without passive ones', () => {
    const tally = instanceTally(model([instance('a'), restarting('b', 9), instance('c', { state: 'FAILED' }), instance('spare', { isPassive: true })]))
    expect([tally.total, tally.running, tally.restarting.length, tally.givenUp.length]).toEqual([3, 1, 1, 1])
  })

  it('tell the restart that comes first, and how long it is until then', () => {
    const next = nextRestart(instanceTally(model([restarting('a', 9000), restarting('b', 4000)])))
    expect(next?.at).toBe(4000)
    expect([secondsUntil(next!, 1500), secondsUntil(next!, 4000), secondsUntil(next!, 9000)]).toEqual([3, 0, 0])
    expect(nextRestart(instanceTally(model([instance('a')])))).toBeNull()
  })

  it('are the trouble of a model only where no load failed', () => {
    expect(hasInstanceTrouble(model([restarting('a', 1)]))).toBe(true)
    expect(hasInstanceTrouble(model([instance('a', { state: 'FAILED' })], '1 of 1 instances were given up; load the model again: dead'))).toBe(true)
    expect(hasInstanceTrouble(model([restarting('a', 1)], 'Invalid argument: no such input'))).toBe(false)
    expect(hasInstanceTrouble(model([instance('a')], ''))).toBe(false)
  })
})
