/** Random ensembles against a direct evaluation of their graph. */
import { describe, expect, it } from 'vitest'
import { ServerError } from '../server-error.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import { ensemble, EnsembleRig, int32, MILLISECOND, model, step, tensor, valuesOf, type MemberCall } from './test-ensemble-rig.ts'

interface RandomStep {
  readonly index: number
  /** Ensemble tensors. */
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  readonly delayNanoseconds: number
}

interface RandomGraph {
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly steps: readonly RandomStep[]
  readonly config: string
  readonly members: Readonly<Record<string, string>>
}

function randomGraph(random: (limit: number) => number): RandomGraph {
  const inputs = Array.from({ length: 1 + random(3) }, (_unused, index) => `IN${index}`)
  const tensors = [...inputs]
  const steps = Array.from({ length: 1 + random(8) }, (_unused, index): RandomStep => {
    // A tensor that is read twice by one step is one of the cases.
    const reads = Array.from({ length: 1 + random(3) }, () => tensors[random(tensors.length)] as string)
    const writes = Array.from({ length: 1 + random(2) }, (_unused2, output) => `T${index}_${output}`)
    tensors.push(...writes)
    return { index, reads, writes, delayNanoseconds: random(6) * MILLISECOND }
  })
  const read = new Set(steps.flatMap(({ reads }) => reads))
  const made = steps.flatMap(({ writes }) => writes)
  const outputs = made.filter((name) => !read.has(name) || random(4) === 0)
  // The order in the config says nothing: steps may come before those they depend on.
  const order = steps.toSorted(() => random(3) - 1)
  const placed = order.map((one, position) => ({ ...one, position }))
  const used = inputs.filter((name) => read.has(name))
  const numbered = (letter: string, names: readonly string[]) => names.map((name, index) => `${letter}${index}=${name}`).join(' ')
  return {
    inputs: used, outputs, steps: placed.map(({ position, ...one }) => ({ ...one, index: position })),
    config: ensemble(placed.map((one) => step(`m${one.position}`, numbered('I', one.reads), numbered('O', one.writes))).join(''), '',
      `input [ ${used.map((name) => tensor(name)).join(', ')} ] output [ ${outputs.map((name) => tensor(name)).join(', ')} ]`),
    members: Object.fromEntries(placed.map((one) => [`m${one.position}`,
      model(one.reads.map((_unused, index) => tensor(`I${index}`)).join(', '), one.writes.map((_unused, index) => tensor(`O${index}`)).join(', '))])),
  }
}

/** What a step makes of its inputs: different for every step, output and order of inputs. */
function compute(stepIndex: number, inputs: readonly number[], output: number): number {
  return inputs.reduce((sum, value, index) => (Math.imul(sum, 31) + Math.imul(value, index + 1)) | 0, stepIndex * 7 + output)
}

interface Evaluation {
  readonly value: ReadonlyMap<string, number>
  /** When each tensor is there, and when each step begins, after the request. */
  readonly readyAt: ReadonlyMap<string, number>
  readonly beginsAt: ReadonlyMap<number, number>
  /** Steps that lead to an output asked for. */
  readonly needed: ReadonlySet<number>
}

/** By the definition, without any scheduler: recursion from the outputs asked for. */
function evaluate(graph: RandomGraph, given: ReadonlyMap<string, number>, requested: readonly string[]): Evaluation {
  const value = new Map(given)
  const readyAt = new Map([...given.keys()].map((name) => [name, 0]))
  const beginsAt = new Map<number, number>()
  const visit = (name: string): void => {
    if (value.has(name)) return
    const maker = graph.steps.find(({ writes }) => writes.includes(name)) as RandomStep
    maker.reads.forEach(visit)
    const inputs = maker.reads.map((read) => value.get(read) as number)
    const begin = Math.max(...maker.reads.map((read) => readyAt.get(read) as number))
    beginsAt.set(maker.index, begin)
    for (const [output, written] of maker.writes.entries()) {
      value.set(written, compute(maker.index, inputs, output))
      readyAt.set(written, begin + maker.delayNanoseconds)
    }
  }
  requested.forEach(visit)
  return { value, readyAt, beginsAt, needed: new Set(beginsAt.keys()) }
}

interface Run {
  readonly graph: RandomGraph
  readonly rig: EnsembleRig
  readonly begun: { readonly step: number; readonly at: number; readonly end: number }[]
  readonly start: number
}

/** @param failing step whose member fails instead of answering; -1: none */
function prepare(graph: RandomGraph, failing: number): Run {
  const begun: Run['begun'] = []
  const onCall = (call: MemberCall): boolean => {
    const index = Number(call.model.slice(1))
    const one = graph.steps[index] as RandomStep
    const now = rig.clock.now()
    begun.push({ step: index, at: now, end: now + one.delayNanoseconds })
    const inputs = one.reads.map((_unused, position) => valuesOf(call.request.inputs.find(({ name }) => name === `I${position}`))[0] as number)
    const answer = () => {
      if (index === failing) call.fail(new ServerError('INTERNAL', `step ${index}`))
      else call.answer(one.writes.map((_unused, output) => int32(`O${output}`, [1], [compute(index, inputs, output)])))
    }
    if (one.delayNanoseconds === 0) answer()
    else rig.clock.after(one.delayNanoseconds, answer)
    return true
  }
  const rig: EnsembleRig = new EnsembleRig(graph.config, graph.members, onCall)
  return { graph, rig, begun, start: rig.clock.now() }
}

