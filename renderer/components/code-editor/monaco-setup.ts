/** Monaco with what the editors of the window need of it, its colours, and the languages of config files and of Python. Loaded with the first of them. */
import * as monaco from 'monaco-editor/editor/editor.api'
import 'monaco-editor/features/bracketMatching/register'
import 'monaco-editor/features/caretOperations/register'
import 'monaco-editor/features/clipboard/register'
import 'monaco-editor/features/codeAction/register'
import 'monaco-editor/features/comment/register'
import 'monaco-editor/features/diffEditor/register'
import 'monaco-editor/features/documentSymbols/register'
import 'monaco-editor/features/find/register'
import 'monaco-editor/features/folding/register'
import 'monaco-editor/features/format/register'
import 'monaco-editor/features/gotoSymbol/register'
import 'monaco-editor/features/hover/register'
import 'monaco-editor/features/indentation/register'
import 'monaco-editor/features/lineSelection/register'
import 'monaco-editor/features/linesOperations/register'
import 'monaco-editor/features/multicursor/register'
import 'monaco-editor/features/quickOutline/register'
import 'monaco-editor/features/referenceSearch/register'
import 'monaco-editor/features/rename/register'
import 'monaco-editor/features/snippet/register'
import 'monaco-editor/editor/contrib/suggest/browser/suggestController'
import 'monaco-editor/features/wordOperations/register'
import EditorWorker from 'monaco-editor/editor/editor.worker?worker'
import type { ThemeName } from '../../theme/tokens.ts'
import { npuTokens } from '../../theme/tokens.ts'
import { PBTXT_LANGUAGE, pbtxtTokens } from './pbtxt-tokens.ts'
import { PYTHON_LANGUAGE, pythonTokens } from './python-tokens.ts'

self.MonacoEnvironment = { getWorker: () => new EditorWorker() }

