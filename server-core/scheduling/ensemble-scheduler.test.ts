/** Execution of ensembles, as section 6 of the scheduling facts has it. */
import { describe, expect, it } from 'vitest'
import { ServerError } from '../server-error.ts'
import { STEP_WAIT_SECONDS } from './step-limiter.ts'
import { ensemble, EnsembleRig, int32, MILLISECOND, model, step, tensor, valuesOf, type AskedRequest } from './test-ensemble-rig.ts'

const ONE = model(tensor('I'), tensor('O'))
const TWO = model(`${tensor('I')}, ${tensor('J')}`, tensor('O'))
const OPTIONAL = model(`${tensor('I')}, ${tensor('J', '[ 1 ]', 'optional: true')}`, tensor('O'))
const STREAM = model(tensor('I'), tensor('O'), 'model_transaction_policy { decoupled: true }')
const DECOUPLED = 'model_transaction_policy { decoupled: true }'
const A = int32('A', [1], [7])
const out = (value: number) => [int32('O', [1], [value])]

function errorOf({ outcome }: AskedRequest): ServerError {
  if (outcome?.kind !== 'failure') throw new Error('did not fail')
  return outcome.error as ServerError
}
const lastOf = ({ answers }: AskedRequest) => (answers.at(-1) ?? []).map((output) => [output.name, output.shape, valuesOf(output)])

describe('data flow', () => {
  it('runs a step when its tensors are there, independent steps at the same time, and hands the bytes on uncopied', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=A', 'O=C') + step('c', 'I=B J=C', 'O=Z')), { a: ONE, b: ONE, c: TWO })
    const asked = rig.ask([A])
    expect(rig.open).toEqual(['a', 'b'])
    const [first, second] = [rig.take('a'), rig.take('b')]
    expect(first.request.inputs[0]?.data).toBe(A.data)
    const made = out(1)
    second.answer(made)
    expect(rig.open).toEqual([])
    first.answer(out(2))
    const third = rig.take('c')
    expect(third.request.inputs.map((input) => [input.name, valuesOf(input)])).toEqual([['I', [2]], ['J', [1]]])
    expect(third.request.inputs[1]?.data).toBe(made[0]?.data)
    expect(asked.outcome).toBeNull()
    third.answer(out(9))
    expect(lastOf(asked)).toEqual([['Z', [1], [9]]])
    expect([...rig.members.values()].map(({ holds }) => holds)).toEqual([0, 0, 0])
  })

  it('lets nobody give back the memory of a tensor that steps and the client share', () => {
    const exclusive = (value: number) => out(value).map((tensor) => ({ ...tensor, isExclusive: true as const }))
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'), '', `input ${tensor('A')} output [ ${tensor('Z')}, ${tensor('B')} ]`), { a: ONE, b: ONE })
    const asked = rig.ask([A], { requestedOutputs: ['Z', 'B'] })
    rig.take('a').answer(exclusive(2))
    const second = rig.take('b')
    expect(second.request.inputs).toEqual([{ ...out(2)[0], name: 'I' }])
    second.answer(exclusive(9))
    expect(lastOf(asked)).toEqual([['Z', [1], [9]], ['B', [1], [2]]])
    expect(asked.answers.flat().map((output) => output.isExclusive)).toEqual([undefined, undefined])
  })

  it('passes id, parameters, priority, timeout and sequence on, and only asks for outputs that somebody uses', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z P=Y'), '', `input ${tensor('A')} output [ ${tensor('Z')}, ${tensor('Y')} ]`),
      { a: model(tensor('I'), `${tensor('O')}, ${tensor('P')}`) })
    rig.ask([A], { id: 'r1', parameters: { k: 'v' }, priority: 3n, timeoutMicroseconds: 5, sequenceId: 11n, sequenceStart: true, sequenceEnd: false })
    expect(rig.take('a').request).toMatchObject({
      id: 'r1', parameters: { k: 'v' }, priority: 3n, timeoutMicroseconds: 5, sequenceId: 11n, sequenceStart: true, sequenceEnd: false, requestedOutputs: ['O'],
    })
  })

  it('leaves out steps that lead to no output asked for', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z') + step('c', 'I=B', 'O=Y'), '', `input ${tensor('A')} output [ ${tensor('Z')}, ${tensor('Y')} ]`),
      { a: ONE, b: ONE, c: ONE })
    const asked = rig.ask([A], { requestedOutputs: ['Y'] })
    rig.take('a').answer(out(1))
    expect(rig.open).toEqual(['c'])
    rig.take('c').answer(out(2))
    expect(lastOf(asked)).toEqual([['Y', [1], [2]]])
  })

  it('runs a step without an optional input that was not given, or that its maker left out', () => {
    const ends = `input [ ${tensor('A')}, ${tensor('B', '[ 1 ]', 'optional: true')} ] output ${tensor('Z')}`
    const rig = new EnsembleRig(ensemble(step('a', 'I=A J=B', 'O=C') + step('b', 'I=A J=C', 'O=Z'), '', ends), { a: OPTIONAL, b: OPTIONAL })
    const asked = rig.ask([A])
    const first = rig.take('a')
    expect(first.request.inputs.map(({ name }) => name)).toEqual(['I'])
    first.answer([])
    const second = rig.take('b')
    expect(second.request.inputs.map(({ name }) => name)).toEqual(['I'])
    second.answer(out(3))
    expect(lastOf(asked)).toEqual([['Z', [1], [3]]])
  })

  it('says that the sequence a step answers with is that of the next steps and of the response', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z')), { a: ONE, b: ONE })
    const asked = rig.ask([A])
    rig.take('a').answer(out(1), { sequence_id: 5n, sequence_end: true })
    const second = rig.take('b')
    expect(second.request).toMatchObject({ sequenceId: 5n, sequenceStart: false, sequenceEnd: true })
    second.answer(out(2))
    expect(asked.outcome).toMatchObject({ parameters: { sequence_id: 5n, sequence_start: false, sequence_end: true } })
    const plain = rig.ask([A])
    rig.take('a').answer(out(1))
    rig.take('b').answer(out(2), { something: 'else' })
    expect(plain.outcome).toMatchObject({ parameters: { sequence_id: 0n, sequence_start: false, sequence_end: false } })
    expect((plain.outcome as { parameters: object }).parameters).not.toHaveProperty('something')
  })

  it('refuses sequence parameters of another type', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z')), { a: ONE })
    const first = rig.ask([A])
    rig.take('a').answer(out(1), { sequence_id: true })
    expect(errorOf(first)).toMatchObject({ kind: 'INVALID_ARG', message: "in ensemble 'm', expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING" })
    const second = rig.ask([A])
    rig.take('a').answer(out(1), { sequence_end: 'yes' })
    expect(errorOf(second).message).toBe("in ensemble 'm', expect parameter 'sequence_end' to be TRITONSERVER_PARAMETER_BOOL")
  })
})

