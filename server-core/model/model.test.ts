import { describe, expect, it } from 'vitest'
import type { BackendInstanceContext, BackendModel, BackendModelInstance, BackendRequest } from '../backends/backend.ts'
import type { InferenceRequest } from '../contract/inference.ts'
import type { ModelInstanceReport } from '../contract/repository.ts'
import type { InferenceCall } from '../inference-server.ts'
import { LogHub } from '../logger.ts'
import { ModelStatistics } from '../metrics/model-statistics.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from '../model-config/normalize.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { RateLimiter } from '../scheduling/rate-limiter.ts'
import { ServerError } from '../server-error.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { floatsOf, fp32, requestOf } from '../testing/test-server.ts'
import { isParallelLoadingAsked } from './instance-groups.ts'
import { Model, type ModelOptions } from './model.ts'

const SECOND = 1e9
const times = { executeStart: 1, computeStart: 2, computeEnd: 3, executeEnd: 4 }

/** One instance as the backend sees it; its executions end when the test says so. */
class Copy implements BackendModelInstance {
  readonly context: BackendInstanceContext
  readonly batches: (readonly BackendRequest[])[] = []
  report: ModelInstanceReport | null = null
  isFinalized = false
  #end: (() => void) | null = null
  #die: (error: Error) => void = () => {}

  constructor(context: BackendInstanceContext) { this.context = context }