monaco.languages.register({ id: PBTXT_LANGUAGE, extensions: ['.pbtxt'] })
monaco.languages.setMonarchTokensProvider(PBTXT_LANGUAGE, pbtxtTokens)
monaco.languages.setLanguageConfiguration(PBTXT_LANGUAGE, {
  comments: { lineComment: '#' },
  brackets: [['{', '}'], ['[', ']'], ['<', '>']],
  autoClosingPairs: [{ open: '{', close: '}' }, { open: '[', close: ']' }, { open: '"', close: '"', notIn: ['string', 'comment'] }],
  surroundingPairs: [{ open: '{', close: '}' }, { open: '[', close: ']' }, { open: '"', close: '"' }],
  indentationRules: { increaseIndentPattern: /[{[]\s*(?:#.*)?$/, decreaseIndentPattern: /^\s*[}\]]/ },
  onEnterRules: [
    { beforeText: /\{\s*$/, afterText: /^\s*\}/, action: { indentAction: monaco.languages.IndentAction.IndentOutdent } },
    { beforeText: /\[\s*$/, afterText: /^\s*\]/, action: { indentAction: monaco.languages.IndentAction.IndentOutdent } },
  ],
  wordPattern: /[A-Za-z_][\w.]*|\d+/,
})

monaco.languages.register({ id: PYTHON_LANGUAGE, extensions: ['.py'] })
monaco.languages.setMonarchTokensProvider(PYTHON_LANGUAGE, pythonTokens)
monaco.languages.setLanguageConfiguration(PYTHON_LANGUAGE, {
  comments: { lineComment: '#' },
  brackets: [['{', '}'], ['[', ']'], ['(', ')']],
  autoClosingPairs: [{ open: '{', close: '}' }, { open: '[', close: ']' }, { open: '(', close: ')' }, { open: '"', close: '"', notIn: ['string', 'comment'] }, { open: "'", close: "'", notIn: ['string', 'comment'] }],
  surroundingPairs: [{ open: '{', close: '}' }, { open: '[', close: ']' }, { open: '(', close: ')' }, { open: '"', close: '"' }, { open: "'", close: "'" }],
  folding: { offSide: true },
  onEnterRules: [{ beforeText: /^\s*(?:def|class|for|if|elif|else|while|try|with|finally|except|async|match|case)\b.*:\s*(?:#.*)?$/, action: { indentAction: monaco.languages.IndentAction.Indent } }],
})

interface Surface { readonly base: monaco.editor.BuiltinTheme; readonly ground: string; readonly text: string; readonly number: string; readonly current: string; readonly popup: string; readonly edge: string; readonly selected: string; readonly added: string; readonly removed: string }

const SURFACES: Readonly<Record<ThemeName, Surface>> = {
  light: { base: 'vs', ground: '#f8fafb', text: '#17202a', number: '#596573', current: '#eff3f7', popup: '#ffffff', edge: '#cdd5de', selected: '#e6effd', added: '#0d75440c', removed: '#bb261c0c' },
  dark: { base: 'vs-dark', ground: '#12181f', text: '#e9eef4', number: '#94a0ae', current: '#1f2832', popup: '#171e26', edge: '#34404e', selected: '#1c2c47', added: '#4cc38a12', removed: '#ff817812' },
  contrast: { base: 'hc-black', ground: '#000000', text: '#ffffff', number: '#ffffff', current: '#000000', popup: '#000000', edge: '#ffffff', selected: '#000000', added: '#00000000', removed: '#00000000' },
}

for (const name of Object.keys(SURFACES) as ThemeName[]) {
  const { base, ground, text, number, current, popup, edge, selected, added, removed } = SURFACES[name]
  const { synKey, synStr, synNum, synEnum, synCom } = npuTokens[name]
  monaco.editor.defineTheme(`npu-${name}`, {
    base, inherit: true,
    rules: ([['', text], ['key', synKey], ['string', synStr], ['string.escape', synNum], ['number', synNum], ['constant', synEnum], ['comment', synCom], ['delimiter', text]] as const).map(([token, color]) => ({ token, foreground: color.slice(1) })),
    colors: {
      'editor.background': ground, 'editor.foreground': text, 'editorLineNumber.foreground': number, 'editorLineNumber.activeForeground': text, 'editorLineNumber.dimmedForeground': number, 'editorGutter.background': ground,
      ...(name === 'contrast' ? {} : {
        'editor.lineHighlightBackground': current, 'editor.lineHighlightBorder': '#00000000', 'editorWidget.background': popup, 'editorWidget.border': edge, 'editorHoverWidget.background': popup, 'editorHoverWidget.border': edge,
        'editorSuggestWidget.background': popup, 'editorSuggestWidget.border': edge, 'editorSuggestWidget.selectedBackground': selected, 'editorSuggestWidget.foreground': text, 'editorSuggestWidget.selectedForeground': text,
        'diffEditor.insertedTextBackground': added, 'diffEditor.insertedLineBackground': added, 'diffEditor.removedTextBackground': removed, 'diffEditor.removedLineBackground': removed,
      }),
    },
  })
}

/** Of every editor of the window. */
export const EDITOR_OPTIONS: monaco.editor.IEditorOptions = {
  automaticLayout: true, minimap: { enabled: false }, scrollBeyondLastLine: false, lineNumbersMinChars: 4, renderFinalNewline: 'on', guides: { indentation: false, bracketPairs: false }, contextmenu: false, overviewRulerLanes: 0,
  fontFamily: '"Cascadia Mono", "Noto Sans Mono", "DejaVu Sans Mono", "Noto Sans Mono CJK SC", "Noto Sans SC", monospace', fontSize: 13, lineHeight: 20, padding: { top: 8, bottom: 8 },
  scrollbar: { verticalScrollbarSize: 10, horizontalScrollbarSize: 10, alwaysConsumeMouseWheel: false }, fixedOverflowWidgets: true,
}

export function withoutBracketColors(model: monaco.editor.ITextModel | null): void {
  model?.updateOptions({ bracketColorizationOptions: { enabled: false, independentColorPoolPerBracketType: false }, tabSize: model.getLanguageId() === PYTHON_LANGUAGE ? 4 : 2, insertSpaces: true })
}

export { monaco, PBTXT_LANGUAGE, PYTHON_LANGUAGE }
