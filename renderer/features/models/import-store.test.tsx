import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { closeImport, createModel, reviewBytes, reviewFile, useImport } from './import-store.ts'
import { modelNameProblem } from './model-name.ts'

const review: ModelImportReview = { modelName: 'rec', fileName: 'rec.onnx', byteSize: 3, backend: 'onnxruntime', opset: 14, inputs: [], outputs: [], configText: 'name: "rec"\n' }
const file = (name: string) => new File([new Uint8Array([1, 2, 3])], name)
const state = () => useImport.getState().state

describe('importing a model', () => {
  const answers: Record<string, unknown> = {}
  const command = vi.spyOn(consoleClient, 'command')

  beforeEach(() => {
    closeImport()
    command.mockReset()
    Object.assign(answers, { 'model.importReview': review, 'model.importCreate': {}, 'model.load': undefined })
    command.mockImplementation(((name: string) => {
      const answer = answers[name]
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    }) as typeof consoleClient.command)
  })

  it('reviews a dropped file, creates and loads it, and opens its Test tab', async () => {
    await reviewFile([file('rec.onnx')])
    expect(state()).toMatchObject({ kind: 'review', review, step: 'ask' })
    await createModel('rec_2', true)
    expect(command.mock.calls).toEqual([
      ['model.importReview', { fileName: 'rec.onnx', data: new Uint8Array([1, 2, 3]) }],
      ['model.importCreate', { fileName: 'rec.onnx', data: new Uint8Array([1, 2, 3]), modelName: 'rec_2' }],
      ['model.load', { name: 'rec_2' }],
    ])
    expect(state().kind).toBe('idle')
    expect(window.location.hash).toBe('#/models/rec_2/test')
  })

  it.each([[['a.om'], 'om'], [['model.py'], 'python'], [['a.txt'], 'other'], [['a.onnx', 'b.onnx'], 'several'], [[], 'folder']] as const)('says what is supported for %s', async (names, reason) => {
    await reviewFile(names.map((name) => file(name)))
    expect(state()).toMatchObject({ kind: 'refused', reason })
    expect(command).not.toHaveBeenCalled()
  })

  it('keeps the bytes when the review fails, so that it can be tried again', async () => {
    answers['model.importReview'] = new ConsoleError('INVALID_ARG', 'not an ONNX file')
    await reviewFile([file('rec.onnx')])
    const failed = state()
    if (failed.kind !== 'reviewFailed' || failed.file === null) throw new Error(`unexpected state ${failed.kind}`)
    answers['model.importReview'] = review
    await reviewBytes(failed.file)
    expect(state().kind).toBe('review')
  })

  it('stays in the card with the reason when writing fails, and writes again on the next try', async () => {
    await reviewFile([file('rec.onnx')])
    answers['model.importCreate'] = new ConsoleError('ALREADY_EXISTS', 'there is a rec')
    await createModel('rec', true)
    expect(state()).toMatchObject({ kind: 'review', step: 'ask', error: { step: 'create' } })
    answers['model.importCreate'] = {}
    await createModel('rec_2', true)
    expect(state().kind).toBe('idle')
  })

  it('does not write twice when only the load failed', async () => {
    await reviewFile([file('rec.onnx')])
    answers['model.load'] = new ConsoleError('INVALID_ARG', 'load failed')
    await createModel('rec', true)
    expect(state()).toMatchObject({ kind: 'review', error: { step: 'load' } })
    await createModel('rec', true)
    expect(command.mock.calls.filter(([name]) => name === 'model.importCreate').length).toBe(1)
  })

  it('only writes where the control mode leaves loading to the server', async () => {
    await reviewFile([file('rec.onnx')])
    await createModel('rec', false)
    expect(command.mock.calls.some(([name]) => name === 'model.load')).toBe(false)
    expect(state().kind).toBe('idle')
  })
})

describe('modelNameProblem', () => {
  it.each([['rec', null], ['a.b-c_1', null], ['', 'empty'], ['../x', 'characters'], ['a/b', 'characters'], ['.hidden', 'characters'], ['模型', 'characters'], ['used', 'taken'], ['x'.repeat(129), 'long']] as const)('%s: %s', (name, problem) => {
    expect(modelNameProblem(name, ['used'])).toBe(problem)
  })
})
