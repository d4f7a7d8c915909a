import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { CLOSED_DOCUMENT, openDocument, setText, useConfigDocument } from './config-document.ts'
import { startLint, useLintFailure } from './lint-client.ts'
import type { LintRequest, LintResponse, LintWorker } from './lint-client.ts'

/** The test plays the worker. */
class TestWorker extends EventTarget implements LintWorker {
  readonly requests: LintRequest[] = []
  isTerminated = false

  postMessage(request: LintRequest): void { this.requests.push(request) }
  terminate(): void { this.isTerminated = true }

  answer(request: LintRequest | undefined): void {
    if (!request) throw new Error('nothing was asked')
    const data: LintResponse = { version: request.version, diagnostics: [{ code: request.text, offset: 0, length: 0, fixes: [] } as unknown as ConfigDiagnostic] }
    this.dispatchEvent(new MessageEvent('message', { data }))
  }
}

describe('lint', () => {
  let worker: TestWorker
  let stop: () => void
  const codes = () => useConfigDocument.getState().diagnostics.map(({ code }) => code)

  beforeEach(() => {
    vi.useFakeTimers()
    useConfigDocument.setState(CLOSED_DOCUMENT, true)
    worker = new TestWorker()
    stop = startLint(() => worker)
    openDocument({ modelName: 'm', text: 'a', hash: 'h', context: EMPTY_CONFIG_CONTEXT })
    vi.advanceTimersByTime(100)
  })

  afterEach(() => {
    stop()
    vi.useRealTimers()
  })

  it('checks what was opened, and sends the context once', () => {
    worker.answer(worker.requests[0])
    expect(codes()).toEqual(['a'])
    setText('b', 'text')
    vi.advanceTimersByTime(100)
    expect(worker.requests.map((request) => [request.text, request.context !== undefined])).toEqual([['a', true], ['b', false]])
  })

  it('asks within 50 ms of a key, once for a burst', () => {
    worker.answer(worker.requests[0])
    for (const text of ['ab', 'abc', 'abcd']) setText(text, 'text')
    vi.advanceTimersByTime(50)
    expect(worker.requests.map((request) => request.text)).toEqual(['a', 'abcd'])
  })

  it('drops a result that the text has left behind, and asks for the newest', () => {
    setText('b', 'text')
    vi.advanceTimersByTime(100)
    setText('c', 'text')
    vi.advanceTimersByTime(100)
    expect(worker.requests).toHaveLength(1)
    worker.answer(worker.requests[0])
    expect(codes()).toEqual([])
    expect(worker.requests.map((request) => request.text)).toEqual(['a', 'c'])
    worker.answer(worker.requests[1])
    expect(codes()).toEqual(['c'])
  })

  it('checks again when the context changes', () => {
    worker.answer(worker.requests[0])
    openDocument({ modelName: 'm', text: 'a', hash: 'h', context: { ...EMPTY_CONFIG_CONTEXT, modelName: 'm' } })
    vi.advanceTimersByTime(100)
    expect(worker.requests[1]?.context?.modelName).toBe('m')
  })

  it('says so when the worker ends with an error', () => {
    worker.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }))
    expect(useLintFailure.getState().reason).toBe('out of memory')
  })

  it('ends the worker with the tab', () => {
    stop()
    setText('b', 'text')
    vi.advanceTimersByTime(100)
    expect([worker.isTerminated, worker.requests.length]).toEqual([true, 1])
  })
})
