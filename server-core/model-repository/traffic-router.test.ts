import { describe, expect, it } from 'vitest'
import { TrafficRouter } from './traffic-router.ts'

function routed(router: TrafficRouter, count: number): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let position = 0; position < count; position++) {
    const version = router.choose({}, '1', 0) ?? 'policy'
    counts[version] = (counts[version] ?? 0) + 1
  }
  return counts
}

describe('TrafficRouter', () => {
  it('gives exactly the share, spread evenly', () => {
    for (const percent of [0, 1, 10, 12.5, 33, 50, 99, 100]) {
      const router = new TrafficRouter()
      router.set({ version: '2', percent }, '1')
      expect(routed(router, 1000)['2'] ?? 0).toBe(percent * 10)
    }
    const router = new TrafficRouter()
    router.set({ version: '2', percent: 10 }, '1')
    for (let block = 0; block < 10; block++) expect(routed(router, 10)).toEqual({ 1: 9, 2: 1 })
    expect(router.describe('1')).toEqual({ version: '2', percent: 10, baseVersion: '1', versionRequests: 10, baseRequests: 90 })
  })

  it('changes the share without losing what was carried, and begins anew with another version', () => {
    const router = new TrafficRouter()
    router.set({ version: '2', percent: 25 }, '1')
    expect(routed(router, 2)).toEqual({ 1: 2 })
    router.set({ version: '2', percent: 50 }, '1')
    expect(routed(router, 1)).toEqual({ 2: 1 })
    router.set({ version: '3', percent: 50 }, '1')
    expect(router.describe('1')).toMatchObject({ versionRequests: 0, baseRequests: 0 })
    expect(routed(router, 4)).toEqual({ 1: 2, 3: 2 })
  })

  it('says nothing without a share or without a version for the rest', () => {
    const router = new TrafficRouter()
    expect(router.choose({}, '1', 0)).toBeNull()
    router.set({ version: '2', percent: 100 }, '1')
    expect(router.choose({}, null, 0)).toBeNull()
    router.set(null, '1')
    expect(router.choose({}, '1', 0)).toBeNull()
    expect(router.describe('1')).toBeNull()
  })

  it('keeps a sequence on its side, whatever happens to the share', () => {
    const router = new TrafficRouter()
    const step = (sequenceId: bigint | string, flags: { sequenceStart?: boolean; sequenceEnd?: boolean } = {}) => router.choose({ sequenceId, ...flags }, '1', 0)
    router.set({ version: '2', percent: 50 }, '1')
    expect([step(1n, { sequenceStart: true }), step('1', { sequenceStart: true })]).toEqual(['1', '2'])
    router.set({ version: '2', percent: 100 }, '1')
    expect([step(1n), step('1')]).toEqual(['1', '2'])
    router.set({ version: '2', percent: 0 }, '1')
    expect([step(1n), step('1')]).toEqual(['1', '2'])
    router.set(null, '1')
    expect([step(1n), step('1')]).toEqual(['1', '2'])
    // After its end the id is free.
    expect(step('1', { sequenceEnd: true })).toBe('2')
    expect(step('1')).toBeNull()
    router.set({ version: '2', percent: 100 }, '1')
    expect(step('1', { sequenceStart: true })).toBe('2')
  })

  it('leaves a sequence that began before the share where it is', () => {
    const router = new TrafficRouter()
    router.set({ version: '2', percent: 100 }, '1')
    expect(router.choose({ sequenceId: 7n }, '1', 0)).toBe('1')
    // Version 2 is the newest: before, all went there.
    const canary = new TrafficRouter()
    canary.set({ version: '2', percent: 10 }, '2')
    expect(canary.choose({ sequenceId: 7n }, '1', 0)).toBe('2')
    expect(canary.choose({ sequenceId: 8n, sequenceStart: true }, '1', 0)).toBe('1')
  })

  it('forgets sequences that fell silent', () => {
    const router = new TrafficRouter()
    router.set({ version: '2', percent: 100 }, '1')
    router.choose({ sequenceId: 1n, sequenceStart: true }, '1', 0)
    router.choose({ sequenceId: 2n, sequenceStart: true }, '1', 500e9)
    expect(router.choose({ sequenceId: 2n }, '1', 700e9)).toBe('2')
    expect(router.choose({ sequenceId: 1n }, '1', 700e9)).toBe('1')
  })
})
