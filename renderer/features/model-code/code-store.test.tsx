import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CODE_CONTEXT, checkModelCode } from '../../../server-core/model-code/check-model-code.ts'
import { consoleClient } from '../../console-client.ts'
import { useCodeProblems } from '../../lib/code-problems.ts'
import { startCodeLint } from './code-lint.ts'
import type { CodeLintRequest, CodeLintWorker } from './code-lint.ts'
import { applyCodeEdits, closeCode, isCodeModified, openCode, saveCode, setCodeDiagnostics, settleDiskChange, useCode } from './code-store.ts'

const SAID = { saved: '', loaded: '' }
const FAULTY = 'class TritonPythonModel:\n    def execute(self):\n        return []\n'
const file = (text: string, hash: string, version = 1) => ({ path: `/r/m/${version}/model.py`, name: `${version}/model.py`, version, versions: [1, 2], text, hash, context: EMPTY_CODE_CONTEXT })
const open = () => {
  const { document } = useCode.getState()
  if (document === null) throw new Error('no document is open')
  return document
}
const append = (text: string) => applyCodeEdits([{ offset: open().text.length, length: 0, text }])

describe('the code of a model', () => {
  const command = vi.spyOn(consoleClient, 'command')
  /** Answers by command; an error is thrown. */
  let answers: Record<string, unknown>
  const sent = () => command.mock.calls.map(([name, args]) => [name, args])

  beforeEach(async () => {
    closeCode()
    useCodeProblems.setState({ found: [] })
    command.mockReset()
    command.mockImplementation(((name: string) => (answers[name] instanceof Error ? Promise.reject(answers[name] as Error) : Promise.resolve(answers[name]))) as never)
    answers = { 'code.open': file('a\r\nb', 'h1') }
    await openCode('m', null)
    command.mockClear()
  })

  it('is saved as it was opened but for what was edited, and loaded if asked', async () => {
    append('\r\nc')
    answers['code.save'] = { kind: 'saved', hash: 'h2' }
    await saveCode(true, SAID)
    expect(sent()).toEqual([['code.save', { name: 'm', version: 1, text: 'a\r\nb\r\nc', baseHash: 'h1' }], ['model.load', { name: 'm' }]])
    expect(isCodeModified(open())).toBe(false)
    expect(useCode.getState().outcome).toEqual({ kind: 'idle' })
    await saveCode(false, SAID)
    expect(sent().length).toBe(2)
  })

  it('is not written over a file that changed: one of the two is kept', async () => {
    append('c')
    answers['code.save'] = { kind: 'conflict', currentText: 'theirs', currentHash: 'h9' }
    await saveCode(true, SAID)
    expect(open()).toMatchObject({ text: 'a\r\nbc', diskChange: { text: 'theirs', hash: 'h9' } })
    expect(sent().map(([name]) => name)).toEqual(['code.save'])
    settleDiskChange('mine')
    answers['code.save'] = { kind: 'saved', hash: 'h10' }
    await saveCode(false, SAID)
    expect(sent().at(-1)).toEqual(['code.save', { name: 'm', version: 1, text: 'a\r\nbc', baseHash: 'h9' }])
    answers['code.open'] = file('again', 'h11')
    append('d')
    await openCode('m', null)
    expect(open()).toMatchObject({ text: 'a\r\nbcd', diskChange: { text: 'again' } })
    settleDiskChange('theirs')
    expect(open()).toMatchObject({ text: 'again', savedHash: 'h11', diskChange: null })
  })

  it('follows the disk while nothing is unsaved, and keeps unsaved changes of a version that is left', async () => {
    const { revision } = open()
    answers['code.open'] = file('new', 'h2')
    await openCode('m', null)
    expect(open().text).toBe('new')
    expect(open().revision).toBeGreaterThan(revision)
    append('!')
    answers['code.open'] = file('two', 'h3', 2)
    await openCode('m', 2)
    expect(open()).toMatchObject({ version: 2, text: 'two' })
    answers['code.open'] = file('new', 'h2')
    await openCode('m', 1)
    expect(open()).toMatchObject({ version: 1, text: 'new!', savedText: 'new' })
  })

  it('keeps the changes, and says why it was not saved or not loaded', async () => {
    append('c')
    answers['code.save'] = new Error('disk full')
    await saveCode(true, SAID)
    expect(useCode.getState().outcome).toMatchObject({ kind: 'saveFailed', error: { message: 'disk full' } })
    expect(isCodeModified(open())).toBe(true)
    answers['code.save'] = { kind: 'saved', hash: 'h2' }
    answers['model.load'] = new Error('SyntaxError')
    await saveCode(true, SAID)
    expect(useCode.getState().outcome).toMatchObject({ kind: 'loadFailed', error: { message: 'SyntaxError' } })
    answers['code.open'] = new Error('gone')
    await openCode('other', null)
    expect(useCode.getState().openError).toMatchObject({ message: 'gone' })
  })

  it('is checked in a worker, the newest text first; the dock hears of what was found', () => {
    const requests: CodeLintRequest[] = []
    let answer: (event: { readonly data: { readonly revision: number; readonly diagnostics: readonly ConfigDiagnostic[] } }) => void = () => {}
    const worker = {
      postMessage: (request: CodeLintRequest) => { requests.push(request) }, terminate: vi.fn(),
      addEventListener: (type: string, listener: typeof answer) => { if (type === 'message') answer = listener },
    }
    const stop = startCodeLint(() => worker as unknown as CodeLintWorker, () => {})
    applyCodeEdits([{ offset: 0, length: open().text.length, text: FAULTY.slice(0, -1) }])
    append('\n')
    expect(requests.map(({ text }) => text)).toEqual(['a\r\nb'])
    answer({ data: { revision: requests[0]?.revision ?? 0, diagnostics: checkModelCode('', EMPTY_CODE_CONTEXT) } })
    expect(requests.map(({ text }) => text)).toEqual(['a\r\nb', FAULTY])
    answer({ data: { revision: requests[1]?.revision ?? 0, diagnostics: checkModelCode(FAULTY, EMPTY_CODE_CONTEXT) } })
    expect(open().diagnostics.map(({ code }) => code)).toEqual(['method-signature'])
    expect(useCodeProblems.getState().found).toEqual([{ modelName: 'm', file: '1/model.py', errors: 1, warnings: 0 }])
    // Diagnostics move with the text, and are gone from the dock with the next clean check.
    applyCodeEdits([{ offset: 0, length: 0, text: '#\n' }])
    expect(open().diagnostics[0]?.line).toBe(3)
    setCodeDiagnostics(open().revision, [])
    expect(useCodeProblems.getState().found).toEqual([])
    stop()
    expect(worker.terminate).toHaveBeenCalled()
  })
})
