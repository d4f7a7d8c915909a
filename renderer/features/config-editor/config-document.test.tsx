import { beforeEach, describe, expect, it } from 'vitest'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { applyAllFixes, applyEdits, CLOSED_DOCUMENT, isModified, openDocument, redo, revertToSaved, setDiagnostics, setSaved, setText, undo, useConfigDocument } from './config-document.ts'

const SAVED = 'name: "m" # kept\r\nmax_batch_size: 8\r\n'
const text = () => useConfigDocument.getState().text
const open = (modelName: string, content: string | null = SAVED, hash = 'h') => openDocument({ modelName, text: content, hash: content === null ? null : hash, context: EMPTY_CONFIG_CONTEXT })

function diagnostic(offset: number, length: number, part: Partial<ConfigDiagnostic> = {}): ConfigDiagnostic {
  return { code: 'a-rule', severity: 'error', message: { en: 'wrong', 'zh-CN': '错' }, offset, length, line: 1, column: 1, endLine: 1, endColumn: 1, fixes: [], ...part }
}

const fixTo = (offset: number, length: number, replacement: string) => ({ title: { en: 'Fix', 'zh-CN': '修复' }, isPreferred: true, edits: [{ offset, length, text: replacement }] })

describe('config document', () => {
  beforeEach(() => {
    useConfigDocument.setState(CLOSED_DOCUMENT, true)
    open('m')
  })

  it('parses on every edit and leaves every other byte', () => {
    applyEdits([{ offset: SAVED.indexOf('8'), length: 1, text: '16' }], 'form')
    expect(text()).toBe(SAVED.replace('8', '16'))
    expect(useConfigDocument.getState().tree.text).toBe(text())
    expect(useConfigDocument.getState().parseErrors).toEqual([])
    expect(isModified(useConfigDocument.getState())).toBe(true)
  })

  it('undoes across the views in the order of the edits', () => {
    applyEdits([{ offset: SAVED.length, length: 0, text: 'backend: "x"\r\n' }], 'text')
    applyEdits([{ offset: SAVED.indexOf('8'), length: 1, text: '4' }], 'form')
    setText(text().replace('"m"', '"n"'), 'fix')
    undo()
    undo()
    expect(text()).toBe(`${SAVED}backend: "x"\r\n`)
    redo()
    expect(text()).toBe(`${SAVED.replace('8', '4')}backend: "x"\r\n`)
    undo()
    undo()
    expect(text()).toBe(SAVED)
    expect(undo()).toBe(false)
    expect(isModified(useConfigDocument.getState())).toBe(false)
  })

  it('takes back edits of several places as one', () => {
    applyEdits([{ offset: 27, length: 0, text: '_' }, { offset: 0, length: 4, text: 'backend' }], 'fix')
    expect(text()).not.toBe(SAVED)
    undo()
    expect(text()).toBe(SAVED)
  })

  it('undoes letters typed in a row together, but not across a pause or a line', () => {
    const type = (letters: string, time: number) => [...letters].forEach((letter) => applyEdits([{ offset: text().length, length: 0, text: letter }], 'text', time))
    type('abc', 1000)
    type('de', 1500)
    type('f', 9000)
    undo()
    expect(text()).toBe(`${SAVED}abcde`)
    undo()
    expect(text()).toBe(SAVED)
  })

  it('undoes letters deleted in a row together', () => {
    const end = SAVED.length
    for (let count = 1; count <= 4; count++) applyEdits([{ offset: end - count, length: 1, text: '' }], 'text', 1000)
    undo()
    expect(text()).toBe(SAVED)
  })

  it('drops results of a check that the text has left behind', () => {
    const { version } = useConfigDocument.getState()
    applyEdits([{ offset: 0, length: 0, text: '# new\r\n' }], 'text')
    setDiagnostics(version, [diagnostic(0, 4)])
    expect(useConfigDocument.getState().diagnostics).toEqual([])
    setDiagnostics(version + 1, [diagnostic(0, 5)])
    expect(useConfigDocument.getState().diagnostics).toHaveLength(1)
  })

  it('carries problems along an edit before them, and drops what the edit touches', () => {
    const at = SAVED.indexOf('max_batch_size')
    setDiagnostics(useConfigDocument.getState().version, [diagnostic(0, 4), diagnostic(at, 14, { line: 2, fixes: [fixTo(at, 14, 'x')] })])
    applyEdits([{ offset: 2, length: 1, text: 'mm\r\n' }], 'text')
    const [carried, ...others] = useConfigDocument.getState().diagnostics
    expect(others).toEqual([])
    expect(carried).toMatchObject({ offset: at + 3, line: 3, column: 1 })
    expect(applyAllFixes()).toBe(1)
    expect(text()).toBe('namm\r\ne: "m" # kept\r\nx: 8\r\n')
  })

  it('applies fixes that collide in turns', () => {
    setDiagnostics(useConfigDocument.getState().version, [diagnostic(0, 4, { fixes: [fixTo(0, 4, 'NAME')] }), diagnostic(2, 4, { fixes: [fixTo(2, 4, '!')] }), diagnostic(20, 2, { fixes: [fixTo(18, 3, 'MAX')] })])
    applyAllFixes()
    expect(text()).toBe('NAME: "m" # kept\r\nMAX_batch_size: 8\r\n')
    undo()
    expect(text()).toBe(SAVED)
  })

  it('keeps unsaved changes of a model while another is shown', () => {
    setText(`${SAVED}# mine\r\n`, 'text')
    open('other', 'backend: "x"\n', 'o')
    expect(text()).toBe('backend: "x"\n')
    expect(undo()).toBe(false)
    open('m', '# changed on disk\n', 'newer')
    expect(text()).toBe(`${SAVED}# mine\r\n`)
    expect(useConfigDocument.getState()).toMatchObject({ savedHash: 'h', diskChange: { text: '# changed on disk\n', hash: 'newer' } })
    undo()
    expect(text()).toBe(SAVED)
  })

  it('follows the disk while nothing is unsaved', () => {
    open('m', '# changed on disk\n', 'newer')
    expect(text()).toBe('# changed on disk\n')
    expect(useConfigDocument.getState().savedHash).toBe('newer')
  })

  it('keeps undo after a save, and takes all unsaved changes back as one step', () => {
    setText('a: 1', 'text')
    setSaved('m', 'a: 1', 'h2')
    expect(isModified(useConfigDocument.getState())).toBe(false)
    undo()
    expect(text()).toBe(SAVED)
    revertToSaved()
    expect(text()).toBe('a: 1')
    undo()
    expect(text()).toBe(SAVED)
  })

  it('starts empty where the model has no file', () => {
    open('bare', null)
    expect(text()).toBe('')
    expect(isModified(useConfigDocument.getState())).toBe(false)
  })
})
