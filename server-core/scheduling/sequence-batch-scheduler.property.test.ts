import { describe, it } from 'vitest'
import type { Tensor } from '../contract/inference.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import type { InflightRequest } from './inflight-request.ts'
import type { Sequence, SequenceState } from './sequence.ts'
import { type HeldInstance, sequenceRig, turns, valueOf } from './test-sequence-rig.ts'

const RUNS = 2000
const STEPS = 50

function randomOf(seed: number) {
  const below = randomNumbers(seed)
  return { below, chance: (percent: number) => below(100) < percent, oneOf: <T>(values: readonly T[]): T => values[below(values.length)]! }
}

/** Much faster than `expect`, which would be called a million times. */
function check(isRight: boolean, what: string): void { if (!isRight) throw new Error(what) }

const int32 = (name: string, value: number): Tensor => ({ name, datatype: 'INT32', shape: [1, 1], data: new Uint8Array(Int32Array.of(value).buffer) })
const STATE: SequenceState = { outputName: 'SUM_OUT', initial: int32('SUM_IN', 0) }

/** One request that the batcher accepted, as the test remembers it. */
interface Sent { readonly name: string; readonly request: InflightRequest; readonly sequence: Sequence; readonly value: number; readonly starts: boolean }
interface Executed { readonly sent: Sent; readonly instance: HeldInstance; readonly row: number; readonly batch: number; readonly sum: number }

