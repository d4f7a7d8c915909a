import { describe, expect, it } from 'vitest'
import type { Tensor } from '../contract/inference.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { SequenceState } from './sequence.ts'
import { sequenceRig, valueOf } from './test-sequence-rig.ts'

const int32 = (name: string, values: readonly number[], shape: readonly number[] = [1, values.length]): Tensor => (
  { name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) })

const SUM: SequenceState = { outputName: 'SUM_OUT', initial: int32('SUM_IN', [100]) }

/** An accumulator: SUM_OUT = SUM_IN + INPUT. */
function accumulate(request: InflightRequest): void {
  const sum = Number(valueOf(request.inputs, 'SUM_IN')) + Number(valueOf(request.inputs, 'INPUT'))
  request.updateState(int32('SUM_OUT', [sum]))
  request.respond([int32('OUTPUT', [sum])])
}

const outputOf = (rig: ReturnType<typeof sequenceRig>, name: string) => {
  const outcome = rig.outcomes.get(name)
  return outcome?.kind === 'response' ? valueOf(outcome.outputs ?? [], 'OUTPUT') : rig.endOf(name)
}

describe.each(['', 'oldest { max_candidate_sequences: 4 }'])('implicit states (%s)', (strategy) => {
  it('go from request to request of a sequence, and START resets them', async () => {
    const rig = sequenceRig(strategy, { states: [SUM], execution: accumulate })
    rig.send('a', 1n, 'S', { value: 1 })
    rig.send('x', 2n, 'S', { value: 50 })
    rig.send('b', 1n, '', { value: 2 })
    rig.send('c', 1n, 'S', { value: 3 })
    rig.send('y', 2n, 'E', { value: 5 })
    rig.send('d', 1n, 'E', { value: 4 })
    while (rig.instance.isRunning) await rig.instance.finish()
    expect(['a', 'b', 'c', 'd', 'x', 'y'].map((name) => outputOf(rig, name))).toEqual([101, 103, 103, 107, 150, 155])
  })

  it('belong to the sequence that has the slot now', async () => {
    const rig = sequenceRig(strategy, { maxBatchSize: 1, states: [SUM], execution: accumulate })
    rig.send('a', 1n, 'SE', { value: 1 })
    rig.send('b', 2n, 'S', { value: 2 })
    rig.send('c', 2n, 'E', { value: 3 })
    while (rig.instance.isRunning) await rig.instance.finish()
    expect(['a', 'b', 'c'].map((name) => outputOf(rig, name))).toEqual([101, 102, 105])
  })

  it('may grow, and states of different shapes do not share a batch', async () => {
    const growing = (request: InflightRequest) => {
      const given = request.inputs.find((input) => input.name === 'SUM_IN')!
      const columns = (given.shape[1] ?? 0) + 1
      request.updateState({ ...given, name: 'SUM_OUT', shape: [1, columns], data: new Uint8Array(4 * columns) })
      request.respond([])
    }
    const rig = sequenceRig(strategy, { states: [SUM], execution: growing })
    for (const id of [1n, 2n]) rig.send(`${id}a`, id, 'S')
    await rig.instance.finish()
    rig.send('1b', 1n)
    for (let round = 0; round < 4; round++) await rig.instance.finish()
    for (const batch of rig.instance.rows) {
      const shapes = new Set(batch.map((row) => row.inputs.find((input) => input.name === 'SUM_IN')!.shape.join()))
      expect(shapes.size).toBe(1)
    }
    expect(['1a', '2a', '1b'].map(rig.endOf)).toEqual(['ok', 'ok', 'ok'])
    expect(rig.instance.batches).toHaveLength(3)
  })

  it('are refused by name where the model has none of that name or type', async () => {
    const errors: string[] = []
    const tell = (call: () => void) => { try { call() } catch (error) { errors.push((error as Error).message) } }
    const execution = (request: InflightRequest) => {
      tell(() => { request.updateState(int32('OTHER', [1])) })
      tell(() => { request.updateState({ ...int32('SUM_OUT', [1]), datatype: 'FP32' }) })
      request.respond([])
    }
    for (const states of [[SUM], []]) {
      const rig = sequenceRig(strategy, { states, execution })
      rig.send('a', 1n, 'S')
      await rig.instance.finish()
    }
    const missing = (name: string) => `unable to add state '${name}'. State configuration is missing for model 'm'.`
    expect(errors).toEqual([
      "unable to add state 'OTHER'. Model 'm' has the states 'SUM_OUT'", "state 'SUM_OUT' of model 'm' has data type FP32, its configuration says INT32",
      missing('OTHER'), missing('SUM_OUT'),
    ])
  })

  it('do not keep the memory of a whole batch', async () => {
    const whole = new Uint8Array(4000)
    const rig = sequenceRig(strategy, {
      states: [SUM],
      execution: (request) => {
        request.updateState({ ...int32('SUM_OUT', [0]), data: whole.subarray(8, 12) })
        request.respond([])
      },
    })
    rig.send('a', 1n, 'S')
    await rig.instance.finish()
    rig.send('b', 1n)
    expect(rig.instance.rows[1]![0]!.inputs.find((input) => input.name === 'SUM_IN')!.data.buffer.byteLength).toBe(4)
  })
})

describe('null rows', () => {
  it('have zeros in the shapes of the states of their batch', async () => {
    const rig = sequenceRig('', { states: [SUM], execution: accumulate })
    rig.send('a', 1n, 'S')
    rig.send('b', 2n, 'S')
    await rig.instance.finish()
    const [empty] = rig.instance.rows[1]!
    expect(empty!.inputs).toEqual([int32('INPUT', [0]), int32('SUM_IN', [0])])
    await rig.instance.finish()
    expect(outputOf(rig, 'b')).toBe(102)
  })
})

