import { describe, expect, it, vi } from 'vitest'
import type { ServerSample } from '../contract/statistics.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { ModelStatistics } from './model-statistics.ts'
import { processUsage, ServerSampler } from './server-sampler.ts'

const SECOND = 1e9

function setUp(capacity?: number) {
  const clock = new FakeClock()
  clock.advance(0.4 * SECOND)
  const samples: ServerSample[] = []
  let cpuMicroseconds = 0
  const sampler = new ServerSampler({
    clock, onSample: (sample) => { samples.push(sample) }, usage: () => ({ cpuMicroseconds, residentBytes: 5000 }), ...(capacity === undefined ? {} : { capacity }),
  })
  sampler.start()
  return { clock, samples, sampler, useCpu: (microseconds: number) => { cpuMicroseconds += microseconds } }
}

describe('ServerSampler', () => {
  it('ticks on whole seconds', () => {
    const { clock, samples } = setUp()
    clock.advance(2 * SECOND)
    expect(samples.map((sample) => sample.time)).toEqual([2000, 3000])
  })

  it('reports the CPU used in the time since the last sample', () => {
    const { clock, samples, useCpu } = setUp()
    clock.advance(0.6 * SECOND)
    useCpu(1_500_000)
    clock.advance(SECOND)
    expect(samples[1]).toMatchObject({ processCpuCores: 1.5, processResidentBytes: 5000, npus: null })
  })

  it('takes the cards as they are known at that second', () => {
    const clock = new FakeClock()
    const samples: ServerSample[] = []
    const known = [null, []]
    const sampler = new ServerSampler({ clock, onSample: (sample) => { samples.push(sample) }, npus: () => known.shift() ?? null })
    sampler.start()
    clock.advance(2 * SECOND)
    expect(samples.map(({ npus }) => npus)).toEqual([null, []])
  })

  it('still counts what a model did before it was unloaded, once', () => {
    const { clock, samples, sampler } = setUp()
    const statistics = new ModelStatistics('m', '1')
    sampler.add(statistics)
    statistics.countFailure('BACKEND', 10)
    sampler.remove(statistics)
    clock.advance(SECOND)
    statistics.countFailure('BACKEND', 10)
    clock.advance(SECOND)
    expect(samples.map((sample) => sample.models.length)).toEqual([1, 0])
  })

  it('adds up both objects of a model that was reloaded in that second', () => {
    const { clock, samples, sampler } = setUp()
    const [before, after] = [new ModelStatistics('m', '1'), new ModelStatistics('m', '1')]
    const times = { executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }
    sampler.add(before)
    sampler.add(after)
    for (const statistics of [before, after]) {
      statistics.countExecution(2, times, 0)
      statistics.countSuccess({ requestStart: 0, queueStart: 0, requestEnd: 500, batchSize: 2, times })
    }
    sampler.remove(before)
    clock.advance(SECOND)
    expect(samples[0]?.models).toMatchObject([{ success: 2, inferences: 4, latency: { 0: 2 }, batchSizes: { 2: 2 }, queueNanoseconds: 2 }])
  })

  it('keeps no more samples than its capacity and answers the last seconds', () => {
    const { clock, sampler } = setUp(5)
    clock.advance(9 * SECOND)
    expect(sampler.history(3600).map((sample) => sample.time)).toEqual([6000, 7000, 8000, 9000, 10_000])
    expect(sampler.history(2).map((sample) => sample.time)).toEqual([9000, 10_000])
  })
})

describe('processUsage', () => {
  it('does without the memory where it cannot be read', () => {
    expect(processUsage().residentBytes).toBeGreaterThan(1e6)
    const rss = vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => { throw new Error('EMFILE: too many open files, uv_resident_set_memory') })
    expect(processUsage().residentBytes).toBeNull()
    rss.mockRestore()
  })
})
