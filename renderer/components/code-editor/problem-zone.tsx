/** The problem of the cursor's line, in a gap below that line: what is wrong, the server's words, and the fixes. It never covers text. */
import { useEffect, useLayoutEffect, useMemo, useState } from 'react'
import { createPortal } from 'react-dom'
import { useTranslation } from 'react-i18next'
import type { ConfigDiagnostic, ConfigFix } from '../../../server-core/contract/config-language.ts'
import { localized } from '../../lib/localized-text.ts'
import { FixIcon } from '../icons.tsx'
import { SeverityMark } from '../severity-mark.tsx'
import type { monaco } from './monaco-setup.ts'
import './code-editor.css'

/** A line that is being typed in is not pushed about. */
const QUIET_MILLISECONDS = 400

interface ProblemZoneProps {
  readonly editor: monaco.editor.IStandaloneCodeEditor
  readonly diagnostics: readonly ConfigDiagnostic[]
  /** Of the text: rises with every change. */
  readonly version: number
  /** Of the cursor. `column`: where a line has several problems, the one there is shown. */
  readonly line: number
  readonly column?: number
  readonly onFix: (fix: ConfigFix) => void
}

export function ProblemZone({ editor, diagnostics, version, line, column, onFix }: ProblemZoneProps) {
  const [quietVersion, setQuietVersion] = useState(version)
  const [dismissed, setDismissed] = useState<string | null>(null)
  useEffect(() => {
    const timer = setTimeout(() => setQuietVersion(version), QUIET_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [version])
  const problems = diagnostics.filter((diagnostic) => diagnostic.line <= line && line <= diagnostic.endLine && (diagnostic.line === line || diagnostic.endLine - diagnostic.line < 3) && (diagnostic.severity === 'error' || diagnostic.severity === 'warning'))
  const problem = problems.find((diagnostic) => column !== undefined && diagnostic.line === line && diagnostic.column <= column && (diagnostic.endLine > line || column <= diagnostic.endColumn)) ?? problems[0]
  const key = problem === undefined ? null : `${problem.code} ${problem.line} ${problem.column}`
  if (problem === undefined || quietVersion !== version || dismissed === key) return null
  return <Zone key={key} editor={editor} problem={problem} onFix={onFix} onClose={() => { setDismissed(key); editor.focus() }} />
}

function place(node: HTMLElement, style: Partial<CSSStyleDeclaration>): void {
  Object.assign(node.style, style)
}

function Zone({ editor, problem, onFix, onClose }: Pick<ProblemZoneProps, 'editor' | 'onFix'> & { readonly problem: ConfigDiagnostic; readonly onClose: () => void }) {
  const { t } = useTranslation('config-editor')
  const node = useMemo(() => Object.assign(document.createElement('div'), { className: 'npu-editor-zone' }), [])
  const [height, setHeight] = useState(0)
  const { endLine } = problem

  useEffect(() => {
    const widget: monaco.editor.IOverlayWidget = { getId: () => 'npu.problemZone', getDomNode: () => node, getPosition: () => null }
    editor.addOverlayWidget(widget)
    const layout = () => {
      const { contentLeft, contentWidth } = editor.getLayoutInfo()
      place(node, { left: `${contentLeft}px`, width: `${Math.min(Math.max(contentWidth - 24, 200), 640)}px` })
    }
    layout()
    const stop = editor.onDidLayoutChange(layout)
    return () => {
      stop.dispose()
      editor.removeOverlayWidget(widget)
    }
  }, [editor, node])

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(node.offsetHeight))
    observer.observe(node)
    return () => observer.disconnect()
  }, [node])

  useEffect(() => {
    if (height === 0) return
    let id = ''
    editor.changeViewZones((zones) => {
      id = zones.addZone({ afterLineNumber: endLine, heightInPx: height + 8, domNode: document.createElement('div'), suppressMouseDown: true, onDomNodeTop: (top) => place(node, { top: `${top + 4}px` }) })
    })
    // The whole of it is seen, not only its first line.
    const bottom = editor.getBottomForLineNumber(endLine) + height + 12
    const overflow = bottom - editor.getScrollTop() - editor.getLayoutInfo().height
    if (overflow > 0 && overflow < height + 40) editor.setScrollTop(editor.getScrollTop() + overflow)
    return () => editor.changeViewZones((zones) => zones.removeZone(id))
  }, [editor, node, endLine, height])

  return createPortal(
    <div role="group" aria-label={localized(problem.message)} onKeyDown={(event) => { if (event.key === 'Escape') onClose() }}>
      <div className="npu-row npu-editor-zone-head">
        <SeverityMark severity={problem.severity} /><b className="npu-editor-zone-message">{localized(problem.message)}</b><span className="npu-grow" /><span className="npu-mono npu-quiet">{problem.code}</span>
      </div>
      {problem.serverText !== undefined && problem.serverText !== problem.message.en && <p className="npu-editor-zone-server npu-quiet">{t('problem.engineSays')} <span className="npu-mono">{problem.serverText}</span></p>}
      {problem.fixes.map((fix, index) => (
        <button key={index} type="button" className={fix.isPreferred ? 'npu-editor-zone-fix npu-editor-zone-preferred' : 'npu-editor-zone-fix'} onClick={() => { onFix(fix); editor.focus() }}>
          <FixIcon /><span>{localized(fix.title)}</span><span className="npu-grow" />{index === 0 && <kbd className="npu-editor-kbd">Ctrl+.</kbd>}
        </button>
      ))}
    </div>,
    node,
  )
}
