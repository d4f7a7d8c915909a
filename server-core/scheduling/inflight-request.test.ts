import { describe, expect, it } from 'vitest'
import { InflightRequest, type InflightRequestFields, type PartialAnswer, type RequestOutcome } from './inflight-request.ts'

const times = { executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }

function setUp(more: Partial<InflightRequestFields> = {}) {
  const outcomes: RequestOutcome[] = []
  const partials: PartialAnswer[] = []
  const request = new InflightRequest({
    id: 'r', inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0,
    onPartial: (answer) => { partials.push(answer) },
    onSettled: (outcome) => { outcomes.push(outcome) },
    ...more,
  })
  request.markExecuting()
  return { request, outcomes, partials }
}

describe('a request with one answer', () => {
  it('ends with its execution, with what the backend answered', () => {
    const { request, outcomes } = setUp()
    request.respond([], { a: 1n })
    expect(outcomes).toEqual([])
    request.settleExecution(times, 3, null)
    expect(outcomes).toEqual([{ kind: 'response', outputs: [], parameters: { a: 1n }, times, executedBatchSize: 3 }])
  })

  it('fails where the backend forgot it, and cannot be answered twice or in parts', () => {
    const { request, outcomes } = setUp()
    expect(() => { void request.send([]) }).toThrow('several answers are for decoupled models only')
    expect(() => { request.complete() }).toThrow('several answers are for decoupled models only')
    request.settleExecution(times, 1, null)
    expect(outcomes).toMatchObject([{ kind: 'failure', error: { message: 'the backend finished the batch without answering this request' } }])
    const answered = setUp().request
    answered.respond([])
    expect(() => { answered.fail(new Error('no')) }).toThrow('a request was ended twice by its backend')
  })
})

describe('a request of a decoupled model', () => {
  it('may be answered during and after its execution, and ends with the last answer', () => {
    const { request, outcomes, partials } = setUp({ isDecoupled: true })
    void request.send([])
    request.settleExecution(times, 1, null)
    request.sendError(new Error('one of them'))
    expect(partials).toMatchObject([{ outputs: [] }, { error: { message: 'one of them' } }])
    expect(outcomes).toEqual([])
    request.complete()
    expect(outcomes).toEqual([{ kind: 'response', outputs: null, parameters: {}, times, executedBatchSize: 1 }])
    expect(() => { void request.send([]) }).not.toThrow()
    expect(partials).toHaveLength(2)
  })

  it('fails with its execution', () => {
    const { request, outcomes } = setUp({ isDecoupled: true })
    void request.send([])
    request.settleExecution(times, 1, new Error('broken'))
    expect(outcomes).toMatchObject([{ kind: 'failure', error: { message: 'broken' } }])
  })
})

describe('a request that is put back', () => {
  it('goes to its scheduler, runs again and ends once', () => {
    let backs = 0
    const { request, outcomes } = setUp()
    request.sequenceHooks = { updateState() {}, reschedule: () => { backs++ } }
    request.reschedule()
    request.settleExecution(times, 1, null)
    expect({ backs, outcomes, isExecuting: request.isExecuting }).toEqual({ backs: 1, outcomes: [], isExecuting: false })
    request.markExecuting()
    request.respond([])
    request.settleExecution(times, 1, null)
    expect(outcomes).toMatchObject([{ kind: 'response' }])
  })

  it('is refused where the model is not iterative', () => {
    expect(() => { setUp().request.reschedule() })
      .toThrow('Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.')
  })
})
