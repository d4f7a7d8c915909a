/** The text of the document in Monaco. The document is the truth: what is typed goes to it as edits, what others change comes from it. */
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { findField } from '../../../server-core/model-config/config-path.ts'
import { usePreferences } from '../../preferences.ts'
import { diffLines, splitLines } from '../../lib/line-diff.ts'
import { applyEdits, redo, setSelection, undo, useConfigDocument } from './config-document.ts'
import type { ConfigDocument } from './config-document.ts'
import { goToProblem, openDialog, useEditorView } from './editor-view-store.ts'
import { CONFIG_MODEL_URI, documentLines, markerOf, offsetOf, rangeOf } from './language-service.ts'
import { LineIndex, lineEndOf } from '../../lib/line-index.ts'
import { EDITOR_OPTIONS, monaco, PBTXT_LANGUAGE, withoutBracketColors } from '../../components/code-editor/monaco-setup.ts'
import { positionInConfig } from './position-in-config.ts'
import { ProblemZone } from '../../components/code-editor/problem-zone.tsx'
import { TensorMenu } from './tensor-menu.tsx'
import { forgetMembers } from './tensor-navigation.ts'

const MARKER_OWNER = 'npu-config'

export function TextView({ label }: { readonly label: string }) {
  const { t } = useTranslation('config-editor')
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<monaco.editor.IStandaloneCodeEditor | null>(null)
  const theme = usePreferences((state) => state.theme)
  const language = usePreferences((state) => state.language)
  const diagnostics = useConfigDocument((state) => state.diagnostics)
  const version = useConfigDocument((state) => state.version)
  const line = useEditorView((state) => state.cursor.line)
  const first = useRef({ label, theme })
  const format = t('action.format')

  useEffect(() => {
    if (!host.current) return
    const model = monaco.editor.createModel(useConfigDocument.getState().text, PBTXT_LANGUAGE, CONFIG_MODEL_URI)
    withoutBracketColors(model)
    const created = monaco.editor.create(host.current, {
      ...EDITOR_OPTIONS, model, ariaLabel: first.current.label, theme: `npu-${first.current.theme}`, wordWrap: 'on', glyphMargin: false, lineDecorationsWidth: 12, renderLineHighlight: 'line',
      quickSuggestions: { other: true, strings: true, comments: false }, tabCompletion: 'on', lightbulb: { enabled: monaco.editor.ShowLightbulbIconMode.OnCode }, hover: { enabled: 'on', above: true },
      wordBasedSuggestions: 'off', formatOnPaste: false,
    })
    const stop = [followDocument(created, model), followMarkers(model), followChangedLines(created), followSelection(created), followTarget(created)]
    setEditor(created)
    return () => {
      setEditor(null)
      stop.forEach((end) => end())
      created.dispose()
      model.dispose()
      forgetMembers()
    }
  }, [])

  useEffect(() => {
    if (!editor) return
    const { KeyMod, KeyCode } = monaco
    const runFormat = () => editor.getAction('editor.action.formatDocument')?.run()
    const actions = [
      editor.addAction({ id: 'npu.undo', label: 'Undo', keybindings: [KeyMod.CtrlCmd | KeyCode.KeyZ], run: () => { undo() } }),
      editor.addAction({ id: 'npu.redo', label: 'Redo', keybindings: [KeyMod.CtrlCmd | KeyMod.Shift | KeyCode.KeyZ, KeyMod.CtrlCmd | KeyCode.KeyY], run: () => { redo() } }),
      editor.addAction({ id: 'npu.save', label: 'Save', keybindings: [KeyMod.CtrlCmd | KeyCode.KeyS], run: () => openDialog('save') }),
      editor.addAction({ id: 'npu.format', label: format, keybindings: [KeyMod.CtrlCmd | KeyMod.Shift | KeyCode.KeyF, KeyMod.Shift | KeyMod.Alt | KeyCode.KeyF], run: () => { void runFormat() } }),
      editor.addAction({ id: 'npu.nextProblem', label: 'Next problem', keybindings: [KeyCode.F8], run: () => { goToProblem(1) } }),
      editor.addAction({ id: 'npu.previousProblem', label: 'Previous problem', keybindings: [KeyMod.Shift | KeyCode.F8], run: () => { goToProblem(-1) } }),
    ]
    return () => actions.forEach((action) => action.dispose())
  }, [editor, format])

  useEffect(() => { editor?.updateOptions({ ariaLabel: label }) }, [editor, label])
  useEffect(() => { monaco.editor.setTheme(`npu-${theme}`) }, [theme])
  // Messages of the markers are in the language that is shown.
  useEffect(() => { const model = editor?.getModel(); if (model) showMarkers(model) }, [editor, language])

  return (
    <div className="npu-editor-text" data-testid="config-text">
      <div className="npu-editor-monaco" ref={host} />
      {editor && <ProblemZone editor={editor} diagnostics={diagnostics} version={version} line={line} onFix={({ edits }) => applyEdits(edits, 'fix')} />}
      {editor && <TensorMenu editor={editor} />}
    </div>
  )
}

