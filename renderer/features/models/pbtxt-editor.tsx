/** Protobuf text format in a read-only Monaco editor. Its chunk loads with the first Config tab. */
import { useEffect, useRef } from 'react'
import * as monaco from 'monaco-editor/editor/editor.api'
import 'monaco-editor/features/clipboard/register'
import 'monaco-editor/features/find/register'
import 'monaco-editor/features/folding/register'
import EditorWorker from 'monaco-editor/editor/editor.worker?worker'
import { usePreferences } from '../../preferences.ts'
import { npuTokens, type ThemeName } from '../../theme/tokens.ts'
import { PBTXT_LANGUAGE, pbtxtTokens } from './pbtxt-tokens.ts'

self.MonacoEnvironment = { getWorker: () => new EditorWorker() }

monaco.languages.register({ id: PBTXT_LANGUAGE, extensions: ['.pbtxt'] })
monaco.languages.setMonarchTokensProvider(PBTXT_LANGUAGE, pbtxtTokens)
monaco.languages.setLanguageConfiguration(PBTXT_LANGUAGE, { comments: { lineComment: '#' }, brackets: [['{', '}'], ['[', ']'], ['<', '>']] })

const SURFACES: Readonly<Record<ThemeName, { readonly base: monaco.editor.BuiltinTheme; readonly ground: string; readonly text: string; readonly number: string }>> = {
  light: { base: 'vs', ground: '#f8fafb', text: '#17202a', number: '#596573' },
  dark: { base: 'vs-dark', ground: '#12181f', text: '#e9eef4', number: '#94a0ae' },
  contrast: { base: 'hc-black', ground: '#000000', text: '#ffffff', number: '#ffffff' },
}

for (const name of Object.keys(SURFACES) as ThemeName[]) {
  const { base, ground, text, number } = SURFACES[name]
  const { synKey, synStr, synNum, synEnum, synCom } = npuTokens[name]
  monaco.editor.defineTheme(`npu-${name}`, {
    base, inherit: true,
    rules: ([['', text], ['key', synKey], ['string', synStr], ['string.escape', synNum], ['number', synNum], ['constant', synEnum], ['comment', synCom], ['delimiter', text]] as const).map(([token, color]) => ({ token, foreground: color.slice(1) })),
    colors: { 'editor.background': ground, 'editor.foreground': text, 'editorLineNumber.foreground': number, 'editorLineNumber.activeForeground': text, 'editorGutter.background': ground },
  })
}

export function PbtxtEditor({ text, label }: { readonly text: string; readonly label: string }) {
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<monaco.editor.IStandaloneCodeEditor>(null)
  const theme = usePreferences((state) => state.theme)
  const first = useRef({ text, label, theme })
  useEffect(() => {
    if (!host.current) return
    const { text: value, label: ariaLabel, theme: startTheme } = first.current
    const created = monaco.editor.create(host.current, {
      value, ariaLabel, language: PBTXT_LANGUAGE, theme: `npu-${startTheme}`, readOnly: true, domReadOnly: true, automaticLayout: true, minimap: { enabled: false }, scrollBeyondLastLine: false,
      fontFamily: '"Cascadia Mono", "Noto Sans Mono", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "Noto Sans SC", monospace', fontSize: 13, lineHeight: 20, lineNumbersMinChars: 4, renderLineHighlight: 'none',
      // Tab leaves the editor: nothing can be typed here.
      tabFocusMode: true, guides: { indentation: false, bracketPairs: false }, contextmenu: false, wordWrap: 'on', overviewRulerLanes: 0, padding: { top: 8, bottom: 8 }, scrollbar: { verticalScrollbarSize: 10, horizontalScrollbarSize: 10, alwaysConsumeMouseWheel: false },
    })
    created.getModel()?.updateOptions({ bracketColorizationOptions: { enabled: false, independentColorPoolPerBracketType: false } })
    editor.current = created
    return () => {
      created.getModel()?.dispose()
      created.dispose()
      editor.current = null
    }
  }, [])
  useEffect(() => { if (editor.current && editor.current.getValue() !== text) editor.current.setValue(text) }, [text])
  useEffect(() => { editor.current?.updateOptions({ ariaLabel: label }) }, [label])
  useEffect(() => { monaco.editor.setTheme(`npu-${theme}`) }, [theme])
  return <div className="npu-pbtxt" ref={host} data-testid="config-text" />
}
