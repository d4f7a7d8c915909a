import { describe, expect, it } from 'vitest'
import type { InferenceServer, InferenceStreamHandlers } from '../../inference-server.ts'
import { ServerError } from '../../server-error.ts'
import { EVENT, QUESTION, type InferEvent, type TritonHost } from './host-events.ts'
import { RequestTraces } from './request-traces.ts'
import { InferenceServerQuestions } from './server-questions.ts'

const INFER: InferEvent = {
  kind: EVENT.infer, token: 3, name: 'm', version: -1, flags: 0, tensors: [], parameters: [], outputs: [], correlationId: 0n, priority: 0n, timeoutMicroseconds: 0, traceId: 0, parentTraceId: 0,
}

/** The questions of a server that answers nothing by itself, and a host whose calls are told and may throw. */
function setUp(throws: (call: readonly unknown[]) => Error | null, event = INFER) {
  const asked: InferenceStreamHandlers[] = []
  const server = { inferStream: (_request: unknown, handlers: InferenceStreamHandlers) => { asked.push(handlers); return { cancel: () => {} } } } as unknown as InferenceServer
  const calls: unknown[][] = []
  const call = (name: string) => (...given: unknown[]) => {
    calls.push([name, ...given])
    const error = throws(given)
    if (error !== null) throw error
  }
  const host = { respond: call('respond'), releaseInfer: call('release') } as unknown as TritonHost
  new InferenceServerQuestions(() => server).infer(event, host, new RequestTraces())
  return { calls, asked, done: (end: ServerError | null) => { asked.at(-1)!.onDone(end) } }
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

  it('that did not come over whole is answered with the reason, and asks no model', () => {
    const { calls, asked } = setUp(() => null, { kind: EVENT.infer, token: 3, version: -1, errorCode: 1, errorMessage: 'a text may have 512 MB' } as InferEvent)
    expect(asked).toEqual([])
    expect(calls).toEqual([['respond', 3, 1, { ...REPLY, modelName: '', errorCode: 1, errorMessage: 'a text may have 512 MB' }], ['release', 3]])
  })
})

it('a question that did not come over whole is answered with the reason', async () => {
  const answers: unknown[][] = []
  const server = () => { throw new Error('the server is not asked') }
  const event = { kind: EVENT.question, token: 4, question: QUESTION.loadModel, version: 0, flags: 0, parameters: [], errorCode: 1, errorMessage: 'a text may have 512 MB' } as const
  new InferenceServerQuestions(server).question(event, { answer: (...answer: unknown[]) => { answers.push(answer) } } as unknown as TritonHost)
  await expect.poll(() => answers).toEqual([[4, 1, 'a text may have 512 MB', 0, null]])
})
