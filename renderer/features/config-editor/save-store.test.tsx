import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { CLOSED_DOCUMENT, isModified, openDocument, setText, undo, useConfigDocument } from './config-document.ts'
import { diagnosticOf, dismissOutcome, mergeDiskChange, openConfig, restorePrevious, save, takeMerge, useSave } from './save-store.ts'

const SAID = { saved: '', loaded: '' }

describe('saving a config', () => {
  const command = vi.spyOn(consoleClient, 'command')
  /** Answers by command; an error is thrown. */
  let answers: Record<string, unknown>
  const sent = () => command.mock.calls.map(([name, args]) => [name, args])

  beforeEach(() => {
    command.mockReset()
    command.mockImplementation(((name: string) => (answers[name] instanceof Error ? Promise.reject(answers[name] as Error) : Promise.resolve(answers[name]))) as never)
    answers = {}
    useSave.setState({ modelName: 'm', state: { kind: 'idle' }, openError: null })
    useConfigDocument.setState(CLOSED_DOCUMENT, true)
    openDocument({ modelName: 'm', text: 'old', hash: 'h1', context: EMPTY_CONFIG_CONTEXT })
    setText('new', 'text')
  })

  it('names the file it began from, and is clean afterwards', async () => {
    answers['config.save'] = { kind: 'saved', hash: 'h2' }
    await save(false, SAID)
    expect(sent()).toEqual([['config.save', { name: 'm', text: 'new', baseHash: 'h1' }]])
    expect(useConfigDocument.getState()).toMatchObject({ savedText: 'new', savedHash: 'h2' })
    expect(useSave.getState().state).toEqual({ kind: 'idle' })
  })

  it('loads after the save, and without one where nothing is unsaved', async () => {
    answers['config.save'] = { kind: 'saved', hash: 'h2' }
    await save(true, SAID)
    await save(true, SAID)
    expect(sent().map(([name]) => name)).toEqual(['config.save', 'model.load', 'model.load'])
  })

  it('keeps the edits and offers a merge when the file changed on disk', async () => {
    answers['config.save'] = { kind: 'conflict', currentText: 'theirs', currentHash: 'h9' }
    await save(true, SAID)
    const { state } = useSave.getState()
    expect(state).toEqual({ kind: 'conflict', base: 'old', theirs: { text: 'theirs', hash: 'h9' }, wantsLoad: true })
    expect(isModified(useConfigDocument.getState())).toBe(true)
    takeMerge({ text: 'theirs', hash: 'h9' }, 'merged')
    answers['config.save'] = { kind: 'saved', hash: 'h10' }
    await save(false, SAID)
    expect(sent().at(-1)).toEqual(['config.save', { name: 'm', text: 'merged', baseHash: 'h9' }])
    undo()
    expect(useConfigDocument.getState().text).toBe('new')
  })

  it('gives the previous file back after a load that failed', async () => {
    answers['config.save'] = { kind: 'saved', hash: 'h2' }
    answers['model.load'] = new ConsoleError('INVALID_ARG', 'no such backend')
    await save(true, SAID)
    const { state } = useSave.getState()
    expect(state).toEqual({ kind: 'loadFailed', reason: 'no such backend', previous: { text: 'old', hash: 'h2' }, isRestored: false })
    answers['config.save'] = { kind: 'saved', hash: 'h1' }
    answers['model.load'] = undefined
    if (state.kind === 'loadFailed' && state.previous) await restorePrevious(state.previous)
    expect(sent().slice(-2)).toEqual([['config.save', { name: 'm', text: 'old', baseHash: 'h2' }], ['model.load', { name: 'm' }]])
    expect(useConfigDocument.getState()).toMatchObject({ text: 'old', savedText: 'old', savedHash: 'h1' })
    undo()
    expect(useConfigDocument.getState().text).toBe('new')
  })

  it('still offers it after another model was looked at, until it is dismissed', async () => {
    answers['config.save'] = { kind: 'saved', hash: 'h2' }
    answers['model.load'] = new ConsoleError('INVALID_ARG', 'no such backend')
    answers['config.open'] = { text: 'x', hash: 'h', context: EMPTY_CONFIG_CONTEXT }
    const saving = save(true, SAID)
    await openConfig('other')
    await saving
    expect(useSave.getState()).toMatchObject({ modelName: 'other', state: { kind: 'idle' } })
    await openConfig('m')
    expect(useSave.getState().state).toMatchObject({ kind: 'loadFailed', previous: { text: 'old' } })
    dismissOutcome()
    await openConfig('other')
    await openConfig('m')
    expect(useSave.getState().state).toEqual({ kind: 'idle' })
  })

  it('offers no restore where nothing was saved, and says when restoring did not help', async () => {
    answers['model.load'] = new ConsoleError('INVALID_ARG', 'broken model')
    setText('old', 'text')
    await save(true, SAID)
    expect(useSave.getState().state).toMatchObject({ kind: 'loadFailed', previous: null })
    answers['config.save'] = { kind: 'saved', hash: 'h1' }
    await restorePrevious({ text: 'old', hash: 'h2' })
    expect(useSave.getState().state).toMatchObject({ kind: 'loadFailed', previous: null, isRestored: true })
  })

  it('keeps everything when the save fails', async () => {
    answers['config.save'] = new ConsoleError('UNAVAILABLE', 'disk full')
    await save(true, SAID)
    expect(sent()).toHaveLength(1)
    expect(useSave.getState().state).toMatchObject({ kind: 'saveFailed' })
    expect(useConfigDocument.getState()).toMatchObject({ text: 'new', savedHash: 'h1' })
  })

  it('notices a change on disk before the save', async () => {
    answers['config.open'] = { path: '', text: 'theirs', hash: 'h9', context: EMPTY_CONFIG_CONTEXT }
    await openConfig('m')
    expect(useConfigDocument.getState()).toMatchObject({ text: 'new', diskChange: { text: 'theirs', hash: 'h9' } })
    mergeDiskChange()
    expect(useSave.getState().state).toMatchObject({ kind: 'conflict', base: 'old', theirs: { text: 'theirs' } })
  })

  it('finds the diagnostic that foretold a failure', () => {
    const diagnostics = [{ code: 'a', serverText: '' }, { code: 'b', serverText: 'no backend' }] as ConfigDiagnostic[]
    expect(diagnosticOf('Invalid argument: no backend x', diagnostics)?.code).toBe('b')
    expect(diagnosticOf('something else', diagnostics)).toBeUndefined()
  })
})
