/** The text of the model.py in Monaco, whose undo it has. Every change goes to the store as edits of the file's own text, so that no byte is lost. */
import { useEffect, useRef, useState } from 'react'
import { create } from 'zustand'
import type { ConfigDiagnostic, TextEdit } from '../../../server-core/contract/config-language.ts'
import { EDITOR_OPTIONS, monaco, PYTHON_LANGUAGE, withoutBracketColors } from '../../components/code-editor/monaco-setup.ts'
import { ProblemZone } from '../../components/code-editor/problem-zone.tsx'
import { LineIndex, lineEndOf } from '../../lib/line-index.ts'
import { localized } from '../../lib/localized-text.ts'
import { usePreferences } from '../../preferences.ts'
import { applyCodeEdits, useCode } from './code-store.ts'
import type { CodeDocument } from './code-store.ts'

const CODE_MODEL_URI = monaco.Uri.parse('npu-code:/model.py')
const MARKER_OWNER = 'npu-code'
const APPLY_FIX = 'npu.applyCodeFix'
const SEVERITIES = { error: monaco.MarkerSeverity.Error, warning: monaco.MarkerSeverity.Warning, info: monaco.MarkerSeverity.Info, hint: monaco.MarkerSeverity.Hint } as const

export const useCodeCursor = create<{ readonly line: number; readonly column: number }>()(() => ({ line: 1, column: 1 }))

/** The editor that is shown; null: none. */
let shownEditor: monaco.editor.IStandaloneCodeEditor | null = null

/** Makes edits of the document's text through the editor, as one step of its undo. */
export function editCode(edits: readonly TextEdit[]): void {
  const { document } = useCode.getState()
  if (shownEditor === null || document === null || edits.length === 0) return
  const lines = new LineIndex(document.text)
  shownEditor.pushUndoStop()
  shownEditor.executeEdits('npu', edits.map(({ offset, length, text }) => ({ range: rangeOf(lines, offset, offset + length), text, forceMoveMarkers: true })))
  shownEditor.pushUndoStop()
}

/** Puts the cursor to a problem. */
export function goToCodeProblem({ line, column }: ConfigDiagnostic): void {
  shownEditor?.setPosition({ lineNumber: line, column })
  shownEditor?.revealLineInCenterIfOutsideViewport(line)
  shownEditor?.focus()
}

/** To the next or the previous problem from the cursor on, round the ends. Returns false where there is none. */
export function stepToCodeProblem(direction: 1 | -1): boolean {
  const problems = (useCode.getState().document?.diagnostics ?? []).filter(({ severity }) => severity !== 'hint')
  const { line, column } = useCodeCursor.getState()
  const isAfter = (problem: ConfigDiagnostic) => problem.line > line || (problem.line === line && problem.column > column)
  const isBefore = (problem: ConfigDiagnostic) => problem.line < line || (problem.line === line && problem.column < column)
  const next = direction === 1 ? problems.find(isAfter) ?? problems[0] : problems.findLast(isBefore) ?? problems.at(-1)
  if (next === undefined) return false
  goToCodeProblem(next)
  return true
}

function rangeOf(lines: LineIndex, start: number, end: number): monaco.IRange {
  const from = lines.positionAt(start)
  const to = lines.positionAt(end)
  return { startLineNumber: from.line, startColumn: from.column, endLineNumber: to.line, endColumn: to.column }
}

monaco.editor.registerCommand(APPLY_FIX, (_accessor, edits: readonly TextEdit[], revision: number) => {
  if (useCode.getState().document?.revision === revision) editCode(edits)
})

monaco.languages.registerCodeActionProvider(PYTHON_LANGUAGE, {
  provideCodeActions(model, range) {
    const { document } = useCode.getState()
    if (document === null || model.uri.toString() !== CODE_MODEL_URI.toString()) return { actions: [], dispose() {} }
    const touched = document.diagnostics.filter((diagnostic) => diagnostic.line <= range.endLineNumber && range.startLineNumber <= diagnostic.endLine)
    return {
      dispose() {},
      actions: touched.flatMap((diagnostic) => diagnostic.fixes.map((fix) => ({
        title: localized(fix.title), kind: 'quickfix', isPreferred: fix.isPreferred, diagnostics: [markerOf(diagnostic)],
        command: { id: APPLY_FIX, title: localized(fix.title), arguments: [fix.edits, document.revision] },
      }))),
    }
  },
}, { providedCodeActionKinds: ['quickfix'] })

function markerOf({ line, column, endLine, endColumn, severity, message, code }: ConfigDiagnostic): monaco.editor.IMarkerData {
  return { startLineNumber: line, startColumn: column, endLineNumber: endLine, endColumn: Math.max(endColumn, endLine === line ? column + 1 : 1), severity: SEVERITIES[severity], message: localized(message), code }
}