describe('batch dimension', () => {
  it.each([
    { name: 'batching to batching', member: '[ 3 ]', batching: true, given: [2, 3], seen: [2, 3] },
    { name: 'batching to non-batching with the full shape', member: '[ -1, 3 ]', batching: false, given: [2, 3], seen: [2, 3] },
    { name: 'batching to non-batching without batch dimension', member: '[ 3 ]', batching: false, given: [1, 3], seen: [3] },
  ])('$name', ({ member, batching, given, seen }) => {
    const rest = batching ? 'max_batch_size: 4' : ''
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z'), 'max_batch_size: 4', `input ${tensor('A', '[ 3 ]')} output ${tensor('Z', '[ 3 ]')}`),
      { a: model(tensor('I', member), tensor('O', member), rest) })
    const count = given.reduce((product, dim) => product * dim, 1)
    const values = Array.from({ length: count }, (_unused, index) => index)
    const asked = rig.ask([int32('A', given, values)], { batchSize: given[0] ?? 1 })
    const call = rig.take('a')
    expect(call.request.inputs[0]?.shape).toEqual(seen)
    call.answer([{ ...int32('O', seen, values) }])
    expect(lastOf(asked)).toEqual([['Z', given, values]])
  })

  it('puts a batch of one around the tensor of a non-batching model, and gives the output the dims of its reshape', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'), '', `input ${tensor('A', '[ 4 ]')} output ${tensor('Z', '[ 2, 2 ]', 'reshape { shape: [ 4 ] }')}`),
      { a: model(tensor('I', '[ 4 ]'), tensor('O', '[ 4 ]')), b: model(tensor('I', '[ 4 ]'), tensor('O', '[ 4 ]'), 'max_batch_size: 4') })
    const asked = rig.ask([int32('A', [4], [1, 2, 3, 4])])
    rig.take('a').answer([int32('O', [4], [1, 2, 3, 4])])
    const second = rig.take('b')
    expect(second.request.inputs[0]?.shape).toEqual([1, 4])
    second.answer([int32('O', [1, 4], [5, 6, 7, 8])])
    expect(lastOf(asked)).toEqual([['Z', [2, 2], [5, 6, 7, 8]]])
  })
})

