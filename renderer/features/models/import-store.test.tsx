import { beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { importReview } from '../../testing/imports.ts'
import { describeDropped } from './import-drop.ts'
import type { Dropped } from './import-drop.ts'
import { chooseBackend, closeImport, createModel, importFiles, prepare, secondsLeft, useImport } from './import-store.ts'
import { modelNameProblem } from './model-name.ts'

const review = importReview()
const file = (name: string, size = 3) => new File([new Uint8Array(size)], name)
const drop = async (...names: string[]) => importFiles(await describeDropped(names.map((name) => file(name))))
const state = () => useImport.getState().state
const choice = { modelName: 'rec', asVersion: false, link: false, shouldLoad: true }
const LOCAL: Dropped = { fileName: 'rec.onnx', hasFolder: false, names: ['rec.onnx'], source: { kind: 'local', paths: ['/files/rec.onnx'] } }

type Answer = unknown

describe('importing a model', () => {
  const answers: Record<string, Answer> = {}
  const command = vi.spyOn(consoleClient, 'command')
  const calls = (name: string) => command.mock.calls.filter(([called]) => called === name).map(([, args]) => args)

  beforeEach(() => {
    closeImport()
    command.mockReset()
    Object.assign(answers, {
      'import.open': { importId: 'i' }, 'import.chunk': undefined, 'import.review': review, 'import.create': { model: {}, version: 1, method: 'copy' }, 'import.close': undefined, 'model.load': undefined,
    })
    command.mockImplementation(((name: string) => {
      const answer = answers[name]
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    }) as typeof consoleClient.command)
  })

  it('uploads a dropped file, creates and loads it, and opens its Test tab', async () => {
    await drop('rec.onnx')
    expect(state()).toMatchObject({ kind: 'review', review, step: 'ask' })
    await createModel({ ...choice, modelName: 'rec_2' })
    expect(command.mock.calls).toEqual([
      ['import.open', { source: { kind: 'upload', files: [{ path: 'rec.onnx', byteSize: 3 }] }, importId: null }],
      ['import.chunk', { importId: 'i', file: 0, offset: 0, data: new Uint8Array(3) }],
      ['import.review', { importId: 'i', backend: null }],
      ['import.create', { importId: 'i', backend: 'onnxruntime', modelName: 'rec_2', asVersion: false, link: false }],
      ['model.load', { name: 'rec_2' }],
    ])
    expect(state().kind).toBe('idle')
    expect(window.location.hash).toBe('#/models/rec_2/test')
  })

  it('sends a large file in parts and tells how far it is', async () => {
    const seen: unknown[] = []
    const stop = useImport.subscribe(({ state: now }) => { if (now.kind === 'preparing' && now.progress !== null) seen.push([now.progress.bytesDone, now.progress.bytesTotal]) })
    await importFiles(await describeDropped([file('rec.onnx', 9 * 2 ** 20), file('w.bin', 5)]))
    stop()
    expect(calls('import.chunk').map((args) => { const { file: index, offset } = args as { file: number; offset: number }; return [index, offset / 2 ** 20] })).toEqual([[0, 0], [0, 4], [0, 8], [1, 0]])
    expect(seen.at(-1)).toEqual([9 * 2 ** 20 + 5, 9 * 2 ** 20 + 5])
  })

  it('only names the path where the shell knows it', async () => {
    vi.stubGlobal('desktopApi', { pathForFile: (dropped: File) => `/files/${dropped.name}` })
    await drop('rec.onnx')
    vi.unstubAllGlobals()
    expect(calls('import.open')).toEqual([{ source: { kind: 'local', paths: ['/files/rec.onnx'] }, importId: null }])
    expect(calls('import.chunk')).toEqual([])
  })

  it.each([[['a.txt'], 'other'], [['weights.pth'], 'other'], [[], 'nothing']] as const)('says what is supported for %s, sending nothing', async (names, reason) => {
    await drop(...names)
    expect(state()).toMatchObject({ kind: 'refused', reason })
    expect(command).not.toHaveBeenCalled()
  })

  it.each([['a.om'], ['model.py', 'helper.py'], ['a.onnx', 'a.bin']])('has %s reviewed', async (...names) => {
    await drop(...names)
    expect(state().kind).toBe('review')
  })

  it('keeps the files when the review fails, closes what the server has, and tries again from the start', async () => {
    answers['import.review'] = new ConsoleError('INVALID_ARG', 'not an ONNX file')
    await drop('rec.onnx')
    const failed = state()
    if (failed.kind !== 'failed') throw new Error(`unexpected state ${failed.kind}`)
    expect(calls('import.close')).toEqual([{ importId: 'i' }])
    answers['import.review'] = review
    await prepare(failed.dropped)
    expect(state().kind).toBe('review')
    expect(calls('import.open').length).toBe(2)
  })

  it('adds the files that the model misses, and those alone', async () => {
    answers['import.review'] = importReview({ missingFiles: ['w.bin'] })
    await drop('rec.onnx')
    answers['import.review'] = review
    await drop('w.bin')
    expect(calls('import.open').at(-1)).toEqual({ source: { kind: 'upload', files: [{ path: 'w.bin', byteSize: 3 }] }, importId: 'i' })
    expect(calls('import.chunk').at(-1)).toMatchObject({ file: 1, offset: 0 })
    expect(state()).toMatchObject({ kind: 'review', review: { missingFiles: [] } })
  })

  it('stays in the card with the reason when writing fails, and brings the files again on the next try', async () => {
    await drop('rec.onnx')
    answers['import.create'] = new ConsoleError('ALREADY_EXISTS', 'there is a rec')
    await createModel(choice)
    expect(state()).toMatchObject({ kind: 'review', step: 'ask', importId: null, error: { step: 'create' } })
    expect(calls('import.close').length).toBe(1)
    answers['import.create'] = {}
    await createModel({ ...choice, modelName: 'rec_2' })
    expect(state().kind).toBe('idle')
    expect(calls('import.chunk').length).toBe(2)
  })

  it('does not write twice when only the load failed', async () => {
    await importFiles(LOCAL)
    answers['model.load'] = new ConsoleError('INVALID_ARG', 'load failed')
    await createModel(choice)
    expect(state()).toMatchObject({ kind: 'review', error: { step: 'load' } })
    await createModel(choice)
    expect(calls('import.create').length).toBe(1)
  })

  it('only writes where a load cannot succeed, and opens the config where it is a skeleton', async () => {
    answers['import.review'] = importReview({ kind: 'om', signature: 'unknown' })
    await importFiles(LOCAL)
    await createModel({ ...choice, modelName: 'det', shouldLoad: false })
    expect(calls('model.load')).toEqual([])
    expect(window.location.hash).toBe('#/models/det/config')
  })

  it('has the config made for another backend and keeps the name', async () => {
    await importFiles(LOCAL)
    answers['import.review'] = importReview({ backend: 'npu_ge', modelName: 'rec_9' })
    await chooseBackend('npu_ge')
    expect(calls('import.review').at(-1)).toEqual({ importId: 'i', backend: 'npu_ge' })
    expect(state()).toMatchObject({ review: { backend: 'npu_ge', modelName: 'rec' } })
  })

  it('follows the copy, for its own import only', async () => {
    const listeners: ((progress: { importId: string; bytesDone: number; bytesTotal: number }) => void)[] = []
    const stop = vi.fn()
    vi.spyOn(consoleClient, 'on').mockImplementation(((_name: string, listener: (typeof listeners)[number]) => { listeners.push(listener); return stop }) as typeof consoleClient.on)
    await importFiles(LOCAL)
    let finish = () => {}
    answers['import.create'] = new Promise<void>((resolve) => { finish = resolve })
    const creating = createModel(choice)
    await vi.waitFor(() => expect(listeners.length).toBe(1))
    listeners[0]?.({ importId: 'another', bytesDone: 1, bytesTotal: 2 })
    expect(state()).toMatchObject({ step: 'creating', progress: null })
    listeners[0]?.({ importId: 'i', bytesDone: 30, bytesTotal: 60 })
    expect(state()).toMatchObject({ step: 'creating', progress: { bytesDone: 30, bytesTotal: 60 } })
    finish()
    await creating
    expect(stop).toHaveBeenCalledOnce()
  })

  it.each(['import.open', 'import.chunk', 'import.review'])('cancelled during %s, tells the server and says nothing more', async (during) => {
    let answer = (_value: unknown) => {}
    answers[during] = new Promise((resolve) => { answer = resolve })
    const importing = drop('rec.onnx')
    await vi.waitFor(() => expect(command.mock.calls.at(-1)?.[0]).toBe(during))
    closeImport()
    answer(during === 'import.open' ? { importId: 'i' } : during === 'import.review' ? review : undefined)
    await importing
    expect(state()).toEqual({ kind: 'idle' })
    expect(calls('import.close')).toEqual([{ importId: 'i' }])
  })

  it('cancelled while the model is written, tells the server and shows no error', async () => {
    await importFiles(LOCAL)
    let fail = (_error: Error) => {}
    answers['import.create'] = new Promise((_resolve, reject) => { fail = reject })
    const creating = createModel(choice)
    closeImport()
    fail(new ConsoleError('CANCELLED', 'cancelled'))
    await creating
    expect(state()).toEqual({ kind: 'idle' })
    expect(calls('import.close')).toEqual([{ importId: 'i' }])
    expect(calls('model.load')).toEqual([])
  })
})

describe('what was dropped', () => {
  const entry = (name: string, children?: unknown[]): FileSystemEntry => {
    const parts = children === undefined ? [] : [children, []]
    return { name, isFile: children === undefined, isDirectory: children !== undefined, file: (done: (file: File) => void) => { done(file(name)) }, createReader: () => ({ readEntries: (done: (part: unknown[]) => void) => { done(parts.shift() ?? []) } }) } as unknown as FileSystemEntry
  }

  it('is read through its folders, hidden files aside', async () => {
    const dropped = await describeDropped([file('det')], [entry('det', [entry('1', [entry('model.onnx')]), entry('config.pbtxt'), entry('.git', [entry('x')]), entry('__pycache__', [entry('y')])])])
    expect(dropped).toMatchObject({ fileName: 'det', hasFolder: true })
    expect(dropped.source.kind === 'upload' && dropped.source.files.map(({ path }) => path)).toEqual(['det/1/model.onnx', 'det/config.pbtxt'])
  })

  it('is uploaded where a path is not known, as for files that a page made', async () => {
    vi.stubGlobal('desktopApi', { pathForFile: () => '' })
    expect((await describeDropped([file('a.onnx')])).source.kind).toBe('upload')
    vi.unstubAllGlobals()
  })
})

describe('the time left', () => {
  it('is told from the mean speed, once that says something', () => {
    expect([secondsLeft(0, 500, 10, 100), secondsLeft(0, 2000, 0, 100), secondsLeft(0, 2000, 10, 100), secondsLeft(0, 2000, 100, 100)]).toEqual([null, null, 18, 0])
  })
})

describe('modelNameProblem', () => {
  it.each([
    ['rec', null], ['a.b-c_1', null], ['模型', null], ['', 'empty'], ['../x', 'characters'], ['a/b', 'characters'], ['.hidden', 'characters'], ['dot.', 'characters'], ['a b', 'characters'], ['used', 'taken'], ['USED', 'taken'], ['x'.repeat(129), 'long'],
  ] as const)('%s: %s', (name, problem) => {
    expect(modelNameProblem(name, ['used'])).toBe(problem)
  })
})