function givenValues(graph: RandomGraph, random: (limit: number) => number): Map<string, number> {
  return new Map(graph.inputs.map((name) => [name, random(1000)]))
}

const tensorsOf = (given: ReadonlyMap<string, number>) => [...given].map(([name, value]) => int32(name, [1], [value]))

describe('random ensembles', () => {
  it('answer what a direct evaluation answers, run each needed step once and as early as can be', () => {
    let overlaps = 0
    let pruned = 0
    for (let seed = 0; seed < 2000; seed++) {
      const random = randomNumbers(seed)
      const graph = randomGraph(random)
      const given = givenValues(graph, random)
      const some = graph.outputs.filter(() => random(2) === 0)
      const requested = some.length === 0 || random(2) === 0 ? graph.outputs : some
      const expected = evaluate(graph, given, requested)
      const { rig, begun, start } = prepare(graph, -1)
      const asked = rig.ask(tensorsOf(given), { requestedOutputs: requested })
      rig.clock.advance(1000 * MILLISECOND)
      const what = `seed ${seed}: ${graph.config}`
      expect(asked.outcome?.kind, what).toBe('response')
      expect((asked.answers[0] ?? []).map((output) => [output.name, valuesOf(output)[0]]), what)
        .toEqual(graph.outputs.filter((name) => requested.includes(name)).map((name) => [name, expected.value.get(name)]))
      expect(begun.map((one) => one.step).toSorted((a, b) => a - b), what).toEqual([...expected.needed].toSorted((a, b) => a - b))
      for (const one of begun) expect(one.at - start, what).toBe(expected.beginsAt.get(one.step))
      expect([...rig.members.values()].every(({ holds }) => holds === 0), what).toBe(true)
      if (begun.some((a) => begun.some((b) => a.step !== b.step && a.at < b.end && b.at < a.end))) overlaps++
      if (expected.needed.size < graph.steps.length) pruned++
    }
    expect(overlaps).toBeGreaterThan(500)
    expect(pruned).toBeGreaterThan(200)
  })

  it('fail once, start nothing after the failure, and end when the running steps are done', () => {
    let waited = 0
    for (let seed = 0; seed < 1000; seed++) {
      const random = randomNumbers(seed + 100_000)
      const graph = randomGraph(random)
      const given = givenValues(graph, random)
      const failing = random(graph.steps.length)
      const { rig, begun, start } = prepare(graph, failing)
      let settledAt = -1
      let settledCount = 0
      const asked = rig.ask(tensorsOf(given), {
        requestedOutputs: graph.outputs,
        onSettled: (outcome) => {
          expect(outcome).toMatchObject({ kind: 'failure', error: { message: `in ensemble 'm', step ${failing}` } })
          settledAt = rig.clock.now()
          settledCount++
        },
      })
      rig.clock.advance(1000 * MILLISECOND)
      const what = `seed ${seed}: ${graph.config}`
      const failedAt = begun.find((one) => one.step === failing)?.end ?? NaN
      expect(settledCount, what).toBe(1)
      expect(asked.inflight.isSettled).toBe(true)
      for (const one of begun) expect(one.at, what).toBeLessThanOrEqual(failedAt)
      expect(settledAt, what).toBe(Math.max(...begun.map((one) => one.end)))
      if (settledAt > failedAt) waited++
      expect(rig.failedAgain, what).toBe(1)
      expect(failedAt, what).toBeGreaterThanOrEqual(start)
    }
    expect(waited).toBeGreaterThan(100)
  })

  it('give as many answers as a decoupled first step has responses, in their order, whatever is faster behind it', () => {
    for (let seed = 0; seed < 500; seed++) {
      const random = randomNumbers(seed + 200_000)
      const responses = Array.from({ length: random(12) }, () => random(1000))
      const limit = random(3)
      const one = model(tensor('I'), tensor('O'))
      const rig: EnsembleRig = new EnsembleRig(
        ensemble(`max_inflight_requests: ${limit} ${step('s', 'I=A', 'O=B')}${step('a', 'I=B', 'O=C')}${step('b', 'I=B', 'O=D')}${step('c', 'I=C J=D', 'O=Z')}`, 'model_transaction_policy { decoupled: true }'),
        { s: `${one} model_transaction_policy { decoupled: true }`, a: one, b: one, c: model(`${tensor('I')}, ${tensor('J')}`, tensor('O')) },
        (call) => {
          if (call.model === 's') {
            const gaps = responses.map(() => random(4) * MILLISECOND)
            const send = (index: number): void => {
              const value = responses[index]
              if (value === undefined) {
                call.complete()
                return
              }
              rig.clock.after(gaps[index] ?? 0, () => {
                void call.send([int32('O', [1], [value])])
                send(index + 1)
              })
            }
            send(0)
            return true
          }
          const sum = call.request.inputs.reduce((total, input) => total + (valuesOf(input)[0] ?? 0), call.model === 'a' ? 1 : 2)
          rig.clock.after(random(8) * MILLISECOND, () => { call.answer([int32('O', [1], [sum])]) })
          return true
        })
      const asked = rig.ask([int32('A', [1], [0])], { isDecoupled: true })
      rig.clock.advance(1000 * MILLISECOND)
      expect(asked.outcome?.kind, `seed ${seed}`).toBe('response')
      expect(asked.answers.map(([output]) => valuesOf(output)[0]), `seed ${seed}`).toEqual(responses.map((value) => 2 * value + 5))
      expect(rig.clock.timerCount).toBe(0)
    }
  })
})
