import { describe, expect, it } from 'vitest'
import { modelSummary, versionSummary } from '../testing/models.ts'
import { compareByAttention, failureReason, modelState, readyVersions } from './model-state.ts'

const failedVersion = versionSummary('2', { state: 'UNAVAILABLE', reason: 'Internal: damaged' })

describe('modelState', () => {
  it.each([
    ['ready', modelSummary('a', { state: 'READY' })],
    ['unloaded', modelSummary('a', { state: 'UNKNOWN' })],
    ['unloaded', modelSummary('a', { state: 'UNAVAILABLE', reason: 'unloaded' })],
    ['failed', modelSummary('a', { state: 'UNAVAILABLE', reason: 'Invalid argument: x' })],
    ['loading', modelSummary('a', { state: 'LOADING' })],
    ['unloading', modelSummary('a', { state: 'UNLOADING' })],
    ['degraded', modelSummary('a', { state: 'READY', reason: 'the last reload failed' })],
    ['degraded', modelSummary('a', { state: 'READY', versions: [versionSummary('1', { state: 'READY' }), failedVersion] })],
    ['ready', modelSummary('a', { state: 'READY', versions: [versionSummary('2', { state: 'READY' }), versionSummary('1', { state: 'UNAVAILABLE', reason: 'unloaded' })] })],
  ] as const)('is %s', (expected, model) => {
    expect(modelState(model)).toBe(expected)
  })

  it("tells the model's own reason, else its failed version's", () => {
    expect(failureReason(modelSummary('a', { state: 'UNAVAILABLE', reason: 'own' }))).toBe('own')
    expect(failureReason(modelSummary('a', { state: 'READY', versions: [versionSummary('1', { state: 'READY' }), failedVersion] }))).toBe('Internal: damaged')
    expect(failureReason(modelSummary('a', { state: 'UNAVAILABLE', reason: 'unloaded' }))).toBe('')
  })

  it('puts what needs attention first, then goes by name', () => {
    const models = [modelSummary('d', { state: 'READY' }), modelSummary('c'), modelSummary('b', { state: 'READY' }), modelSummary('z', { state: 'UNAVAILABLE', reason: 'x' }), modelSummary('y', { state: 'LOADING' })]
    expect([...models].sort(compareByAttention).map((model) => model.name)).toEqual(['z', 'y', 'b', 'd', 'c'])
  })

  it('lists the versions that serve', () => {
    expect(readyVersions(modelSummary('a', { versions: [versionSummary('1', { state: 'READY' }), failedVersion] }))).toEqual(['1'])
  })
})
