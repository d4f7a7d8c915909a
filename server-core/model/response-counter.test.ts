import { expect, it } from 'vitest'
import { ModelStatistics } from '../metrics/model-statistics.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { ResponseCounter } from './response-counter.ts'

it('counts responses by their position in the request, each with the time since the one before it', () => {
  const statistics = new ModelStatistics('m', '1')
  const clock = new FakeClock()
  for (let request = 0; request < 2; request++) {
    const counter = new ResponseCounter(statistics, clock)
    clock.advance(50)
    counter.executionBegins()
    clock.advance(10)
    counter.count('success')
    clock.advance(20)
    counter.count('fail')
    clock.advance(5)
    counter.countEnd(request === 0
      ? { kind: 'response', outputs: null, parameters: {}, times: { executeStart: 0, computeStart: 0, computeEnd: 0, executeEnd: 0 }, executedBatchSize: 1 }
      : { kind: 'failure', error: new Error(''), reason: 'CANCELED' })
  }
  const none = { count: 0, ns: 0 }
  expect(statistics.entry().response_stats).toEqual({
    0: { compute_infer: { count: 2, ns: 20 }, compute_output: { count: 2, ns: 0 }, success: { count: 2, ns: 20 }, fail: none, empty_response: none, cancel: none },
    1: { compute_infer: { count: 2, ns: 40 }, compute_output: { count: 2, ns: 0 }, success: none, fail: { count: 2, ns: 40 }, empty_response: none, cancel: none },
    2: { compute_infer: none, compute_output: none, success: none, fail: none, empty_response: { count: 1, ns: 5 }, cancel: { count: 1, ns: 5 } },
  })
})
