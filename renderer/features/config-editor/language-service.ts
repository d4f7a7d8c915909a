/** What Monaco asks about the config being edited: completion, hover, light-bulb fixes, format, outline. Answers come from the document. */
import type { ConfigDiagnostic, TextEdit } from '../../../server-core/contract/config-language.ts'
import { MODEL_CONFIG_SCHEMA } from '../../../server-core/model-config/config-schema.ts'
import { formatConfig } from '../../../server-core/model-config/format-config.ts'
import type { PbtxtField, PbtxtMessage } from '../../../server-core/model-config/pbtxt-tree.ts'
import { localized } from '../../lib/localized-text.ts'
import { applyEdits, useConfigDocument } from './config-document.ts'
import { completionsAt, scalarText } from './completion.ts'
import { hoverText } from './hover-text.ts'
import { LineIndex } from '../../lib/line-index.ts'
import { monaco, PBTXT_LANGUAGE } from '../../components/code-editor/monaco-setup.ts'

/** The model of the text editor; no other is served. */
export const CONFIG_MODEL_URI = monaco.Uri.parse('npu-config:/config.pbtxt')

const APPLY_EDITS = 'npu.applyConfigEdits'

let cached: { readonly text: string; readonly lines: LineIndex } = { text: '', lines: new LineIndex('') }

/** Lines of the document's text; made once per text. */
export function documentLines(): LineIndex {
  const { text } = useConfigDocument.getState()
  if (cached.text !== text) cached = { text, lines: new LineIndex(text) }
  return cached.lines
}

export function rangeOf(lines: LineIndex, start: number, end: number): monaco.IRange {
  const from = lines.positionAt(start)
  const to = lines.positionAt(end)
  return { startLineNumber: from.line, startColumn: from.column, endLineNumber: to.line, endColumn: to.column }
}

export function offsetOf(lines: LineIndex, position: monaco.IPosition): number {
  return lines.offsetAt({ line: position.lineNumber, column: position.column })
}

/** The model of the document, not one of another editor. */
export function isServed(model: monaco.editor.ITextModel): boolean {
  return model.uri.toString() === CONFIG_MODEL_URI.toString()
}

const COMPLETION_KINDS = {
  field: monaco.languages.CompletionItemKind.Field, value: monaco.languages.CompletionItemKind.EnumMember, tensor: monaco.languages.CompletionItemKind.Variable, parameter: monaco.languages.CompletionItemKind.Property,
} as const

monaco.editor.registerCommand(APPLY_EDITS, (_accessor, edits: readonly TextEdit[], version: number) => {
  if (useConfigDocument.getState().version === version) applyEdits(edits, 'fix')
})

monaco.languages.registerCompletionItemProvider(PBTXT_LANGUAGE, {
  triggerCharacters: ['"', ':', '[', '{', '_'],
  provideCompletionItems(model, position) {
    if (!isServed(model)) return { suggestions: [] }
    const { tree, context } = useConfigDocument.getState()
    const lines = documentLines()
    const { entries, start, end } = completionsAt(tree, offsetOf(lines, position), context)
    const range = rangeOf(lines, start, end)
    return {
      suggestions: entries.map((entry, index) => {
        const documentation = entry.meaning ? localized(entry.meaning) : entry.field ? hoverText(entry.field.message, entry.field.name) : undefined
        return {
          label: entry.label, kind: COMPLETION_KINDS[entry.kind], detail: entry.detail, range, insertText: entry.snippet, insertTextRules: monaco.languages.CompletionItemInsertTextRule.InsertAsSnippet,
          // In quotes the word that is typed begins with the quote.
          filterText: model.getValueInRange(range).startsWith('"') ? `"${entry.label}"` : entry.label, sortText: `${entry.isLikely === true ? 0 : 1}${String(index).padStart(4, '0')}`,
          ...(documentation === undefined ? {} : { documentation: { value: documentation } }),
          ...(/:\s*\$0$/.test(entry.snippet) ? { command: { id: 'editor.action.triggerSuggest', title: '' } } : {}),
        }
      }),
    }
  },
})

monaco.languages.registerHoverProvider(PBTXT_LANGUAGE, {
  provideHover(model, position) {
    if (!isServed(model)) return null
    const lines = documentLines()
    const { tree } = useConfigDocument.getState()
    const found = fieldNamedAt(tree.root, offsetOf(lines, position), MODEL_CONFIG_SCHEMA.fullName)
    if (found === null) return null
    const text = hoverText(found.message, found.field.name)
    const name = found.field.nameTokens[0]
    return text === undefined || name === undefined ? null : { contents: [{ value: text }], range: rangeOf(lines, name.offset, name.offset + name.text.length) }
  },
})

