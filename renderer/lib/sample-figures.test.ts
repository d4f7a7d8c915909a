import { describe, expect, it } from 'vitest'
import { latencyBucketIndex } from '../../server-core/contract/statistics.ts'
import { modelSample, serverSample } from '../testing/models.ts'
import { traffic } from './sample-figures.ts'

describe('traffic', () => {
  it('knows nothing without samples', () => {
    expect(traffic([]).total).toEqual({ requestsPerSecond: null, p95Milliseconds: null, failures: null, requests: null, pending: null, inFlight: null })
    expect(traffic([]).of('a').requestsPerSecond).toBeNull()
  })

  it('takes the rate from the last five seconds and the counts from the last minute', () => {
    const samples = Array.from({ length: 90 }, (_, second) => serverSample(second + 1, [modelSample('a', { success: second < 85 ? 10 : 50, failure: 1 })]))
    const { total } = traffic(samples)
    expect(total.requestsPerSecond).toBe(51)
    expect(total.failures).toBe(60)
    expect(total.requests).toBe(55 * 11 + 5 * 51)
  })

  it('divides by the seconds that were sampled, not by those that were not', () => {
    expect(traffic([serverSample(1, [modelSample('a', { success: 10 })]), serverSample(2, [modelSample('a', { success: 20 })])]).total.requestsPerSecond).toBe(15)
  })

  it('is zero for a model that was sampled doing nothing, and has no latency then', () => {
    const figures = traffic([serverSample(1, [modelSample('a', { success: 3 })])]).of('idle')
    expect(figures).toMatchObject({ requestsPerSecond: 0, failures: 0, pending: 0, p95Milliseconds: null })
  })

  it('merges the latency of versions and seconds of one model', () => {
    const bucket = (milliseconds: number) => latencyBucketIndex(milliseconds * 1e6)
    const { total, of } = traffic([serverSample(1, [modelSample('a', { latency: { [bucket(2)]: 95 } }), modelSample('b', { latency: { [bucket(100)]: 900 } })]), serverSample(2, [modelSample('a', { version: '2', latency: { [bucket(50)]: 5 } })])])
    expect(of('a').p95Milliseconds).toBeLessThan(2.4)
    expect(total.p95Milliseconds).toBeGreaterThan(80)
  })

  it('tells the versions of a model apart', () => {
    const { ofVersion } = traffic([serverSample(1, [modelSample('a', { success: 30, inFlight: 1 }), modelSample('a', { version: '2', success: 10, failure: 2, pending: 4 })])])
    expect(ofVersion('a', '1')).toMatchObject({ requestsPerSecond: 30, inFlight: 1, pending: 0 })
    expect(ofVersion('a', '2')).toMatchObject({ requestsPerSecond: 12, failures: 2, inFlight: 0, pending: 4 })
    expect(ofVersion('a', '3')).toMatchObject({ requestsPerSecond: 0, pending: 0 })
  })

  it('takes what waits from the last second only', () => {
    expect(traffic([serverSample(1, [modelSample('a', { pending: 9 })]), serverSample(2, [modelSample('a', { pending: 2 }), modelSample('b', { pending: 1 })])]).total.pending).toBe(3)
  })
})
