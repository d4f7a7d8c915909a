import { describe, expect, it } from 'vitest'
import type { InferenceServer, InferenceStreamHandlers } from '../../inference-server.ts'
import { ServerError } from '../../server-error.ts'
import { EVENT, type InferEvent, type TritonHost } from './host-events.ts'
import { InferenceServerQuestions } from './server-questions.ts'

const INFER: InferEvent = {
  kind: EVENT.infer, token: 3, name: 'm', version: -1, flags: 0, tensors: [], parameters: [], outputs: [], correlationId: 0n, priority: 0n, timeoutMicroseconds: 0,
}

/** The questions of a server that answers nothing by itself, and a host whose calls are told and may throw. */
function setUp(throws: (call: readonly unknown[]) => Error | null) {
  const asked: InferenceStreamHandlers[] = []
  const server = { inferStream: (_request: unknown, handlers: InferenceStreamHandlers) => { asked.push(handlers); return { cancel: () => {} } } } as unknown as InferenceServer
  const calls: unknown[][] = []
  const call = (name: string) => (...given: unknown[]) => {
    calls.push([name, ...given])
    const error = throws(given)
    if (error !== null) throw error
  }
  const host = { respond: call('respond'), releaseInfer: call('release') } as unknown as TritonHost
  new InferenceServerQuestions(() => server).infer(INFER, host)
  return { calls, done: (end: ServerError | null) => { asked.at(-1)!.onDone(end) } }
}

const refusal = (message: string, code: number) => Object.assign(new Error(message), { code })
const REPLY = { modelName: 'm', modelVersion: -1, outputs: [], parameters: [] }

describe('an inference request of a backend', () => {
  it('may be answered after the host was closed, which tells nobody', () => {
    const { calls, done } = setUp(() => refusal('the Triton host is closed', 4))
    done(new ServerError('UNAVAILABLE', 'the server is stopping'))
    expect(calls).toEqual([['respond', 3, 1, { ...REPLY, errorCode: 4, errorMessage: 'the server is stopping' }], ['release', 3]])
  })

  it('is answered with the reason where the host cannot take the answer', () => {
    const { calls, done } = setUp(([, , reply]) => (reply === null ? refusal('the machine has no memory', 1) : null))
    done(null)
    expect(calls).toEqual([['respond', 3, 1, null], ['respond', 3, 1, { ...REPLY, errorCode: 1, errorMessage: 'the machine has no memory' }], ['release', 3]])
  })
})
