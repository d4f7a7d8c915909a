/** Two texts side by side in Monaco's diff editor, read only. */
import { useEffect, useRef } from 'react'
import { usePreferences } from '../../preferences.ts'
import './code-editor.css'
import { EDITOR_OPTIONS, monaco, PBTXT_LANGUAGE, withoutBracketColors } from './monaco-setup.ts'

interface DiffViewProps {
  readonly before: string
  readonly after: string
  readonly beforeLabel: string
  readonly afterLabel: string
  /** Of both texts; default: the config language. */
  readonly language?: string
}

/** A comparison that is under way in the worker still needs its texts: what ends them waits for it. */
function afterDiff(editor: monaco.editor.IStandaloneDiffEditor, end: () => void): void {
  if (editor.getLineChanges() !== null) return end()
  const waiting = editor.onDidUpdateDiff(() => {
    waiting.dispose()
    end()
  })
}

export function DiffView({ before, after, beforeLabel, afterLabel, language = PBTXT_LANGUAGE }: DiffViewProps) {
  const host = useRef<HTMLDivElement>(null)
  const theme = usePreferences((state) => state.theme)
  const editor = useRef<monaco.editor.IStandaloneDiffEditor>(null)
  useEffect(() => {
    if (!host.current) return
    const created = monaco.editor.createDiffEditor(host.current, {
      ...EDITOR_OPTIONS, readOnly: true, originalEditable: false, renderSideBySide: true, useInlineViewWhenSpaceIsLimited: true, renderOverviewRuler: false, enableSplitViewResizing: true, hideUnchangedRegions: { enabled: true, minimumLineCount: 6, contextLineCount: 3 },
      ignoreTrimWhitespace: false, renderLineHighlight: 'none', renderGutterMenu: false, tabFocusMode: true, domReadOnly: true, theme: `npu-${usePreferences.getState().theme}`,
    })
    editor.current = created
    return () => {
      editor.current = null
      afterDiff(created, () => {
        const models = created.getModel()
        created.dispose()
        models?.original.dispose()
        models?.modified.dispose()
      })
    }
  }, [])
  useEffect(() => {
    const current = editor.current
    if (!current) return
    const old = current.getModel()
    const models = { original: monaco.editor.createModel(before, language), modified: monaco.editor.createModel(after, language) }
    withoutBracketColors(models.original)
    withoutBracketColors(models.modified)
    current.setModel(models)
    if (old) {
      afterDiff(current, () => {
        old.original.dispose()
        old.modified.dispose()
      })
    }
  }, [before, after, language])
  useEffect(() => {
    editor.current?.getOriginalEditor().updateOptions({ ariaLabel: beforeLabel })
    editor.current?.getModifiedEditor().updateOptions({ ariaLabel: afterLabel })
  }, [beforeLabel, afterLabel])
  useEffect(() => { monaco.editor.setTheme(`npu-${theme}`) }, [theme])
  return (
    <div className="npu-editor-diff">
      <div className="npu-editor-diff-heads npu-quiet"><span className="npu-cut">{beforeLabel}</span><span className="npu-cut">{afterLabel}</span></div>
      <div className="npu-editor-diff-host" ref={host} />
    </div>
  )
}
