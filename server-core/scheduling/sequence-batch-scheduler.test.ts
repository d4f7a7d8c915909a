import { describe, expect, it } from 'vitest'
import { InflightRequest } from './inflight-request.ts'
import { Payload } from './payload.ts'
import { RateLimiter } from './rate-limiter.ts'
import { SequenceControls } from './sequence-controls.ts'
import { delayedBacklogCount } from './test-hooks.ts'
import { batchingOf, HeldInstance, sequenceRig, turns, valueOf } from './test-sequence-rig.ts'

const CONTROLS = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ -1, 2.5 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } }
  control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }`

const START_TEXT = (id: string) => `inference request for sequence ${id} to model 'm' must specify the START flag on the first request of the sequence`

describe('what the sequence batcher refuses', () => {
  it.each([
    ['a batch', () => sequenceRig().send('a', 1n, 'S', { batchSize: 2 }), "inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher"],
    ['no id', () => sequenceRig().send('a', 0n, 'S'), "inference request to model 'm' must specify a non-zero or non-empty correlation ID"],
    ['an empty id', () => sequenceRig().send('a', '', 'S'), "inference request to model 'm' must specify a non-zero or non-empty correlation ID"],
    ['an unknown id without START', () => sequenceRig().send('a', 7n), START_TEXT('7')],
    ['an unknown text id without START', () => sequenceRig().send('a', 'seven', 'E'), START_TEXT('seven')],
  ])('%s', (_what, call, text) => {
    expect(call).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message: text }) as Error)
  })

  it('takes the id 1 and the id "1" for two sequences', () => {
    const { send } = sequenceRig()
    send('a', 1n, 'S')
    expect(() => send('b', '1')).toThrow(START_TEXT('1'))
    send('c', '1', 'S')
  })

  it('forgets an id at its END, also while requests of it wait', () => {
    const { send } = sequenceRig()
    send('a', 1n, 'S')
    send('b', 1n, 'E')
    expect(() => send('c', 1n)).toThrow(START_TEXT('1'))
  })

  it('only refuses what starts a sequence once it stops', async () => {
    const { scheduler, send, instance, endOf } = sequenceRig()
    send('a', 1n, 'S')
    scheduler.stopAccepting()
    expect(() => send('x', 2n, 'S')).toThrow(expect.objectContaining({
      kind: 'UNAVAILABLE', message: 'Server is stopping, scheduler for model has stopped accepting new inference requests',
    }) as Error)
    await instance.finish()
    send('b', 1n, 'E')
    await instance.finish()
    expect(endOf('b')).toBe('ok')
  })
})

describe('controls', () => {
  it('are false and true as the spec table says', async () => {
    const { send, instance } = sequenceRig(CONTROLS, { maxBatchSize: 2 })
    const table = () => instance.rows.map((rows) => rows.map(({ inputs }) => ['START', 'END', 'READY', 'CORRID'].map((name) => valueOf(inputs, name))))
    send('keeps slot 0', 9n, 'S')
    await instance.finish()
    for (const [name, flags] of [['first', 'S'], ['middle', ''], ['last', 'E']] as const) {
      send(name, 5n, flags)
      await instance.finish()
    }
    send('single', 6n, 'SE')
    await instance.finish()
    const empty = [0, -1, false, 0n]
    expect(table()).toEqual([
      [[1, -1, true, 9n]],
      [empty, [1, -1, true, 5n]], [empty, [0, -1, true, 5n]], [empty, [0, 2.5, true, 5n]],
      [empty, [1, 2.5, true, 6n]],
    ])
  })

  it.each([[0, [1]], [4, [1, 1]]])('have one element: with max_batch_size %i the shape is %j', (maxBatchSize, shape) => {
    const controls = new SequenceControls(batchingOf(CONTROLS), maxBatchSize > 0)
    const tensors = controls.tensors({ start: true, end: false, ready: true }, controls.correlationTensor(1n))
    expect(tensors.map((tensor) => [tensor.name, tensor.datatype, tensor.shape])).toEqual([
      ['START', 'INT32', shape], ['END', 'FP32', shape], ['READY', 'BOOL', shape], ['CORRID', 'UINT64', shape],
    ])
  })

  it.each([
    ['TYPE_UINT64', (1n << 64n) - 1n, (1n << 64n) - 1n], ['TYPE_INT64', (1n << 64n) - 1n, -1n], ['TYPE_UINT32', (1n << 32n) + 5n, 5],
    ['TYPE_INT32', (1n << 32n) - 1n, -1], ['TYPE_STRING', 'séquence', 'séquence'], ['TYPE_STRING', 0n, ''],
  ])('CORRID of type %s carries %s as %s', (type, id, value) => {
    const controls = new SequenceControls(batchingOf(`control_input { name: "C" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${type} } }`), true)
    expect(valueOf([controls.correlationTensor(id)!], 'C')).toBe(value)
  })

  it('are left out where the model has none', async () => {
    const { send, instance } = sequenceRig()
    send('a', 1n, 'S')
    await instance.finish()
    expect(instance.rows[0]![0]!.inputs.map((input) => input.name)).toEqual(['INPUT'])
  })
})

describe('slots', () => {
  it('are handed out lowest index first across the instances', () => {
    const { send, instances } = sequenceRig('', { instances: 2, maxBatchSize: 2 })
    for (const id of [1n, 2n, 3n, 4n]) send(`s${id}`, id, 'S')
    // Sequences 1 and 2 have slot 0 of the instances, 3 and 4 slot 1.
    expect(instances.map((instance) => instance.batches)).toEqual([[['s1']], [['s2']]])
  })

  it('belong to one sequence: its requests go to the same row of the same instance', async () => {
    const { send, instances } = sequenceRig('', { instances: 2, maxBatchSize: 2 })
    for (const id of [1n, 2n, 3n, 4n]) send(`${id}a`, id, 'S')
    for (const instance of instances) await instance.finish()
    for (const id of [4n, 3n, 2n, 1n]) send(`${id}b`, id)
    for (const instance of instances) { await instance.finish(); await instance.finish(); await instance.finish() }
    expect(instances[0]!.batches.slice(0, 3)).toEqual([['1a'], ['-', '3a'], ['1b', '3b']])
    expect(instances[1]!.batches.slice(0, 3)).toEqual([['2a'], ['-', '4a'], ['2b', '4b']])
  })

  it('let the first sequence of the backlog in with all its requests when one is free', async () => {
    const { send, instance, scheduler } = sequenceRig('', { maxBatchSize: 1 })
    send('1a', 1n, 'S')
    send('2a', 2n, 'S')
    send('3a', 3n, 'SE')
    send('2b', 2n, 'E')
    expect(scheduler.backlogSize).toBe(2)
    send('1b', 1n, 'E')
    for (let round = 0; round < 5; round++) await instance.finish()
    expect(instance.batches).toEqual([['1a'], ['1b'], ['2a'], ['2b'], ['3a']])
    expect(scheduler.backlogSize).toBe(0)
  })

  it('are free once END is dispatched, before it has run', () => {
    const { send, instance, scheduler } = sequenceRig('', { maxBatchSize: 1 })
    send('1', 1n, 'SE')
    send('2', 2n, 'S')
    expect(instance.batches).toEqual([['1']])
    expect(scheduler.backlogSize).toBe(0)
  })

  it('survive any number of one-request sequences in the backlog', async () => {
    const { send, instance, settled } = sequenceRig('oldest { max_candidate_sequences: 1 }')
    send('first', 1n, 'S')
    for (let id = 2; id < 20_002; id++) send(`s${id}`, BigInt(id), 'SE')
    await instance.finish()
    send('last', 1n, 'E')
    while (instance.isRunning) await instance.finish()
    expect(settled).toHaveLength(20_002)
  })

  it('queue a START of an active id behind the old sequence, with a warning', async () => {
    const { send, instance, warnings } = sequenceRig(CONTROLS, { maxBatchSize: 1 })
    send('a', 1n, 'S')
    send('b', 1n)
    send('c', 1n, 'S')
    for (let round = 0; round < 3; round++) await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b'], ['c']])
    expect(instance.rows.map(([row]) => valueOf(row!.inputs, 'START'))).toEqual([1, 0, 1])
    expect(warnings).toEqual(["sequence 1 for model 'm' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early."])
  })
})

describe('idle sequences', () => {
  const IDLE = 'max_sequence_idle_microseconds: 1000'

  it('lose their slot, and later requests need START', async () => {
    const { send, instance, clock, scheduler } = sequenceRig(IDLE, { maxBatchSize: 1 })
    send('a', 1n, 'S')
    await instance.finish()
    send('b', 2n, 'S')
    clock.advanceMicroseconds(999)
    expect(scheduler.backlogSize).toBe(1)
    clock.advanceMicroseconds(1)
    expect(scheduler.backlogSize).toBe(0)
    expect(instance.batches).toEqual([['a'], ['b']])
    expect(() => send('c', 1n)).toThrow(START_TEXT('1'))
  })

  it('are each found at their own time, also when a slot that became free goes to a sequence of the backlog', async () => {
    const { send, instance, clock, scheduler } = sequenceRig(IDLE, { maxBatchSize: 2 })
    send('a', 1n, 'S')
    await instance.finish()
    clock.advanceMicroseconds(100)
    send('b', 2n, 'S')
    await instance.finish()
    send('c', 3n, 'S')
    send('d', 4n, 'S')
    clock.advanceMicroseconds(900)
    expect(scheduler.backlogSize).toBe(1)
    clock.advanceMicroseconds(100)
    expect(scheduler.backlogSize).toBe(0)
    expect(() => send('e', 2n)).toThrow(START_TEXT('2'))
  })

  it('count from the last request', () => {
    const { send, clock } = sequenceRig(IDLE)
    send('a', 1n, 'S')
    clock.advanceMicroseconds(900)
    send('b', 1n)
    clock.advanceMicroseconds(900)
    send('c', 1n)
    clock.advanceMicroseconds(1000)
    expect(() => send('d', 1n)).toThrow(START_TEXT('1'))
  })

  it('have what still waits in the slot run first', async () => {
    const { send, instance, clock } = sequenceRig(IDLE, { maxBatchSize: 1 })
    send('a', 1n, 'S')
    send('b', 1n)
    send('other', 2n, 'S')
    clock.advanceMicroseconds(1000)
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b'], ['other']])
  })

  it('do not idle out in the backlog; there the time starts with the slot', async () => {
    const { send, instance, clock } = sequenceRig(IDLE, { maxBatchSize: 1 })
    send('a', 1n, 'S')
    send('b', 2n, 'S')
    for (let round = 0; round < 5; round++) {
      clock.advanceMicroseconds(900)
      send(`a${round}`, 1n)
    }
    send('b2', 2n)
    send('end', 1n, 'E')
    for (let round = 0; round < 7; round++) await instance.finish()
    expect(instance.batches.at(-1)).toEqual(['b'])
    clock.advanceMicroseconds(999)
    send('b3', 2n)
  })

  it('leave no timer behind', async () => {
    const { send, instance, clock } = sequenceRig(IDLE)
    send('a', 1n, 'S')
    send('b', 2n, 'S')
    send('c', 1n, 'E')
    send('d', 2n, 'E')
    await instance.finish()
    await instance.finish()
    expect(clock.timerCount).toBe(0)
  })
})

describe('the backlog', () => {
  it('expires a whole sequence with the earliest timeout of its requests', async () => {
    const { send, instance, clock, endOf, scheduler } = sequenceRig('', { maxBatchSize: 1 })
    send('a', 1n, 'S')
    send('2a', 2n, 'S')
    send('2b', 2n, '', { timeoutMicroseconds: 500 })
    send('3a', 3n, 'S', { timeoutMicroseconds: 800 })
    clock.advanceMicroseconds(499)
    expect(endOf('2a')).toBeUndefined()
    clock.advanceMicroseconds(1)
    const text = 'REJECTED timeout of the corresponding sequence has been expired'
    expect([endOf('2a'), endOf('2b'), endOf('3a')]).toEqual([text, text, undefined])
    expect(() => send('2c', 2n)).toThrow(START_TEXT('2'))
    clock.advanceMicroseconds(300)
    expect(endOf('3a')).toBe(text)
    expect(scheduler.backlogSize).toBe(0)
    send('a2', 1n, 'E')
    await instance.finish()
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['a2']])
  })

  it('expires what is due and nothing else, however much waits', () => {
    const { send, clock, endOf, scheduler } = sequenceRig('', { maxBatchSize: 1 })
    send('a', 1n, 'S')
    // More than fit on the stack as the arguments of one call.
    for (let index = 0; index < 130_000; index++) send(`${index}`, BigInt(2 + index), 'SE', { timeoutMicroseconds: index === 7 ? 100 : 500 })
    clock.advanceMicroseconds(100)
    expect([endOf('6'), endOf('7'), scheduler.backlogSize]).toEqual([undefined, 'REJECTED timeout of the corresponding sequence has been expired', 129_999])
  })

  it('has no timeout for what has a slot', () => {
    const { send, clock, endOf } = sequenceRig('max_sequence_idle_microseconds: 10000000', { maxBatchSize: 1 })
    send('a', 1n, 'S')
    send('b', 1n, '', { timeoutMicroseconds: 5 })
    clock.advanceMicroseconds(100)
    expect(endOf('b')).toBeUndefined()
  })
})

describe('the end of all sequences', () => {
  it.each(['', 'direct { max_queue_delay_microseconds: 10 minimum_slot_utilization: 1 }', 'oldest { }', 'iterative_sequence: true'])('lets the backlog through, in order, and runs what waits (%s)', async (strategy) => {
    const { send, instance, scheduler, clock, settled } = sequenceRig(`max_sequence_idle_microseconds: 3600000000 ${strategy}`, { maxBatchSize: 1 })
    send('1a', 1n, 'S')
    await instance.finish()
    send('1b', 1n)
    for (const name of ['2a', '2b']) send(name, 2n, name === '2a' ? 'S' : '')
    send('3a', 3n, 'SE')
    scheduler.endSequences()
    expect(() => send('2c', 2n)).toThrow(START_TEXT('2'))
    for (let round = 0; round < 5; round++) await instance.finish()
    expect(settled).toEqual(['1a', '1b', '2a', '2b', '3a'])
    expect([scheduler.backlogSize, clock.timerCount]).toEqual([0, 0])
  })
})

describe('cancellation', () => {
  it.each(['', 'oldest { }'])('of any request takes all waiting ones of its sequence, and ends it (%s)', async (strategy) => {
    const { send, instance, scheduler, endOf } = sequenceRig(strategy, { maxBatchSize: 1 })
    send('a', 1n, 'S')
    const b = send('b', 1n)
    send('c', 1n)
    send('other', 2n, 'S')
    scheduler.cancel(b)
    expect(['a', 'b', 'c', 'other'].map(endOf)).toEqual([undefined, 'CANCELED ', 'CANCELED ', undefined])
    expect(() => send('d', 1n)).toThrow(START_TEXT('1'))
    await instance.finish()
    expect(endOf('a')).toBe('ok')
    await instance.finish()
    expect(instance.batches).toEqual([['a'], ['other']])
  })

  it('of a request that runs only marks it; what waits behind is cancelled', async () => {
    const { send, instance, scheduler, endOf } = sequenceRig()
    const a = send('a', 1n, 'S')
    send('b', 1n)
    scheduler.cancel(a)
    expect(a.isCancelled).toBe(true)
    expect(endOf('b')).toBe('CANCELED ')
    await instance.finish()
    expect(endOf('a')).toBe('ok')
  })

  it('in the backlog takes the sequence out', async () => {
    const { send, instance, scheduler, endOf } = sequenceRig('', { maxBatchSize: 1 })
    send('a', 1n, 'SE')
    send('b', 2n, 'S')
    send('c', 3n, 'S')
    scheduler.cancel(send('c2', 3n))
    expect([endOf('c'), endOf('c2')]).toEqual(['CANCELED ', 'CANCELED '])
    await instance.finish()
    expect(scheduler.backlogSize).toBe(0)
  })

  it('of a request in a batch that waits for its instance leaves the row to a null request', async () => {
    const { send, instance, pool, scheduler, endOf } = sequenceRig('direct { max_queue_delay_microseconds: 1000000 minimum_slot_utilization: 1 }', { maxBatchSize: 3 })
    pool.offer(foreignPayload(instance))
    for (const [name, id] of [['a', 1n], ['b', 2n], ['c', 3n]] as const) send(name, id, 'S')
    scheduler.cancel(send('b2', 2n))
    expect([endOf('b'), endOf('b2')]).toEqual(['CANCELED ', 'CANCELED '])
    await instance.finish()
    expect(instance.batches.slice(1)).toEqual([['a', '-', 'c']])
  })

  it('of all requests of such a batch leaves nothing to run', async () => {
    const { send, instance, pool, scheduler } = sequenceRig('', { maxBatchSize: 1 })
    pool.offer(foreignPayload(instance))
    scheduler.cancel(send('a', 1n, 'S'))
    await instance.finish()
    send('b', 2n, 'S')
    expect(instance.batches.slice(1)).toEqual([['b']])
  })
})

describe('the direct strategy', () => {
  it('fills rows up to the highest slot with a request, null rows between', async () => {
    const { send, instance } = sequenceRig(CONTROLS)
    for (const id of [1n, 2n, 3n, 4n]) send(`${id}a`, id, 'S')
    await instance.finish()
    await instance.finish()
    send('1b', 1n)
    await instance.finish()
    send('3c', 3n)
    await instance.finish()
    expect(instance.batches).toEqual([['1a'], ['-', '2a', '3a', '4a'], ['1b'], ['-', '-', '3c']])
    const [empty] = instance.rows.at(-1)!
    expect(empty).toMatchObject({ id: '', isNull: true })
    expect(empty!.inputs[0]).toMatchObject({ name: 'INPUT', shape: [1, 1], data: new Uint8Array(4) })
  })

  it('has one request of a sequence in a batch', async () => {
    const { send, instance } = sequenceRig()
    send('a', 1n, 'S')
    send('b', 1n)
    send('c', 1n)
    for (let round = 0; round < 3; round++) await instance.finish()
    expect(instance.batches).toEqual([['a'], ['b'], ['c']])
  })

  const DELAYED = 'direct { max_queue_delay_microseconds: 100 minimum_slot_utilization: 0.5 }'

  it('waits for the utilization or the delay of the oldest request', async () => {
    const { send, instance, clock } = sequenceRig(DELAYED)
    send('a', 1n, 'S')
    clock.advanceMicroseconds(99)
    expect(instance.batches).toEqual([])
    clock.advanceMicroseconds(1)
    expect(instance.batches).toEqual([['a']])
    await instance.finish()
    send('b', 1n)
    send('c', 2n, 'S')
    expect(instance.batches).toEqual([['a'], ['b', 'c']])
  })

  it.each(['direct { max_queue_delay_microseconds: 100 }', 'direct { minimum_slot_utilization: 1 }'])('does not wait with only one of them: %s', (config) => {
    const { send, instance } = sequenceRig(config)
    send('a', 1n, 'S')
    expect(instance.batches).toEqual([['a']])
  })

  it('replaces requests of other shapes by null rows, and nobody waits for ever', async () => {
    const { send, instance } = sequenceRig('', { maxBatchSize: 3, shapeRule: (request) => request.inputs[0]!.shape.join() })
    send('hold', 9n, 'SE', { columns: 7 })
    send('1a', 1n, 'S', { columns: 1 })
    send('2a', 2n, 'S', { columns: 2 })
    send('3a', 3n, 'S', { columns: 1 })
    send('1b', 1n, '', { columns: 1 })
    send('3b', 3n, '', { columns: 1 })
    for (let round = 0; round < 4; round++) await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['1a', '-', '3a'], ['1b', '-', '3b'], ['-', '2a']])
  })

  it('has one slot and no null rows without a batch dimension', async () => {
    const { send, instance, scheduler } = sequenceRig(CONTROLS, { maxBatchSize: 0 })
    send('a', 1n, 'S')
    send('b', 2n, 'S')
    expect(scheduler.backlogSize).toBe(1)
    expect(instance.rows[0]![0]!.inputs.map(({ shape }) => shape)).toEqual([[1], [1], [1], [1], [1]])
  })

  it('starts only when as many requests wait as the test hooks say', () => {
    const { send, instances } = sequenceRig('', { instances: 2, maxBatchSize: 2, delayCount: 4, backlogDelayCount: 2 })
    for (const id of [1n, 2n, 3n, 4n]) send(`${id}a`, id, 'S')
    send('5a', 5n, 'S')
    expect(instances.map((instance) => instance.batches)).toEqual([[], []])
    send('5b', 5n)
    expect(instances.map((instance) => instance.batches)).toEqual([[['1a', '3a']], [['2a', '4a']]])
    expect([delayedBacklogCount({ TRITONSERVER_BACKLOG_DELAY_SCHEDULER: '12' }), delayedBacklogCount({})]).toEqual([12, 0])
  })
})

describe('the oldest strategy', () => {
  it('batches requests of different sequences in any row, at most one of each', async () => {
    const { send, instance } = sequenceRig('oldest { max_candidate_sequences: 8 }')
    send('1a', 1n, 'S')
    send('1b', 1n)
    send('2a', 2n, 'S')
    send('2b', 2n)
    send('3a', 3n, 'S')
    for (let round = 0; round < 3; round++) await instance.finish()
    expect(instance.batches).toEqual([['1a'], ['2a', '3a', '1b'], ['2b']])
  })

  it('has as many slots as candidates, or as rows where none are given', () => {
    const few = sequenceRig('oldest { max_candidate_sequences: 2 }')
    for (const id of [1n, 2n, 3n]) few.send(`${id}`, id, 'S')
    expect(few.scheduler.backlogSize).toBe(1)
    const rows = sequenceRig('oldest { }', { maxBatchSize: 3 })
    for (const id of [1n, 2n, 3n, 4n, 5n]) rows.send(`${id}`, id, 'S')
    expect(rows.scheduler.backlogSize).toBe(2)
    const many = sequenceRig('oldest { max_candidate_sequences: 2147483647 }')
    for (let id = 1; id < 100; id++) many.send(`${id}`, BigInt(id), 'S')
    expect(many.scheduler.backlogSize).toBe(0)
  })

  it('waits for a preferred size up to the delay', async () => {
    const { send, instance, clock } = sequenceRig('oldest { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 100 max_candidate_sequences: 8 }')
    send('1a', 1n, 'S')
    expect(instance.batches).toEqual([])
    send('2a', 2n, 'S')
    expect(instance.batches).toEqual([['1a', '2a']])
    await instance.finish()
    send('1b', 1n)
    clock.advanceMicroseconds(100)
    expect(instance.batches).toEqual([['1a', '2a'], ['1b']])
  })

  it('keeps the order of a sequence and its instance', async () => {
    const { send, instances } = sequenceRig('oldest { max_candidate_sequences: 4 }', { instances: 2 })
    for (const id of [1n, 2n]) for (const step of ['a', 'b', 'c']) send(`${id}${step}`, id, step === 'a' ? 'S' : step === 'c' ? 'E' : '')
    for (let round = 0; round < 3; round++) for (const instance of instances) await instance.finish()
    expect(instances.map((instance) => instance.batches.flat())).toEqual([['1a', '1b', '1c'], ['2a', '2b', '2c']])
  })

  it('never mixes shapes', async () => {
    const { send, instance } = sequenceRig('oldest { max_candidate_sequences: 8 }', { shapeRule: (request) => request.inputs[0]!.shape.join() })
    send('hold', 9n, 'SE')
    send('1', 1n, 'S', { columns: 1 })
    send('2', 2n, 'S', { columns: 2 })
    send('3', 3n, 'S', { columns: 2 })
    for (let round = 0; round < 3; round++) await instance.finish()
    expect(instance.batches).toEqual([['hold'], ['1'], ['2', '3']])
  })
})

describe.each(['', 'oldest { max_candidate_sequences: 4 }'])('instances that come and go (%s)', (strategy) => {
  const LOST = (id: string) => `OTHER sequence ${id} of model 'm' was ended: the model instance that held its state stopped. Start the sequence again with the START flag`

  it('fail the sequences of one that crashed, by name; they start again elsewhere', async () => {
    const { send, instances, pool, endOf } = sequenceRig(strategy, { instances: 2 })
    const [first, second] = [instances[0]!, instances[1]!]
    send('1a', 1n, 'S')
    send('2a', 2n, 'S')
    send('1b', 1n)
    send('3a', 'three', 'S')
    const crashed = first.crash(new Error('the thread stopped'))
    pool.remove(first)
    await crashed
    expect(['1a', '1b', '3a'].map(endOf)).toEqual(['BACKEND the thread stopped', LOST('1'), LOST('three')])
    expect(() => send('1c', 1n)).toThrow(START_TEXT('1'))
    send('1d', 1n, 'S')
    await second.finish()
    await second.finish()
    expect(second.batches.flat().filter((name) => name !== '-')).toEqual(['2a', '1d'])
  })

  it('take sequences from the backlog when they come', () => {
    const { send, pool, scheduler } = sequenceRig(strategy, { instances: 0 })
    send('1a', 1n, 'S')
    send('1b', 1n)
    expect(scheduler.backlogSize).toBe(1)
    const instance = new HeldInstance()
    pool.add(instance)
    expect([scheduler.backlogSize, instance.batches]).toEqual([0, [['1a']]])
  })

  it('keep the sequences of one that is to leave to their end', async () => {
    const { send, instances, scheduler } = sequenceRig(strategy, { instances: 2 })
    const [first, second] = [instances[0]!, instances[1]!]
    send('1a', 1n, 'S')
    let isGone = false
    const gone = scheduler.retire(first).then(() => { isGone = true })
    send('2a', 2n, 'S')
    send('3a', 3n, 'S')
    await first.finish()
    send('1b', 1n)
    await first.finish()
    expect(isGone).toBe(false)
    send('1c', 1n, 'E')
    await turns()
    expect(isGone).toBe(false)
    await first.finish()
    await gone
    expect(first.batches).toEqual([['1a'], ['1b'], ['1c']])
    expect(second.batches[0]).toEqual(['2a'])
  })

  it('let one leave when its last sequence idles out', async () => {
    const { send, instance, scheduler, clock } = sequenceRig(strategy)
    send('1a', 1n, 'S')
    await instance.finish()
    const gone = scheduler.retire(instance)
    clock.advance(1e9)
    await gone
  })

  it('let one without sequences leave at once', async () => {
    const { scheduler, instance } = sequenceRig(strategy)
    await scheduler.retire(instance)
    await scheduler.retire(new HeldInstance())
  })

  it('fail all that waits when none is left', async () => {
    const { send, scheduler, instance, endOf } = sequenceRig(strategy, { maxBatchSize: 1 })
    send('1a', 1n, 'S')
    send('1b', 1n)
    for (const id of [2n, 3n, 4n, 5n]) send(`${id}a`, id, 'S')
    scheduler.failWaiting(new Error('no instance left'))
    expect(['1b', '2a', '5a'].map(endOf)).toEqual(Array(3).fill('OTHER no instance left'))
    expect(() => send('1c', 1n)).toThrow(START_TEXT('1'))
    await instance.finish()
    expect(endOf('1a')).toBe('ok')
    send('6', 6n, 'S')
    expect(instance.batches.at(-1)).toEqual(['6'])
  })
})

describe.each(['', 'oldest { max_candidate_sequences: 4 }'])('under a rate limiter (%s)', (strategy) => {
  it('batches wait for the resource, and nobody is forgotten', async () => {
    const { send, instances, settled } = sequenceRig(strategy, { instances: 2, limiter: new RateLimiter() })
    for (const id of [1n, 2n, 3n, 4n]) for (const flags of ['S', '', 'E']) send(`${id}${flags}`, id, flags)
    for (let round = 0; round < 20; round++) {
      expect(instances.filter((instance) => instance.isRunning).length).toBeLessThanOrEqual(1)
      for (const instance of instances) await instance.finish()
    }
    expect(settled).toHaveLength(12)
  })

  it('a request cancelled while its batch waits for the resource does not run', async () => {
    const { send, instances, scheduler, endOf } = sequenceRig(strategy, { instances: 2, limiter: new RateLimiter() })
    send('a', 1n, 'S')
    const b = send('b', 2n, 'S')
    scheduler.cancel(b)
    expect(endOf('b')).toBe('CANCELED ')
    for (let round = 0; round < 3; round++) for (const instance of instances) await instance.finish()
    send('c', 3n, 'S')
    for (let round = 0; round < 3; round++) for (const instance of instances) await instance.finish()
    expect(instances.map((instance) => instance.batches)).toEqual([[['a']], [['c']]])
  })
})

/** A batch of somebody else that keeps an instance busy. */
function foreignPayload(instance: HeldInstance): Payload {
  const payload = new Payload(instance)
  payload.add(new InflightRequest({
    id: 'foreign', inputs: [], requestedOutputs: [], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, onSettled: () => {},
  }))
  return payload
}