describe('failure', () => {
  const FORK = ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=A', 'O=C') + step('c', 'I=B J=C', 'O=Z'))

  it('starts no further step, waits for those that run, and names the step in the cause', () => {
    const rig = new EnsembleRig(FORK, { a: ONE, b: ONE, c: TWO })
    const asked = rig.ask([A], { id: 'x' })
    rig.take('a').fail(new ServerError('UNAVAILABLE', '[request id: x] Exceeds maximum queue size'))
    expect(asked.outcome).toBeNull()
    rig.take('b').answer(out(1))
    expect(rig.open).toEqual([])
    expect(errorOf(asked)).toMatchObject({ kind: 'UNAVAILABLE', message: "in ensemble 'm', [request id: x] Exceeds maximum queue size" })
    expect(asked.outcome).toMatchObject({ reason: 'OTHER' })
    expect((errorOf(asked).cause as Error).message).toBe("step 0 (model 'a' version 1) failed: [request id: x] Exceeds maximum queue size")
    expect(rig.failedAgain).toBe(1)
    expect(rig.executed).toEqual([])
  })

  it('keeps the first error, also when a step is refused at the door', () => {
    const rig = new EnsembleRig(FORK, { a: ONE, b: ONE, c: TWO })
    const member = rig.members.get('a')
    if (member !== undefined) member.refusal = new ServerError('INVALID_ARG', 'first')
    const asked = rig.ask([A])
    expect(rig.open).toEqual([])
    expect(errorOf(asked).message).toBe("in ensemble 'm', first")
    expect(rig.members.get('b')?.holds).toBe(0)
  })

  it('fails when a model of a step is gone', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z')), { a: ONE })
    rig.members.clear()
    expect(errorOf(rig.ask([A]))).toMatchObject({ kind: 'NOT_FOUND', message: "in ensemble 'm', Request for unknown model: 'a' is not found" })
  })

  it('says deadlock when all is done and an output is missing', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z')), { a: ONE })
    const asked = rig.ask([A], { id: 'x' })
    rig.take('a').complete()
    expect(errorOf(asked)).toMatchObject({
      kind: 'INVALID_ARG',
      message: "in ensemble 'm', [request id: x] unexpected deadlock, at least one output is not set while no more ensemble steps can be made",
    })
  })
})

describe('cancellation', () => {
  it('tells the steps that run and starts no other', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z')), { a: ONE, b: ONE })
    const asked = rig.ask([A])
    const first = rig.take('a')
    rig.scheduler.cancel(asked.inflight)
    expect(first.isCancelled).toBe(true)
    expect(asked.outcome).toBeNull()
    first.answer(out(1))
    expect(rig.open).toEqual([])
    expect(errorOf(asked)).toMatchObject({ kind: 'CANCELLED', message: "in ensemble 'm', " })
    expect(rig.scheduler.graph().executions.map(({ outcome }) => outcome)).toEqual(['cancelled'])
  })

  it('lets a request succeed whose last step was not cancelled in time', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z')), { a: ONE })
    const asked = rig.ask([A])
    rig.scheduler.cancel(asked.inflight)
    rig.take('a').answer(out(1))
    expect(lastOf(asked)).toEqual([['Z', [1], [1]]])
  })

  it('refuses new requests when it stops, and finishes those under way', () => {
    const rig = new EnsembleRig(ensemble(step('a', 'I=A', 'O=Z')), { a: ONE })
    const asked = rig.ask([A])
    rig.scheduler.stopAccepting()
    expect(() => rig.ask([A], { id: 'late' })).toThrow('[request id: late] Server is stopping, scheduler for model has stopped accepting new inference requests')
    rig.take('a').answer(out(1))
    expect(lastOf(asked)).toEqual([['Z', [1], [1]]])
  })
})