describe.each(['', 'oldest { max_candidate_sequences: 1 }'])('iterative sequences (%s)', (strategy) => {
  const CONFIG = `${strategy} iterative_sequence: true
    control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
    control_input { name: "END" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } }`

  /** Counts INPUT down: puts the request back until its state is used up. */
  const countDown = (request: InflightRequest) => {
    const left = valueOf(request.inputs, 'START') === 1 ? Number(valueOf(request.inputs, 'INPUT')) : Number(valueOf(request.inputs, 'SUM_IN'))
    request.updateState(int32('SUM_OUT', [left - 1]))
    if (left > 1) request.reschedule()
    else request.respond([int32('OUTPUT', [left])])
  }

  const flags = (rig: ReturnType<typeof sequenceRig>, name: string) => rig.instance.rows.flatMap((rows) => rows
    .filter((row) => row.id === name).map((row) => [valueOf(row.inputs, 'START'), valueOf(row.inputs, 'END')]))

  it('need no id; a request put back comes again without its flags, and ends when it is answered', async () => {
    const rig = sequenceRig(CONFIG, { maxBatchSize: 1, states: [SUM], execution: countDown })
    const a = rig.send('a', 0n, '', { value: 3 })
    rig.send('b', '', '', { value: 2 })
    expect(a.sequenceId).toBe(1n << 63n)
    while (rig.instance.isRunning) await rig.instance.finish()
    expect([outputOf(rig, 'a'), outputOf(rig, 'b')]).toEqual([1, 1])
    expect(flags(rig, 'a')).toEqual([[1, 0], [0, 0], [0, 0]])
    expect(rig.instance.batches.flat().filter((name) => name === 'b')).toHaveLength(2)
    expect(rig.settled).toEqual(['a', 'b'])
  })

  it('keep their slot over END until they are answered', async () => {
    const rig = sequenceRig(CONFIG, { maxBatchSize: 1, states: [SUM], execution: countDown })
    rig.send('a', 5n, 'SE', { value: 2 })
    rig.send('b', 6n, 'SE', { value: 1 })
    while (rig.instance.isRunning) await rig.instance.finish()
    expect(flags(rig, 'a')).toEqual([[1, 1], [0, 0]])
    expect(rig.settled).toEqual(['a', 'b'])
  })

  it('go on behind a request put back with the next one of the client', async () => {
    const rig = sequenceRig(CONFIG, { states: [SUM], execution: countDown })
    rig.send('a', 5n, 'S', { value: 3 })
    rig.send('b', 5n, 'SE', { value: 1 })
    while (rig.instance.isRunning) await rig.instance.finish()
    expect(rig.instance.batches).toEqual([['a'], ['a'], ['a'], ['b']])
  })

  it('stop when the request was cancelled, and free the slot', async () => {
    const rig = sequenceRig(CONFIG, { maxBatchSize: 1, states: [SUM], execution: countDown })
    const a = rig.send('a', 0n, '', { value: 100 })
    await rig.instance.finish()
    rig.scheduler.cancel(a)
    rig.send('b', 0n, '', { value: 1 })
    await rig.instance.finish()
    await rig.instance.finish()
    expect([rig.endOf('a'), rig.endOf('b')]).toEqual(['CANCELED ', 'ok'])
  })

  it('do not idle while they go round', async () => {
    const rig = sequenceRig(`${CONFIG} max_sequence_idle_microseconds: 1000`, { states: [SUM], execution: countDown })
    rig.send('a', 5n, 'S', { value: 4 })
    for (let round = 0; round < 3; round++) {
      rig.clock.advanceMicroseconds(900)
      await rig.instance.finish()
    }
    rig.clock.advanceMicroseconds(900)
    rig.send('b', 5n, 'E')
  })

  it('that lose their instance while they run fail at the next round', async () => {
    const rig = sequenceRig(CONFIG, { states: [SUM], execution: countDown })
    rig.send('a', 5n, 'S', { value: 3 })
    rig.pool.remove(rig.instance)
    await rig.instance.finish()
    expect(rig.endOf('a')).toMatch(/^OTHER sequence 5 of model 'm' was ended/)
  })
})

describe('sequences of other models', () => {
  it('refuse to put a request back', async () => {
    const errors: string[] = []
    const rig = sequenceRig('', {
      execution: (request) => {
        try { request.reschedule() } catch (error) { errors.push((error as Error).message) }
        request.respond([])
      },
    })
    rig.send('a', 1n, 'S')
    await rig.instance.finish()
    expect(errors).toEqual(['Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.'])
  })

  it.each(['', 'oldest { max_candidate_sequences: 4 }'])('that are decoupled run on when an execution is over, answered or not (%s)', async (strategy) => {
    const open: InflightRequest[] = []
    const rig = sequenceRig(strategy, { execution: (request) => { if (!request.isNull) open.push(request) } })
    rig.send('a', 1n, 'S', { isDecoupled: true })
    rig.send('b', 1n, 'E', { isDecoupled: true })
    await rig.instance.finish()
    await rig.instance.finish()
    expect(rig.instance.batches).toEqual([['a'], ['b']])
    expect(rig.settled).toEqual([])
    for (const request of open.toReversed()) request.complete()
    expect(rig.settled).toEqual(['b', 'a'])
  })
})
