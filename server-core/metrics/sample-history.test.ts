import { describe, expect, it } from 'vitest'
import type { ModelSample, ServerSample } from '../contract/statistics.ts'
import { collectGarbage } from '../testing/collect-garbage.ts'
import { SampleHistory } from './sample-history.ts'

function modelSample(model: string, latency: Readonly<Record<number, number>>): ModelSample {
  return {
    model, version: '1', success: 100, failure: 1, inferences: 100, executions: 50, latency, queueNanoseconds: 1e9, computeInputNanoseconds: 1e6, computeInferNanoseconds: 2e9 + 1,
    computeOutputNanoseconds: 1e6, batchSizes: { 1: 25, 8: 25 }, pending: 3, inFlight: 2,
  }
}

function sampleAt(time: number, models: readonly ModelSample[]): ServerSample {
  return { time, models, processCpuCores: 0.25, processResidentBytes: null, npus: null }
}

describe('SampleHistory', () => {
  it('gives back what it was given, the last ones of its capacity', () => {
    const history = new SampleHistory(2)
    const samples = [1000, 2000, 3000].map((time) => sampleAt(time, [modelSample('文字', { 7: 1, 40: 99 })]))
    for (const sample of samples) history.add(sample)
    expect(history.after(0)).toEqual(samples.slice(1))
    expect(history.after(2000)).toEqual(samples.slice(2))
  })

  it('keeps an hour of ten busy models in less than 30 MB', async () => {
    const history = new SampleHistory(3600)
    await collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let second = 0; second < 3600; second++) {
      history.add(sampleAt(second, Array.from({ length: 10 }, (_unused, model) => modelSample(`model_${model}`, Object.fromEntries(Array.from({ length: 20 }, (_none, bucket) => [60 + 2 * bucket, second]))))))
    }
    await collectGarbage()
    expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(30)
    expect(history.after(3598)).toHaveLength(1)
  })
})