async function run(seed: number): Promise<void> {
  const random = randomOf(seed)
  const isDirect = random.chance(50)
  const maxBatchSize = random.oneOf([1, 2, 3, 4])
  const slots = isDirect ? maxBatchSize : random.oneOf([1, 2, 5])
  const delay = random.oneOf([0, 0, 200])
  const strategy = isDirect
    ? `direct { max_queue_delay_microseconds: ${delay} minimum_slot_utilization: ${random.oneOf([0, 0.5, 1])} }`
    : `oldest { max_candidate_sequences: ${slots} max_queue_delay_microseconds: ${delay} }`
  const sent = new Map<string, Sent>()
  const executed: Executed[] = []
  const rig = sequenceRig(`${strategy} max_sequence_idle_microseconds: 2000`, {
    maxBatchSize, instances: 1 + random.below(3), states: [STATE], ...(random.chance(50) ? { shapeRule: (request) => request.inputs[0]!.shape.join() } : {}),
  })
  for (const instance of rig.instances) {
    instance.execution = (request) => {
      if (request.isNull) {
        request.respond([])
        return
      }
      const sum = Number(valueOf(request.inputs, 'SUM_IN')) + Number(valueOf(request.inputs, 'INPUT'))
      const row = instance.rows.at(-1)!.findIndex((candidate) => candidate.id === request.id)
      executed.push({ sent: sent.get(request.id)!, instance, row, batch: instance.batches.length, sum })
      request.updateState(int32('SUM_OUT', sum))
      request.respond([int32('OUTPUT', sum)])
    }
  }
  const away = new Set<HeldInstance>()
  const ids: readonly (bigint | string)[] = [1n, 2n, 3n, '1', 'two', 9n, 10n]
  let count = 0

  for (let step = 0; step < STEPS; step++) {
    const kind = random.below(100)
    if (kind < 55) {
      const name = `r${count++}`
      const starts = random.chance(35)
      const value = 1 + random.below(1000)
      const flags = `${starts ? 'S' : ''}${random.chance(20) ? 'E' : ''}`
      const more = { value, columns: random.chance(20) ? 2 : 1, timeoutMicroseconds: random.chance(20) ? 300 : 0 }
      const id = random.oneOf(ids)
      try {
        const request = rig.send(name, id, flags, more)
        sent.set(name, { name, request, sequence: request.sequenceHooks as Sequence, value, starts })
      } catch (error) {
        check(!starts && (error as Error).message.includes(`sequence ${id} to model 'm' must specify the START flag`), `${name}: ${(error as Error).message}`)
      }
    } else if (kind < 85) {
      await random.oneOf(rig.instances).finish()
    } else if (kind < 92) {
      rig.clock.advanceMicroseconds(random.oneOf([50, 200, 700, 2500]))
    } else if (kind < 96) {
      const open = [...sent.values()].filter(({ request }) => !request.isSettled)
      if (open.length > 0) rig.scheduler.cancel(random.oneOf(open).request)
    } else if (kind < 98) {
      const instance = random.oneOf(rig.instances)
      if (away.has(instance)) {
        away.delete(instance)
        rig.pool.add(instance)
      } else if (instance.isRunning) {
        away.add(instance)
        const crash = instance.crash(new Error('crashed'))
        rig.pool.remove(instance)
        await crash
      }
    } else if (rig.instances.length - away.size > 1) {
      const instance = random.oneOf(rig.instances)
      if (away.has(instance)) continue
      away.add(instance)
      void rig.scheduler.retire(instance).then(() => { rig.pool.remove(instance) })
      await turns()
    }
  }

  // The end: everybody comes back, everything runs out.
  for (let round = 0; round < 300; round++) {
    for (const instance of rig.instances) rig.pool.add(instance)
    for (const instance of rig.instances) await instance.finish()
    rig.clock.advanceMicroseconds(500)
    if (rig.scheduler.backlogSize === 0 && rig.clock.timerCount === 0 && !rig.instances.some((instance) => instance.isRunning)) break
  }
  const unanswered = [...sent.values()].filter(({ request }) => !request.isSettled).map(({ name }) => name)
  check(unanswered.length === 0 && rig.settled.length === sent.size, `unanswered: ${unanswered.join()}`)
  check(rig.clock.timerCount === 0, 'a timer is left')
  check(rig.instances.every((instance) => instance.batches.every((batch) => batch.length <= maxBatchSize)), 'a batch is too large')

  const bySequence = Map.groupBy(executed, ({ sent: { sequence } }) => sequence)
  const order = new Map([...sent.keys()].map((name, index) => [name, index]))
  for (const runs of bySequence.values()) {
    const names = runs.map(({ sent: { name } }) => name).join()
    check(new Set(runs.map(({ instance }) => instance)).size === 1, `on two instances: ${names}`)
    check(new Set(runs.map(({ batch }) => batch)).size === runs.length, `two in one batch: ${names}`)
    check(!isDirect || new Set(runs.map(({ row }) => row)).size === 1, `in two rows: ${names}`)
    let sum = 0
    let last = -1
    for (const execution of runs) {
      const position = order.get(execution.sent.name) ?? -1
      check(position > last, `out of order: ${names}`)
      last = position
      sum = (execution.sent.starts ? 0 : sum) + execution.sent.value
      check(execution.sum === sum, `${execution.sent.name} of ${names} has the sum ${execution.sum}, expected ${sum}`)
    }
  }
  if (isDirect) checkOwnSlots(rig.instances, executed)
}

/** No row of an instance goes back to a sequence after another one had it. */
function checkOwnSlots(instances: readonly HeldInstance[], executed: readonly Executed[]): void {
  const owners = Map.groupBy(executed, ({ instance, row }) => `${instances.indexOf(instance)}:${row}`)
  for (const [slot, runs] of owners) {
    const gone = new Set<Sequence>()
    let owner: Sequence | null = null
    for (const { sent: { sequence, name } } of runs) {
      if (sequence === owner) continue
      if (owner !== null) gone.add(owner)
      check(!gone.has(sequence), `${name} shares slot ${slot}`)
      owner = sequence
    }
  }
}

describe('SequenceBatchScheduler, any requests', () => {
  it(`answers each once, in order, on its own slot, with its own state (${RUNS} random runs)`, { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      try {
        await run(seed)
      } catch (error) {
        throw new Error(`run with seed ${seed} failed: ${(error as Error).message}`, { cause: error })
      }
    }
  })
})
