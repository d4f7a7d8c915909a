import { describe, expect, it } from 'vitest'
import type { InferenceServer, InferenceStreamHandlers } from '../../inference-server.ts'
import { ServerError } from '../../server-error.ts'
import { EVENT, type InferEvent, type TritonHost } from './host-events.ts'
import { InferenceServerQuestions } from './server-questions.ts'

const INFER: InferEvent = {
  kind: EVENT.infer, token: 3, name: 'm', version: -1, flags: 0, tensors: [], parameters: [], outputs: [], correlationId: 0n, priority: 0n, timeoutMicroseconds: 0,
}

describe('an inference request of a backend', () => {
  it('may be answered after the host was closed, which tells nobody', () => {
    const calls: InferenceStreamHandlers[] = []
    const server = { inferStream: (_request: unknown, handlers: InferenceStreamHandlers) => { calls.push(handlers); return { cancel: () => {} } } } as unknown as InferenceServer
    const answered: string[] = []
    let code = 0
    const call = (name: string) => () => {
      answered.push(name)
      if (code !== 0) throw Object.assign(new Error('the Triton host is closed'), { code })
    }
    const host = { respond: call('respond'), releaseInfer: call('release') } as unknown as TritonHost
    const questions = new InferenceServerQuestions(() => server)
    questions.infer(INFER, host)
    calls.at(-1)!.onDone(null)
    code = 4
    questions.infer(INFER, host)
    calls.at(-1)!.onDone(new ServerError('UNAVAILABLE', 'the server is stopping'))
    expect(answered).toEqual(['respond', 'release', 'respond', 'release'])
    // Anything else is a fault of this server's own.
    code = 3
    questions.infer(INFER, host)
    expect(() => { calls.at(-1)!.onDone(null) }).toThrow('the Triton host is closed')
  })
})