/** Keeps Monaco's model and the document in step, both ways. */
function followDocument(editor: monaco.editor.IStandaloneCodeEditor, model: monaco.editor.ITextModel): () => void {
  let shown = useConfigDocument.getState()
  let shownLines = new LineIndex(shown.text)
  let isApplying = false

  const changes = model.onDidChangeContent((event) => {
    if (isApplying) return
    const lineEnd = lineEndOf(shown.text)
    const edits = event.changes.map(({ range, text }) => {
      const start = shownLines.offsetAt({ line: range.startLineNumber, column: range.startColumn })
      const end = shownLines.offsetAt({ line: range.endLineNumber, column: range.endColumn })
      return { offset: start, length: end - start, text: text.replace(/\r\n|\r|\n/g, lineEnd) }
    })
    isApplying = true
    applyEdits(edits, 'text')
    isApplying = false
    shown = useConfigDocument.getState()
    shownLines = new LineIndex(shown.text)
  })

  const unsubscribe = useConfigDocument.subscribe((state) => {
    if (isApplying || state.text === shown.text) return
    isApplying = true
    const { edits } = state.lastChange
    if (edits !== null && state.version === shown.version + 1) {
      const lines = shownLines
      model.applyEdits(edits.map((edit) => ({ range: rangeOf(lines, edit.offset, edit.offset + edit.length), text: edit.text })))
    }
    // Another document, or an edit through the middle of a line end, which Monaco does not know.
    if (model.getValue(monaco.editor.EndOfLinePreference.LF) !== plainText(state.text)) model.setValue(state.text)
    isApplying = false
    const isOther = state.modelName !== shown.modelName
    shown = state
    shownLines = new LineIndex(state.text)
    if (isOther) editor.setPosition({ lineNumber: 1, column: 1 })
  })
  return () => {
    changes.dispose()
    unsubscribe()
  }
}

function plainText(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/\r\n|\r/g, '\n')
}

function showMarkers(model: monaco.editor.ITextModel): void {
  const lines = documentLines()
  monaco.editor.setModelMarkers(model, MARKER_OWNER, useConfigDocument.getState().diagnostics.map((diagnostic) => markerOf(diagnostic, lines)))
}

function followMarkers(model: monaco.editor.ITextModel): () => void {
  showMarkers(model)
  return useConfigDocument.subscribe((state, before) => {
    if (state.diagnostics !== before.diagnostics) showMarkers(model)
  })
}

/** A bar beside lines that differ from the file on disk. */
function followChangedLines(editor: monaco.editor.IStandaloneCodeEditor): () => void {
  const decorations = editor.createDecorationsCollection()
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = () => {
    const { text, savedText } = useConfigDocument.getState()
    decorations.set(diffLines(splitLines(savedText ?? ''), splitLines(text)).map(({ bStart, bEnd }) => ({
      range: new monaco.Range(Math.max(1, bStart === bEnd ? bStart : bStart + 1), 1, Math.max(1, bEnd), 1),
      options: { isWholeLine: true, linesDecorationsClassName: bStart === bEnd ? 'npu-config-line-removed' : 'npu-config-line-changed' },
    })))
  }
  show()
  const unsubscribe = useConfigDocument.subscribe((state, before) => {
    if (state.text === before.text && state.savedText === before.savedText) return
    clearTimeout(timer)
    timer = setTimeout(show, 100)
  })
  return () => {
    clearTimeout(timer)
    unsubscribe()
  }
}

/** The cursor selects a field for the form; a field that the form selects is shown here. */
function followSelection(editor: monaco.editor.IStandaloneCodeEditor): () => void {
  const mark = editor.createDecorationsCollection()
  const cursor = editor.onDidChangeCursorPosition(({ position }) => {
    useEditorView.setState({ cursor: { line: position.lineNumber, column: position.column } })
    if (!editor.hasTextFocus()) return
    mark.clear()
    const { path } = positionInConfig(useConfigDocument.getState().tree, offsetOf(documentLines(), position))
    if (path.length > 0) setSelection(path, 'text')
  })
  const show = ({ selection, tree }: ConfigDocument) => {
    const span = selection === null ? null : findField(tree, selection.path)
    if (span === null) return mark.clear()
    const range = rangeOf(documentLines(), span.start, span.end)
    mark.set([{ range, options: { className: 'npu-config-selected', isWholeLine: false } }])
    editor.revealRangeInCenterIfOutsideViewport(range)
  }
  const unsubscribe = useConfigDocument.subscribe((state, before) => {
    if (state.selection?.origin === 'form' && state.selection !== before.selection) show(state)
  })
  return () => {
    cursor.dispose()
    unsubscribe()
  }
}

function followTarget(editor: monaco.editor.IStandaloneCodeEditor): () => void {
  const go = ({ target }: { readonly target: { readonly start: number; readonly end: number } | null }) => {
    if (target === null) return
    const range = rangeOf(documentLines(), target.start, target.end)
    editor.setSelection(range)
    editor.revealRangeInCenterIfOutsideViewport(range)
    editor.focus()
  }
  // A jump from the form opens the text view first.
  go(useEditorView.getState())
  useEditorView.setState({ target: null })
  return useEditorView.subscribe((state, before) => {
    if (state.target === before.target || state.target === null) return
    go(state)
    useEditorView.setState({ target: null })
  })
}
