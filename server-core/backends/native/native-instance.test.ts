import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { collectGarbage } from '../../testing/collect-garbage.ts'
import type { BackendRequest } from '../backend.ts'
import { EVENT, RESPONSE_FINAL, type HostEvent, type HostRequest, type OnEvents, type TritonHost, type TritonHostConstructor } from './host-events.ts'
import { NativeHost } from './native-host.ts'
import { NativeInstance } from './native-instance.ts'

const INSTANCE = 7

/** A host whose backend does nothing by itself, and an instance in it. */
function setUp({ cancel = () => {}, hasSequences = true }: { readonly cancel?: TritonHost['cancel']; readonly hasSequences?: boolean } = {}) {
  const submitted: (requests: readonly HostRequest[], batch: number) => void = (requests, batch) => { onSubmit(requests, batch) }
  let onSubmit: typeof submitted = () => {}
  let tell: (events: readonly HostEvent[]) => void = () => {}
  class Host implements Partial<TritonHost> {
    constructor(_options: unknown, onEvents: OnEvents) {
      // Each whole: no number says more of it.
      tell = (events) => { onEvents(new Float64Array(events.length), events.length, [null, ...events]) }
    }
    submit(_instance: number, batch: number, requests: readonly HostRequest[]): void { submitted(requests, batch) }
    cancel(instance: number, request: number): void { cancel(instance, request) }
    removeInstance(): void {}
  }
  const logs = new LogHub()
  const unasked = () => { throw new Error('nothing is asked here') }
  const host = new NativeHost({
    TritonHost: Host as unknown as TritonHostConstructor, backendDirectories: [], logs, questions: { question: unasked, infer: unasked, cancelInfer: unasked },
  })
  const instance = new NativeInstance({
    host, token: INSTANCE, name: 'm_0', isDecoupled: false, hasSequences, clientShape: (_output, shape) => shape, countExecution: undefined, finalized: () => {},
  })
  return { instance, logs, tell: (...events: HostEvent[]) => { tell(events) }, onSubmit: (run: typeof submitted) => { onSubmit = run } }
}

function requestWith(inputs: readonly Tensor[], more: Partial<BackendRequest> = {}): BackendRequest {
  return {
    id: '', inputs, requestedOutputs: [], parameters: {}, batchSize: 1, isCancelled: false, onCancel: () => {}, sequenceId: 0n, sequenceStart: false, sequenceEnd: false,
    priority: 0n, timeoutMicroseconds: 0, isNull: false, respond: () => {}, fail: () => {}, send: () => {}, sendError: () => {}, complete: () => {}, reportTimes: () => {},
    updateState: () => {}, reschedule: () => {}, ...more,
  }
}

const input = (bytes: number): Tensor => ({ name: 'X', datatype: 'UINT8', shape: [1, bytes], data: new Uint8Array(bytes) })

/** What ends a request, and the batch of that number. */
function end(batch: number, requests: readonly number[]): HostEvent[] {
  return [
    ...requests.flatMap((token): HostEvent[] => [
      { kind: EVENT.response, token, flags: RESPONSE_FINAL, isEmpty: false, tensors: [], parameters: [] }, { kind: EVENT.requestReleased, token, flags: 1 },
    ]),
    { kind: EVENT.batchExecuted, token: batch },
  ]
}

describe('an instance of a backend library', () => {
  it('holds what it lends to the backend until that releases it, the zeros of a row without a request too', async () => {
    const { instance, tell, onSubmit } = setUp()
    const lent: WeakRef<Uint8Array>[] = []
    let ends: HostEvent[] = []
    onSubmit((requests, batch) => {
      lent.push(...requests.map(([, , , , , inputs]) => new WeakRef(inputs[3] as Uint8Array)))
      ends = end(batch, requests.map(([token]) => token))
    })
    const execution = instance.execute([requestWith([input(4096)]), requestWith([], { isNull: true })])
    await collectGarbage()
    expect(lent.map((memory) => memory.deref()?.byteLength)).toEqual([4096, 4096])
    tell(...ends)
    await execution
  })

  it.each([{ releasedFirst: true, calls: ['respond'] }, { releasedFirst: false, calls: ['holdInputs', 'respond'] }])('says of an answer whether the backend still has the inputs: %j', async ({ releasedFirst, calls }) => {
    const { instance, tell, onSubmit } = setUp({ hasSequences: false })
    const said: string[] = []
    onSubmit(([request], batch) => {
      const [response, released, executed] = end(batch, [request![0]]) as [HostEvent, HostEvent, HostEvent]
      setImmediate(() => { tell(response, ...(releasedFirst ? [released] : []), executed) })
      setImmediate(() => { if (!releasedFirst) tell(released) })
    })
    await instance.execute([requestWith([input(1)], { respond: () => { said.push('respond') }, holdInputs: () => { said.push('holdInputs') } })])
    expect(said).toEqual(calls)
  })

  it('passes a cancellation on while it leaves, and lets one be that comes after its end', async () => {
    const cancelled: number[][] = []
    let isGone = false
    const { instance, tell, onSubmit } = setUp({
      cancel: (...call) => {
        if (isGone) throw Object.assign(new Error('no instance has the token 7'), { code: 2 })
        cancelled.push(call)
      },
    })
    const cancels: (() => void)[] = []
    let batchToken = 0
    let token = 0
    onSubmit((requests, batch) => { [token, batchToken] = [requests[0]![0], batch] })
    const execution = instance.execute([requestWith([input(1)], { onCancel: (listener) => { cancels.push(listener) } })])
    const left = instance.finalize()
    cancels[0]!()
    expect(cancelled).toEqual([[INSTANCE, token]])
    isGone = true
    cancels[0]!()
    tell(...end(batchToken, [token]), { kind: EVENT.instanceRemoved, token: INSTANCE })
    await Promise.all([execution, left])
  })

  it('fails a request whose states did not come over: the next of its sequence would compute with old ones', async () => {
    const { instance, tell, onSubmit } = setUp()
    onSubmit(([request], batch) => {
      const [response, , executed] = end(batch, [request![0]])
      const released: HostEvent = { kind: EVENT.requestReleased, token: request![0], flags: 1, errorCode: 1, errorMessage: 'a buffer may have what memory there is' }
      setImmediate(() => { tell({ ...response!, tensors: ['Y', 2, [1], Uint8Array.of(1)] } as HostEvent, released, executed!, { kind: EVENT.instanceReadiness, token: INSTANCE }) })
    })
    const ends: unknown[] = []
    await instance.execute([requestWith([input(1)], { respond: (outputs) => { ends.push(outputs) }, fail: (error) => { ends.push(error.message) } })])
    expect(ends).toEqual(['a buffer may have what memory there is'])
  })

  it('has the log say which of its messages did not come over, and works what came with it', async () => {
    const { instance, logs, tell, onSubmit } = setUp()
    onSubmit((requests, batch) => {
      setImmediate(() => { tell({ kind: EVENT.log, token: 0, level: 0, errorCode: 1, errorMessage: 'a text may have 512 MB' } as HostEvent, ...end(batch, requests.map(([token]) => token))) })
    })
    await instance.execute([requestWith([input(1)])])
    expect(logs.recent(10).map(({ level, fields }) => [level, String(fields?.['error'])])).toEqual([['error', expect.stringContaining('a text may have 512 MB') as string]])
  })
})