/** The field whose name lies at the offset. */
function fieldNamedAt(message: PbtxtMessage, offset: number, messageName: string): { readonly field: PbtxtField; readonly message: string } | null {
  const field = message.fields.find((candidate) => candidate.start <= offset && offset <= candidate.end)
  if (field === undefined || field.schema === null) return null
  const last = field.nameTokens.at(-1)
  if (last && offset <= last.offset + last.text.length) return { field, message: messageName }
  const inner = field.values.find((value): value is PbtxtMessage => value.kind === 'message' && value.start <= offset && offset <= value.end)
  return inner && field.schema.type.kind === 'message' ? fieldNamedAt(inner, offset, field.schema.type.message.fullName) : null
}

monaco.languages.registerCodeActionProvider(PBTXT_LANGUAGE, {
  provideCodeActions(model, range) {
    if (!isServed(model)) return { actions: [], dispose() {} }
    const { diagnostics, version } = useConfigDocument.getState()
    const lines = documentLines()
    const touched = diagnostics.filter((diagnostic) => monaco.Range.areIntersectingOrTouching(rangeOf(lines, diagnostic.offset, diagnostic.offset + diagnostic.length), range)
      || (diagnostic.line === range.startLineNumber && range.startLineNumber === range.endLineNumber))
    return {
      dispose() {},
      actions: touched.flatMap((diagnostic) => diagnostic.fixes.map((fix) => ({
        title: localized(fix.title), kind: 'quickfix', isPreferred: fix.isPreferred, diagnostics: [markerOf(diagnostic, lines)],
        command: { id: APPLY_EDITS, title: localized(fix.title), arguments: [fix.edits, version] },
      }))),
    }
  },
}, { providedCodeActionKinds: ['quickfix'] })

const SEVERITIES = { error: monaco.MarkerSeverity.Error, warning: monaco.MarkerSeverity.Warning, info: monaco.MarkerSeverity.Info, hint: monaco.MarkerSeverity.Hint } as const

export function markerOf(diagnostic: ConfigDiagnostic, lines: LineIndex): monaco.editor.IMarkerData {
  // A place of no width is shown as the character there.
  const range = rangeOf(lines, diagnostic.offset, diagnostic.offset + Math.max(1, diagnostic.length))
  return { ...range, severity: SEVERITIES[diagnostic.severity], message: localized(diagnostic.message), code: diagnostic.code }
}

monaco.languages.registerDocumentFormattingEditProvider(PBTXT_LANGUAGE, {
  provideDocumentFormattingEdits(model) {
    if (!isServed(model)) return []
    const lines = documentLines()
    return formatConfig(useConfigDocument.getState().text).map((edit) => ({ range: rangeOf(lines, edit.offset, edit.offset + edit.length), text: edit.text }))
  },
})

monaco.languages.registerDocumentSymbolProvider(PBTXT_LANGUAGE, {
  provideDocumentSymbols(model) {
    return isServed(model) ? symbolsOf(useConfigDocument.getState().tree.root, documentLines()) : []
  },
})

function symbolsOf(message: PbtxtMessage, lines: LineIndex): monaco.languages.DocumentSymbol[] {
  return message.fields.flatMap((field) => {
    const name = field.nameTokens[0]
    if (name === undefined) return []
    const messages = field.values.filter((value): value is PbtxtMessage => value.kind === 'message')
    const scalar = field.values.length === 1 && field.values[0]?.kind === 'scalar' ? field.values[0].tokens.map((token) => token.text).join('') : ''
    const symbol = (start: number, end: number, detail: string, children: monaco.languages.DocumentSymbol[]): monaco.languages.DocumentSymbol => {
      const range = rangeOf(lines, start, end)
      return { name: field.name, detail, kind: children.length > 0 ? monaco.languages.SymbolKind.Object : monaco.languages.SymbolKind.Field, tags: [], range, selectionRange: { ...range, endLineNumber: range.startLineNumber, endColumn: range.startColumn }, children }
    }
    if (messages.length === 0) return [symbol(field.start, field.end, scalar, [])]
    return messages.map((value) => symbol(field.list === null ? field.start : value.start, value.end, scalarText(value, 'name') || scalarText(value, 'key'), symbolsOf(value, lines)))
  })
}