describe('decoupled steps', () => {
  const CHAIN = ensemble(step('s', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'), DECOUPLED)
  const ask = (rig: EnsembleRig) => rig.ask([A], { isDecoupled: true })
  const values = ({ answers }: AskedRequest) => answers.map(([output]) => valuesOf(output)[0])

  it('starts the steps behind it for each response, answers in their order, and FINAL comes last', () => {
    const rig = new EnsembleRig(CHAIN, { s: STREAM, b: ONE })
    const asked = ask(rig)
    const stream = rig.take('s')
    for (const value of [1, 2, 3]) void stream.send(out(value))
    const [first, second, third] = [rig.take('b'), rig.take('b'), rig.take('b')]
    expect([first, second, third].map((call) => valuesOf(call.request.inputs[0])[0])).toEqual([1, 2, 3])
    second.answer(out(20))
    expect(values(asked)).toEqual([])
    first.answer(out(10))
    expect(values(asked)).toEqual([10, 20])
    stream.complete()
    expect(asked.outcome).toBeNull()
    third.answer(out(30))
    expect(values(asked)).toEqual([10, 20, 30])
    expect(asked.outcome).toMatchObject({ kind: 'response' })
  })

  it('ends with FINAL alone when the last answer is out already, and when there is none', () => {
    const rig = new EnsembleRig(CHAIN, { s: STREAM, b: ONE })
    const asked = ask(rig)
    const stream = rig.take('s')
    void stream.send(out(1))
    rig.take('b').answer(out(10))
    expect(values(asked)).toEqual([10])
    stream.complete()
    expect(asked.outcome).toMatchObject({ kind: 'response', outputs: null })
    const none = ask(rig)
    rig.take('s').complete()
    expect(none.outcome).toMatchObject({ kind: 'response', outputs: null })
    expect(none.answers).toEqual([])
  })

  it('keeps the order through a decoupled step behind another', () => {
    const rig = new EnsembleRig(ensemble(step('s', 'I=A', 'O=B') + step('t', 'I=B', 'O=Z'), DECOUPLED), { s: STREAM, t: STREAM })
    const asked = ask(rig)
    const stream = rig.take('s')
    void stream.send(out(1))
    void stream.send(out(2))
    stream.complete()
    const [first, second] = [rig.take('t'), rig.take('t')]
    void second.send(out(21))
    void first.send(out(11))
    expect(values(asked)).toEqual([11])
    second.complete()
    void first.send(out(12))
    expect(values(asked)).toEqual([11, 12])
    first.complete()
    expect(values(asked)).toEqual([11, 12, 21])
    expect(asked.outcome).toMatchObject({ kind: 'response' })
  })

  it('joins branches behind a decoupled step by the response they come from', () => {
    const rig = new EnsembleRig(ensemble(step('s', 'I=A', 'O=B') + step('a', 'I=B', 'O=C') + step('b', 'I=B', 'O=D') + step('c', 'I=C J=D', 'O=Z'), DECOUPLED),
      { s: STREAM, a: ONE, b: ONE, c: TWO })
    ask(rig)
    const stream = rig.take('s')
    void stream.send(out(1))
    void stream.send(out(2))
    const [firstA, secondA] = [rig.take('a'), rig.take('a')]
    secondA.answer(out(200))
    rig.take('b').answer(out(10))
    expect(rig.open).toEqual(['b'])
    firstA.answer(out(100))
    expect(rig.take('c').request.inputs.map((input) => valuesOf(input)[0])).toEqual([100, 10])
  })

  it('fails with an error of a step that goes on, when that is done', () => {
    const rig = new EnsembleRig(CHAIN, { s: STREAM, b: ONE })
    const asked = ask(rig)
    const stream = rig.take('s')
    stream.handlers.onError(new ServerError('INTERNAL', 'broken row'))
    void stream.send(out(1))
    expect(rig.open).toEqual([])
    stream.complete()
    expect(errorOf(asked).message).toBe("in ensemble 'm', broken row")
  })
})

describe('max_inflight_requests', () => {
  const LIMITED = ensemble(`max_inflight_requests: 1 ${step('s', 'I=A', 'O=B')}${step('b', 'I=B', 'O=Z')}`, DECOUPLED)

  it('holds the producer back until the step behind it has a slot', async () => {
    const rig = new EnsembleRig(LIMITED, { s: STREAM, b: ONE })
    rig.ask([A], { isDecoupled: true })
    const stream = rig.take('s')
    expect(stream.send(out(1))).toBeUndefined()
    let isFree = false
    const wait = stream.send(out(2))
    void wait?.then(() => { isFree = true })
    await Promise.resolve()
    expect([rig.open, isFree]).toEqual([['b'], false])
    rig.take('b').answer(out(10))
    await wait
    expect(rig.open).toEqual(['b'])
  })

  it('counts over all requests of the ensemble, first come first served', () => {
    const rig = new EnsembleRig(ensemble(`max_inflight_requests: 1 ${step('a', 'I=A', 'O=Z')}`), { a: ONE })
    const [first, second] = [rig.ask([A]), rig.ask([int32('A', [1], [8])])]
    expect(rig.open).toEqual(['a'])
    rig.clock.advance(5 * MILLISECOND)
    rig.take('a').answer(out(1))
    expect(first.outcome).not.toBeNull()
    const next = rig.take('a')
    expect(valuesOf(next.request.inputs[0])).toEqual([8])
    next.answer(out(2))
    expect(second.outcome).not.toBeNull()
    expect(rig.scheduler.graph().executions[1]?.steps[0]).toMatchObject({ heldNanoseconds: 5 * MILLISECOND, startNanoseconds: 5 * MILLISECOND })
    expect(rig.clock.timerCount).toBe(0)
  })

  it('answers everybody who waits, however many, when the step is over as soon as it starts', () => {
    let isImmediate = false
    const rig = new EnsembleRig(ensemble(`max_inflight_requests: 1 ${step('a', 'I=A', 'O=Z')}`), { a: ONE }, (call) => {
      if (isImmediate) call.answer(out(1))
      return isImmediate
    })
    const asked = Array.from({ length: 3000 }, () => rig.ask([A]))
    isImmediate = true
    rig.take('a').answer(out(1))
    expect(asked.filter(({ outcome }) => outcome?.kind === 'response')).toHaveLength(3000)
    expect(rig.clock.timerCount).toBe(0)
  })

  it('starts without a slot after the safety time, and says so', () => {
    const rig = new EnsembleRig(ensemble(`max_inflight_requests: 1 ${step('a', 'I=A', 'O=Z')}`), { a: ONE })
    rig.ask([A])
    rig.ask([A])
    rig.clock.advance(STEP_WAIT_SECONDS * 1e9 - 1)
    expect(rig.open).toEqual(['a'])
    rig.clock.advance(1)
    expect(rig.open).toEqual(['a', 'a'])
    expect(rig.logs.recent(1)[0]).toMatchObject({ level: 'error', message: 'ensemble step waited too long for a slot and starts without one', fields: { step: 0, inFlight: 1 } })
  })

  it('gives the place in the queue up when the request is cancelled or fails', () => {
    const rig = new EnsembleRig(ensemble(`max_inflight_requests: 1 ${step('a', 'I=A', 'O=Z')}`), { a: ONE })
    rig.ask([A])
    const [cancelled, last] = [rig.ask([A]), rig.ask([int32('A', [1], [9])])]
    rig.scheduler.cancel(cancelled.inflight)
    expect(errorOf(cancelled).kind).toBe('CANCELLED')
    rig.take('a').answer(out(1))
    rig.take('a').answer(out(2))
    expect(lastOf(last)).toEqual([['Z', [1], [2]]])
    expect(rig.clock.timerCount).toBe(0)
  })
})

describe('statistics and trace', () => {
  const CHAIN = ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'), 'max_batch_size: 4', `input ${tensor('A', '[ 1 ]')} output ${tensor('Z', '[ 1 ]')}`)
  const BATCHING = model(tensor('I'), tensor('O'), 'max_batch_size: 8')

  it('counts one execution a request: queue before the first step, compute summed over the members', () => {
    const rig = new EnsembleRig(CHAIN, { a: BATCHING, b: BATCHING })
    const asked = rig.ask([int32('A', [3, 1], [1, 2, 3])], { batchSize: 3 })
    const begun = rig.clock.now()
    rig.clock.advance(10 * MILLISECOND)
    rig.take('a').answer([int32('O', [3, 1], [1, 2, 3])])
    rig.clock.advance(20 * MILLISECOND)
    rig.take('b').answer([int32('O', [3, 1], [1, 2, 3])])
    expect(rig.executed).toEqual([{ batchSize: 3, computeNanoseconds: 12 * MILLISECOND, queueEnd: begun }])
    expect(asked.outcome).toMatchObject({
      executedBatchSize: 3, times: { executeStart: begun, computeStart: begun + 2 * MILLISECOND, computeEnd: begun + 6 * MILLISECOND, executeEnd: begun + 12 * MILLISECOND },
    })
  })

  it('keeps sums by step and the last requests step by step', () => {
    const rig = new EnsembleRig(CHAIN, { a: BATCHING, b: BATCHING })
    const run = (id: string) => {
      rig.ask([int32('A', [1, 1], [1])], { id })
      rig.clock.advance(10 * MILLISECOND)
      rig.take('a').answer([int32('O', [1, 1], [1])])
      rig.clock.advance(20 * MILLISECOND)
      rig.take('b').answer([int32('O', [1, 1], [1])])
    }
    for (let index = 0; index < 40; index++) run(String(index))
    rig.ask([int32('A', [1, 1], [1])], { id: 'bad' })
    rig.take('a').fail(new ServerError('INTERNAL', 'no'))
    const { statistics, executions } = rig.scheduler.graph()
    expect(statistics).toMatchObject([
      { step: 0, count: 40, failed: 1, totalNanoseconds: 400 * MILLISECOND, queueNanoseconds: 160 * MILLISECOND, computeInferNanoseconds: 80 * MILLISECOND },
      { step: 1, count: 40, failed: 0, totalNanoseconds: 800 * MILLISECOND },
    ])
    expect(executions).toHaveLength(32)
    expect(executions.map(({ id }) => id)).toEqual([...Array.from({ length: 31 }, (_unused, index) => String(index + 9)), 'bad'])
    expect(executions[30]).toMatchObject({
      totalNanoseconds: 30 * MILLISECOND, outcome: 'success', error: null, omittedStepRuns: 0, steps: [
        { step: 0, iteration: 0, startNanoseconds: 0, endNanoseconds: 10 * MILLISECOND, responseCount: 1, batchSize: 1, error: null },
        { step: 1, iteration: 0, startNanoseconds: 10 * MILLISECOND, endNanoseconds: 30 * MILLISECOND },
      ],
    })
    expect(executions[31]).toMatchObject({ outcome: 'failure', error: "in ensemble 'm', no", steps: [{ step: 0, error: 'no', batchSize: 0 }] })
  })

  it('does not charge a step with the beginning of the next one', () => {
    const rig = new EnsembleRig(CHAIN, { a: BATCHING, b: BATCHING }, ({ model: name }) => {
      if (name === 'b') rig.clock.advance(7 * MILLISECOND)
      return false
    })
    rig.ask([int32('A', [1, 1], [1])])
    rig.clock.advance(MILLISECOND)
    rig.take('a').answer([int32('O', [1, 1], [1])])
    rig.take('b').answer([int32('O', [1, 1], [1])])
    expect(rig.scheduler.graph().executions[0]?.steps).toMatchObject([{ endNanoseconds: MILLISECOND }, { startNanoseconds: MILLISECOND, endNanoseconds: 8 * MILLISECOND }])
  })

  it('keeps a bounded number of step runs of one request', () => {
    const rig = new EnsembleRig(ensemble(step('s', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'), DECOUPLED), { s: STREAM, b: ONE }, (call) => {
      if (call.model === 's') return false
      call.answer(out(1))
      return true
    })
    const asked = rig.ask([A], { isDecoupled: true })
    const stream = rig.take('s')
    for (let index = 0; index < 1000; index++) void stream.send(out(index))
    stream.complete()
    expect(asked.answers).toHaveLength(1000)
    const [execution] = rig.scheduler.graph().executions
    expect([execution?.steps.length, execution?.omittedStepRuns, execution?.steps[255]?.iteration]).toEqual([256, 745, 254])
    expect(rig.scheduler.graph().statistics[1]?.count).toBe(1000)
  })

  it('draws the steps and the ways of their tensors', () => {
    const rig = new EnsembleRig(CHAIN, { a: BATCHING, b: BATCHING })
    expect(rig.scheduler.graph()).toMatchObject({
      name: 'm', version: '1', isDecoupled: false, maxInflightRequests: 0,
      steps: [
        { step: 0, modelName: 'a', modelVersion: -1, servedVersion: '1', isDecoupled: false, isEnsemble: false },
        { step: 1, modelName: 'b' },
      ],
      edges: [
        { tensor: 'A', datatype: 'INT32', shape: [-1, 1], from: { kind: 'request' }, to: { kind: 'step', step: 0, input: 'I' } },
        { tensor: 'B', from: { kind: 'step', step: 0, output: 'O' }, to: { kind: 'step', step: 1, input: 'I' } },
        { tensor: 'Z', from: { kind: 'step', step: 1, output: 'O' }, to: { kind: 'response' } },
      ],
    })
  })
})