/** `onSave`: Ctrl+S in the text. */
export function CodeEditor({ label, onSave }: { readonly label: string; readonly onSave: () => void }) {
  const host = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<monaco.editor.IStandaloneCodeEditor | null>(null)
  const theme = usePreferences((state) => state.theme)
  const language = usePreferences((state) => state.language)
  const diagnostics = useCode((state) => state.document?.diagnostics)
  const revision = useCode((state) => state.document?.revision ?? 0)
  const { line, column } = useCodeCursor()
  const first = useRef({ label, theme })

  useEffect(() => {
    if (!host.current) return
    const model = monaco.editor.createModel(useCode.getState().document?.text ?? '', PYTHON_LANGUAGE, CODE_MODEL_URI)
    withoutBracketColors(model)
    const created = monaco.editor.create(host.current, {
      ...EDITOR_OPTIONS, model, ariaLabel: first.current.label, theme: `npu-${first.current.theme}`, glyphMargin: false, lineDecorationsWidth: 12, renderLineHighlight: 'line', quickSuggestions: false,
      lightbulb: { enabled: monaco.editor.ShowLightbulbIconMode.OnCode }, hover: { enabled: 'on', above: true }, wordBasedSuggestions: 'currentDocument', formatOnPaste: false,
    })
    shownEditor = created
    const unfollow = followText(created, model)
    const cursor = created.onDidChangeCursorPosition(({ position }) => useCodeCursor.setState({ line: position.lineNumber, column: position.column }))
    setEditor(created)
    return () => {
      shownEditor = null
      setEditor(null)
      unfollow()
      cursor.dispose()
      created.dispose()
      model.dispose()
    }
  }, [])

  useEffect(() => {
    if (!editor) return
    const { KeyMod, KeyCode } = monaco
    const actions = [
      editor.addAction({ id: 'npu.save', label: 'Save', keybindings: [KeyMod.CtrlCmd | KeyCode.KeyS], run: onSave }),
      editor.addAction({ id: 'npu.nextProblem', label: 'Next problem', keybindings: [KeyCode.F8], run: () => { stepToCodeProblem(1) } }),
      editor.addAction({ id: 'npu.previousProblem', label: 'Previous problem', keybindings: [KeyMod.Shift | KeyCode.F8], run: () => { stepToCodeProblem(-1) } }),
    ]
    return () => actions.forEach((action) => action.dispose())
  }, [editor, onSave])

  useEffect(() => { editor?.updateOptions({ ariaLabel: label }) }, [editor, label])
  useEffect(() => { monaco.editor.setTheme(`npu-${theme}`) }, [theme])
  // Messages of the markers are in the language that is shown.
  useEffect(() => {
    const model = editor?.getModel()
    if (model) monaco.editor.setModelMarkers(model, MARKER_OWNER, (diagnostics ?? []).map(markerOf))
  }, [editor, language, diagnostics])

  return (
    <div className="npu-editor-text" data-testid="code-text">
      <div className="npu-editor-monaco" ref={host} />
      {editor && diagnostics && <ProblemZone editor={editor} diagnostics={diagnostics} version={revision} line={line} column={column} onFix={({ edits }) => editCode(edits)} />}
    </div>
  )
}

/** What is typed goes to the store; another text (another file, or what is on disk now) comes from it. */
function followText(editor: monaco.editor.IStandaloneCodeEditor, model: monaco.editor.ITextModel): () => void {
  let shown: CodeDocument | null = useCode.getState().document
  let isApplying = false
  const changes = model.onDidChangeContent((event) => {
    if (isApplying || shown === null) return
    const lines = new LineIndex(shown.text)
    const lineEnd = lineEndOf(shown.text)
    isApplying = true
    applyCodeEdits(event.changes.map(({ range, text }) => {
      const start = lines.offsetAt({ line: range.startLineNumber, column: range.startColumn })
      return { offset: start, length: lines.offsetAt({ line: range.endLineNumber, column: range.endColumn }) - start, text: text.replace(/\r\n|\r|\n/g, lineEnd) }
    }))
    isApplying = false
    shown = useCode.getState().document
  })
  const unsubscribe = useCode.subscribe(({ document }) => {
    if (isApplying || document === null) return
    const isOther = document.path !== shown?.path
    const isSameText = document.text === shown?.text
    shown = document
    if (isSameText && !isOther) return
    isApplying = true
    model.setValue(document.text)
    isApplying = false
    if (isOther) editor.setPosition({ lineNumber: 1, column: 1 })
  })
  return () => {
    changes.dispose()
    unsubscribe()
  }
}