  get isBusy(): boolean { return this.#end !== null }

  async execute(requests: readonly BackendRequest[]) {
    if (this.#end !== null) throw new Error('two executions at a time')
    this.batches.push(requests)
    await new Promise<void>((resolve) => { this.#end = resolve })
    for (const request of requests) request.respond([{ ...request.inputs[0]!, name: 'Y' }])
    return times
  }

  async finish(): Promise<void> {
    const end = this.#end
    this.#end = null
    end?.()
    await settle()
  }

  onDeath(listener: (error: Error) => void): void { this.#die = listener }
  die(reason: string | Error): void { this.#die(typeof reason === 'string' ? new Error(reason) : reason) }
  async finalize(): Promise<void> { this.isFinalized = true }
}

class CountingBackend implements BackendModel {
  readonly config
  readonly copies: Copy[] = []
  /** What creating an instance waits for, and whether it fails. */
  gate: () => Promise<void> = () => Promise.resolve()
  creating = 0
  mostCreating = 0

  constructor(config: BackendModel['config']) { this.config = config }

  async initializeInstance(context: BackendInstanceContext): Promise<Copy> {
    this.mostCreating = Math.max(this.mostCreating, ++this.creating)
    try {
      await this.gate()
    } finally {
      this.creating--
    }
    const copy = new Copy(context)
    this.copies.push(copy)
    return copy
  }

  async finalize(): Promise<void> {}

  get alive(): Copy[] { return this.copies.filter((copy) => !copy.isFinalized) }
}

const settle = async () => { for (let turn = 0; turn < 20; turn++) await Promise.resolve() }

function configOf(groups: string) {
  return normalizeInstanceGroups(normalizeModelConfig(readModelConfig(`name: "m" backend: "identity" input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
    output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ${groups}`, 'config.pbtxt')), { gpuCount: 0 })
}

const groupsOf = (groups: string) => configOf(groups).instance_group

async function setUp(groups: string, more: Partial<ModelOptions> = {}) {
  const config = configOf(groups)
  const backend = new CountingBackend(config)
  const clock = new FakeClock()
  const model = new Model({
    version: '1', config, backendModel: backend, findMember: null, labels: new Map(), warmUp: [], rateLimiter: null, hostPolicies: {}, createsInstancesInParallel: false,
    statistics: new ModelStatistics('m', '1'), clock, log: new LogHub().logger('test'), onInstancesChanged: () => {}, ...more,
  })
  const ask = (value: number, more: Partial<InferenceRequest> = {}) => model.infer(requestOf('m', [fp32('X', [1], [value])], more), clock.now(), {})
  return { model, backend, clock, ask }
}

const valueOf = async (answer: ReturnType<Model['infer']>) => floatsOf((await answer).response.outputs[0])[0]

describe('the instances of a model', () => {
  it('are those of the groups, in their order, passive ones too', async () => {
    const { model, backend } = await setUp('instance_group [ { name: "a" count: 2 kind: KIND_CPU }, { count: 1 kind: KIND_MODEL }, { name: "spare" kind: KIND_CPU passive: true } ]')
    await model.start()
    expect(backend.copies.map(({ context }) => [context.name, context.index, context.kind, context.isPassive])).toEqual([
      ['a_0', 0, 'KIND_CPU', false], ['a_1', 1, 'KIND_CPU', false], ['m_1_0', 2, 'KIND_MODEL', false], ['spare_0', 3, 'KIND_CPU', true],
    ])
    expect(model.instanceCount).toBe(3)
    await model.stop()
    expect(backend.alive).toEqual([])
  })

  it('execute unless they are passive', async () => {
    const { model, backend, ask } = await setUp('instance_group [ { kind: KIND_CPU passive: true }, { kind: KIND_CPU } ]')
    await model.start()
    const answers = [ask(1), ask(2)]
    await settle()
    await backend.copies[1]!.finish()
    await backend.copies[1]!.finish()
    expect([await valueOf(answers[0]!), await valueOf(answers[1]!)]).toEqual([1, 2])
    expect(backend.copies.map(({ batches }) => batches.length)).toEqual([0, 2])
  })

  it('run no request whose caller called it off while it waited', async () => {
    const { model, backend, ask, clock } = await setUp('instance_group { kind: KIND_CPU }')
    await model.start()
    const running = ask(1)
    const calls: InferenceCall[] = []
    const waiting = model.infer(requestOf('m', [fp32('X', [1], [2])]), clock.now(), { onCall: (call) => { calls.push(call) } })
    calls[0]?.cancel()
    await expect(waiting).rejects.toMatchObject({ kind: 'CANCELLED' })
    await backend.copies[0]!.finish()
    expect([await valueOf(running), calls.length, backend.copies[0]!.batches.length]).toEqual([1, 1, 1])
  })

  it('have requests in flight that the samples tell from waiting ones', async () => {
    const statistics = new ModelStatistics('m', '1')
    const { model, backend, ask } = await setUp('instance_group { kind: KIND_CPU }', { statistics })
    await model.start()
    const answers = [ask(1), ask(2), ask(3)]
    await settle()
    expect(statistics.takeSample()).toMatchObject({ inFlight: 1, pending: 2 })
    for (const _answer of answers) await backend.copies[0]!.finish()
    await Promise.all(answers)
    expect(statistics.takeSample()).toMatchObject({ success: 3, inFlight: 0, pending: 0 })
  })

  it('that are all passive refuse requests with the reason', async () => {
    const { model, ask } = await setUp('instance_group { kind: KIND_CPU passive: true }')
    await model.start()
    expect([model.isServing, model.instanceCount]).toEqual([true, 0])
    await expect(ask(1)).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: "model 'm' version 1 has passive instances only, which never execute. Add an instance_group without passive" })
  })

  it.each<[string, boolean, number]>([['one after another', false, 1], ['at the same time where the backend or the environment says so', true, 3]])('are made %s', async (_name, createsInstancesInParallel, most) => {
    const { model, backend } = await setUp('instance_group { count: 3 kind: KIND_CPU }', { createsInstancesInParallel })
    await model.start()
    expect(backend.mostCreating).toBe(most)
    expect(backend.copies.map(({ context }) => context.name)).toEqual(['m_0_0', 'm_0_1', 'm_0_2'])
  })

  it.each<[string | undefined, boolean]>([['1', true], ['0', false], ['', false], [undefined, false]])('TRITON_PARALLEL_INSTANCE_LOADING=%s', (value, expected) => {
    expect(isParallelLoadingAsked({ TRITON_PARALLEL_INSTANCE_LOADING: value })).toBe(expected)
  })

  it.each([false, true])('are all freed when one cannot be made (parallel: %s)', async (createsInstancesInParallel) => {
    const { model, backend } = await setUp('instance_group { count: 3 kind: KIND_CPU }', { createsInstancesInParallel })
    let made = 0
    backend.gate = async () => { if (++made === 2) throw new Error('no memory') }
    await expect(model.start()).rejects.toThrow('no memory')
    expect(backend.copies.length).toBe(createsInstancesInParallel ? 2 : 1)
    expect(backend.alive).toEqual([])
  })

  it('that could never get their resources fail the load, and take nothing with them', async () => {
    const limiter = new RateLimiter([{ name: 'R', count: 2, device: null }])
    const { model, backend } = await setUp('instance_group [ { kind: KIND_CPU rate_limiter { resources { name: "R" count: 2 } } }, { kind: KIND_CPU rate_limiter { resources { name: "R" count: 3 } } } ]', { rateLimiter: limiter })
    await expect(model.start()).rejects.toMatchObject({
      kind: 'INVALID_ARG', message: 'Resource count for "R" is limited to 2 which will prevent scheduling of one or more model instances, the minimum required count is 3',
    })
    expect(backend.alive).toEqual([])
    expect(limiter.limitOf('R', 0)).toBe(0)
  })

  it('share resources with other models', async () => {
    const limiter = new RateLimiter()
    const group = 'instance_group { kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } } }'
    const models = [await setUp(group, { rateLimiter: limiter }), await setUp(group, { rateLimiter: limiter })]
    for (const { model } of models) await model.start()
    const answers = models.map(({ ask }) => ask(7))
    await settle()
    expect(models.map(({ backend }) => backend.copies[0]!.isBusy)).toEqual([true, false])
    await models[0]!.backend.copies[0]!.finish()
    expect(models.map(({ backend }) => backend.copies[0]!.isBusy)).toEqual([false, true])
    await models[1]!.backend.copies[0]!.finish()
    expect(await Promise.all(answers.map(valueOf))).toEqual([7, 7])
  })
})

describe('the end of a sequence model', () => {
  it('does not wait for sequences that nobody can continue', async () => {
    const { model, backend, ask, clock } = await setUp('', { config: configOf('instance_group { kind: KIND_CPU } sequence_batching { max_sequence_idle_microseconds: 3600000000 }') })
    await model.start()
    const first = ask(1, { sequenceId: 1n, sequenceStart: true })
    await settle()
    await backend.copies[0]!.finish()
    expect(await valueOf(first)).toBe(1)
    const behind = ask(2, { sequenceId: 2n, sequenceStart: true })
    const stopped = model.stop()
    await settle()
    await backend.copies[0]!.finish()
    expect(await valueOf(behind)).toBe(2)
    await stopped
    expect([backend.alive, clock.timerCount]).toEqual([[], 0])
  })
})

describe('an update of the instances in place', () => {
  it.each<[string, string, string, number, number]>([
    ['more of the same', 'instance_group { count: 1 kind: KIND_CPU }', 'instance_group { count: 3 kind: KIND_CPU }', 1, 2],
    ['fewer', 'instance_group { count: 3 kind: KIND_CPU }', 'instance_group { count: 1 kind: KIND_CPU }', 1, 0],
    ['another name only', 'instance_group { name: "a" count: 2 kind: KIND_CPU }', 'instance_group { name: "b" count: 2 kind: KIND_CPU }', 2, 0],
    ['one group made two of the same kind', 'instance_group { count: 3 kind: KIND_CPU }', 'instance_group [ { count: 1 kind: KIND_CPU }, { count: 2 kind: KIND_CPU } ]', 3, 0],
    ['another kind', 'instance_group { count: 2 kind: KIND_CPU }', 'instance_group { count: 2 kind: KIND_MODEL }', 0, 2],
    ['another host policy', 'instance_group { count: 1 kind: KIND_CPU }', 'instance_group { count: 1 kind: KIND_CPU host_policy: "p" }', 0, 1],
    ['other resources', 'instance_group { count: 1 kind: KIND_CPU }', 'instance_group { count: 1 kind: KIND_CPU rate_limiter { priority: 2 } }', 0, 1],
    ['now passive', 'instance_group { count: 2 kind: KIND_CPU }', 'instance_group [ { count: 1 kind: KIND_CPU }, { count: 1 kind: KIND_CPU passive: true } ]', 1, 1],
  ])('keeps what fits: %s', async (_name, before, after, kept, created) => {
    const { model, backend } = await setUp(before)
    await model.start()
    const old = new Set(backend.copies)
    await model.updateInstances(groupsOf(after), undefined)
    expect([backend.alive.filter((copy) => old.has(copy)).length, backend.copies.length - old.size]).toEqual([kept, created])
    expect(model.config.instance_group).toEqual(groupsOf(after))
  })

  it('lets requests flow while new instances are made, and uses these after that', async () => {
    const { model, backend, ask } = await setUp('instance_group { count: 1 kind: KIND_CPU }')
    await model.start()
    const { promise, resolve } = Promise.withResolvers<void>()
    backend.gate = () => promise
    const answers = [ask(1), ask(2), ask(3)]
    const update = model.updateInstances(groupsOf('instance_group { count: 2 kind: KIND_CPU }'), undefined)
    await settle()
    await backend.copies[0]!.finish()
    expect(await valueOf(answers[0]!)).toBe(1)
    resolve()
    await update
    await settle()
    expect(backend.copies.map((copy) => copy.isBusy)).toEqual([true, true])
    for (const copy of backend.copies) await copy.finish()
    expect(await Promise.all(answers.slice(1).map(valueOf))).toEqual([2, 3])
  })

  it('lets a surplus instance end its batch, and gives it no other', async () => {
    const { model, backend, ask } = await setUp('instance_group { count: 2 kind: KIND_CPU }')
    await model.start()
    const answers = [1, 2, 3, 4].map((value) => ask(value))
    await settle()
    let isUpdated = false
    const update = model.updateInstances(groupsOf('instance_group { count: 1 kind: KIND_CPU }'), undefined).then(() => { isUpdated = true })
    await settle()
    expect(isUpdated).toBe(false)
    const [kept, surplus] = backend.copies
    await surplus!.finish()
    await update
    expect([surplus!.isFinalized, surplus!.batches.length]).toEqual([true, 1])
    for (let batch = 0; batch < 3; batch++) await kept!.finish()
    expect(await Promise.all(answers.map(valueOf))).toEqual([1, 2, 3, 4])
  })

  it('changes nothing when an instance cannot be made', async () => {
    const { model, backend, ask } = await setUp('instance_group { count: 1 kind: KIND_CPU }')
    await model.start()
    const before = model.config
    let made = 0
    backend.gate = async () => { if (++made === 2) throw new Error('no memory') }
    await expect(model.updateInstances(groupsOf('instance_group { count: 3 kind: KIND_CPU }'), undefined)).rejects.toThrow('no memory')
    expect(model.config).toBe(before)
    expect(backend.alive).toEqual([backend.copies[0]])
    const answer = ask(5)
    await settle()
    await backend.copies[0]!.finish()
    expect(await valueOf(answer)).toBe(5)
  })

  it.each(['', 'dynamic_batching { }', 'sequence_batching { }'])('that leaves only passive ones answers what waits, so that the model can end: %s', async (scheduling) => {
    const { model, backend, ask } = await setUp('instance_group { kind: KIND_CPU }', { config: configOf(`instance_group { kind: KIND_CPU } ${scheduling}`) })
    await model.start()
    const ends = [1, 2, 3, 4].map((value) => ask(value, { sequenceId: BigInt(value), sequenceStart: true }).then(() => 'answered', (error: unknown) => (error as Error).message))
    await settle()
    const update = model.updateInstances(groupsOf('instance_group { kind: KIND_CPU passive: true }'), undefined)
    await settle()
    await backend.copies[0]!.finish()
    await update
    if (scheduling.startsWith('sequence')) {
      // The sequence that has the slot keeps the instance until its end.
      const last = ask(5, { sequenceId: 1n, sequenceEnd: true })
      await settle()
      await backend.copies[0]!.finish()
      expect(await valueOf(last)).toBe(5)
    }
    const refusal = "model 'm' version 1 has passive instances only, which never execute. Add an instance_group without passive"
    expect(await Promise.all(ends)).toEqual(['answered', refusal, refusal, refusal])
    expect([model.inflightCount, model.statistics.pending]).toEqual([0, 0])
    await model.stop()
    expect(backend.alive).toEqual([])
  })

  it('keeps those that run before those that start again', async () => {
    const { model, backend } = await setUp('instance_group { count: 2 kind: KIND_CPU }')
    await model.start()
    backend.copies[0]!.die('gone')
    await model.updateInstances(groupsOf('instance_group { count: 1 kind: KIND_CPU }'), undefined)
    expect([model.instanceCount, model.trouble, backend.alive]).toEqual([1, '', [backend.copies[1]]])
  })

  it('goes on when a kept instance dies meanwhile: it starts again beside the new one', async () => {
    const { model, backend, clock } = await setUp('instance_group { count: 1 kind: KIND_CPU }')
    await model.start()
    backend.gate = async () => { if (backend.copies.length === 1) backend.copies[0]!.die('gone') }
    await model.updateInstances(groupsOf('instance_group { count: 2 kind: KIND_CPU }'), undefined)
    expect([model.instanceCount, model.trouble]).toEqual([1, '1 of 2 instances start again: gone'])
    clock.advance(1 * SECOND)
    await settle()
    expect([model.instanceCount, model.trouble]).toEqual([2, ''])
  })

  it('brings a model back whose last instance was given up meanwhile', async () => {
    const { model, backend, clock, ask } = await setUp('instance_group { count: 1 kind: KIND_CPU }')
    await model.start()
    for (const seconds of [1, 2, 4, 8, 8]) {
      backend.copies.at(-1)!.die('gone')
      clock.advance(seconds * SECOND)
      await settle()
    }
    const last = backend.copies.at(-1)!
    let refusal: unknown = null
    backend.gate = async () => {
      if (last.isFinalized) return
      last.die('gone for good')
      refusal = await ask(1).catch((error: unknown) => error)
    }
    await model.updateInstances(groupsOf('instance_group { count: 2 kind: KIND_CPU }'), undefined)
    expect(refusal).toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringContaining('has no running instance left') as string })
    const answer = ask(2)
    await settle()
    await backend.copies.at(-1)!.finish()
    expect(await valueOf(answer)).toBe(2)
  })

  it('lets requests wait for a card for half a minute, refuses them from then on with the cause, and serves again as soon as the card answers', async () => {
    const { model, backend, clock, ask } = await setUp('instance_group { count: 1 kind: KIND_CPU }')
    await model.start()
    const lost = new ServerError('UNAVAILABLE', 'Device 1: running failed with 507901 SOCKET_CLOSE: the card is lost')
    backend.copies[0]!.report = { runs_on: 'npu', device: 1 }
    backend.gate = () => Promise.reject(lost)
    backend.copies[0]!.die(lost)
    expect(model.placement.runsOn).toBe('NPU 1')
    const waiting = ask(1).catch((error: unknown) => error)
    for (const seconds of [1, 2, 4, 8, 16]) {
      clock.advance(seconds * SECOND)
      await settle()
    }
    const refusal = { kind: 'UNAVAILABLE', message: `model 'm' version 1 has no running instance: its card is at fault. It is started again by itself as soon as the card allows it. The last instance failed with: ${lost.message}` }
    expect(await waiting).toMatchObject(refusal)
    expect(await ask(2).catch((error: unknown) => error)).toMatchObject(refusal)
    expect([model.trouble, model.isServing]).toEqual([`1 of 1 instances start again: ${lost.message}`, false])
    backend.gate = () => Promise.resolve()
    model.cardsAnswer((device) => device === 1)
    await settle()
    const answer = ask(3)
    await settle()
    await backend.copies.at(-1)!.finish()
    expect(await valueOf(answer)).toBe(3)
  })

  it('holds under load: every request is answered once while counts go up and down', async () => {
    const { model, backend, ask } = await setUp('instance_group { count: 2 kind: KIND_CPU }')
    await model.start()
    const answers: Promise<number | undefined>[] = []
    let isUpdating = true
    const load = (async () => {
      for (let value = 0; value < 500 || isUpdating; value++) {
        answers.push(valueOf(ask(value)))
        await backend.alive.filter((copy) => copy.isBusy)[value % 3]?.finish()
      }
    })()
    for (const count of [5, 1, 3, 4, 2, 1, 6]) await model.updateInstances(groupsOf(`instance_group { count: ${count} kind: KIND_CPU }`), undefined)
    isUpdating = false
    await load
    while (backend.alive.some((copy) => copy.isBusy)) for (const copy of backend.alive) await copy.finish()
    expect(await Promise.all(answers)).toEqual(answers.map((_answer, value) => value))
    expect([backend.alive.length, model.instanceCount, model.inflightCount]).toEqual([6, 6, 0])
    const seen = backend.copies.flatMap((copy) => copy.batches.flatMap((batch) => batch.map((request) => floatsOf(request.inputs[0])[0])))
    expect(seen.toSorted((a, b) => a! - b!)).toEqual(answers.map((_answer, value) => value))
  })
})
