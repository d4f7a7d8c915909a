/**
 * Tensors in the text view: from a tensor of an ensemble to the other end of its edge (F12, Ctrl+click), to all its places (Shift+F12), from a key of
 * a map or `model_name` to the member model's config, and renaming (F2). What is where comes from the config language (`ensemble-graph.ts`,
 * `tensor-rename.ts`); here it becomes Monaco's ranges.
 */
import { endAt, endsOfTensor, insideQuotes, memberLinkAt, otherEnds, tensorNamed, tensorNames } from '../../../server-core/model-config/ensemble-graph.ts'
import type { EnsembleEnd, MemberLink } from '../../../server-core/model-config/ensemble-graph.ts'
import { parsePbtxt } from '../../../server-core/model-config/pbtxt-parser.ts'
import { printModelConfig } from '../../../server-core/model-config/print-config.ts'
import { renameTargetAt, renameTensor } from '../../../server-core/model-config/tensor-rename.ts'
import { localized } from '../../lib/localized-text.ts'
import { useConfigDocument } from './config-document.ts'
import { openTensor, setNotice } from './editor-view-store.ts'
import type { ModelTensor } from './editor-view-store.ts'
import { CONFIG_MODEL_URI, documentLines, isServed, offsetOf, rangeOf } from './language-service.ts'
import { LineIndex } from '../../lib/line-index.ts'
import { monaco, PBTXT_LANGUAGE } from '../../components/code-editor/monaco-setup.ts'

/** What can be done with the tensor or member at a place of the text; null: nothing. */
export interface TensorPlaceActions {
  /** Of an ensemble tensor. */
  readonly end: EnsembleEnd | null
  readonly link: MemberLink | null
  /** The member is a model of this repository. */
  readonly isMemberKnown: boolean
  readonly canRename: boolean
}

export function tensorActionsAt(offset: number): TensorPlaceActions | null {
  const { tree, context } = useConfigDocument.getState()
  const end = endAt(tree, offset)
  const link = memberLinkAt(tree, offset)
  const canRename = renameTargetAt(tree, offset, context).kind === 'tensor'
  return end === null && link === null && !canRename ? null : { end, link, canRename, isMemberKnown: link !== null && Object.hasOwn(context.models, link.modelName) }
}

function locationOf(end: EnsembleEnd): monaco.languages.Location {
  const { start, end: last } = insideQuotes(end.literal)
  return { uri: CONFIG_MODEL_URI, range: rangeOf(documentLines(), start, last) }
}

monaco.languages.registerDefinitionProvider(PBTXT_LANGUAGE, {
  provideDefinition(model, position) {
    if (!isServed(model)) return []
    const { tree } = useConfigDocument.getState()
    const lines = documentLines()
    const offset = offsetOf(lines, position)
    const end = endAt(tree, offset)
    const link = memberLinkAt(tree, offset)
    const literal = end?.literal ?? link?.literal
    if (literal === undefined) return []
    const inside = insideQuotes(literal)
    const originSelectionRange = rangeOf(lines, inside.start, inside.end)
    const targets = end !== null ? otherEnds(tree, end).map(locationOf) : link !== null ? memberLocations(link) : []
    return targets.map((target) => ({ ...target, targetSelectionRange: target.range, originSelectionRange }))
  },
})

monaco.languages.registerReferenceProvider(PBTXT_LANGUAGE, {
  provideReferences(model, position, { includeDeclaration }) {
    if (!isServed(model)) return []
    const { tree } = useConfigDocument.getState()
    const end = endAt(tree, offsetOf(documentLines(), position))
    return end === null ? [] : endsOfTensor(tree, end.tensor).filter(({ isProducer }) => includeDeclaration || !isProducer).map(locationOf)
  },
})

/** The configs of members as the server completes them, for Monaco to show a line of; a jump opens the model's own page. */
const MEMBERS = '/members/'

function memberUri(name: string): monaco.Uri {
  return CONFIG_MODEL_URI.with({ path: `${MEMBERS}${encodeURIComponent(name)}` })
}

function memberLocations({ modelName, tensor }: MemberLink): monaco.languages.Location[] {
  const { models } = useConfigDocument.getState().context
  const config = Object.hasOwn(models, modelName) ? models[modelName]?.config : undefined
  if (config === undefined) return []
  const text = printModelConfig(config)
  const uri = memberUri(modelName)
  const shown = monaco.editor.getModel(uri)
  if (shown === null) monaco.editor.createModel(text, PBTXT_LANGUAGE, uri)
  else if (shown.getValue() !== text) shown.setValue(text)
  const literal = tensor === null ? null : tensorNamed(parsePbtxt(text).tree, tensor.role, tensor.name)
  const inside = literal === null ? { start: 0, end: 0 } : insideQuotes(literal)
  return [{ uri, range: rangeOf(new LineIndex(text), inside.start, inside.end) }]
}

function tensorAt(text: string, position: monaco.IPosition): ModelTensor | null {
  const { root } = parsePbtxt(text).tree
  const offset = offsetOf(new LineIndex(text), position)
  for (const role of ['input', 'output'] as const) {
    const found = tensorNames(root, role).find(({ literal }) => literal.start <= offset && offset <= literal.end)
    if (found !== undefined) return { role, name: found.name }
  }
  return null
}

monaco.editor.registerEditorOpener({
  openCodeEditor(_source, { path, scheme }, place) {
    if (scheme !== CONFIG_MODEL_URI.scheme || !path.startsWith(MEMBERS)) return false
    const name = decodeURIComponent(path.slice(MEMBERS.length))
    const model = monaco.editor.getModel(memberUri(name))
    const position = place === undefined ? null : 'lineNumber' in place ? place : { lineNumber: place.startLineNumber, column: place.startColumn }
    openTensor(name, model === null || position === null ? null : tensorAt(model.getValue(), position))
    return true
  },
})

/** Call when the text view goes. */
export function forgetMembers(): void {
  for (const model of monaco.editor.getModels()) if (model.uri.scheme === CONFIG_MODEL_URI.scheme && model.uri.path.startsWith(MEMBERS)) model.dispose()
}

monaco.languages.registerRenameProvider(PBTXT_LANGUAGE, {
  resolveRenameLocation(model, position) {
    const here = { startLineNumber: position.lineNumber, startColumn: position.column, endLineNumber: position.lineNumber, endColumn: position.column }
    if (!isServed(model)) return null
    const { tree, context } = useConfigDocument.getState()
    const lines = documentLines()
    const target = renameTargetAt(tree, offsetOf(lines, position), context)
    if (target.kind === 'refused') return { range: here, text: '', rejectReason: localized(target.reason) }
    return { range: rangeOf(lines, target.span.start, target.span.end), text: target.name }
  },
  provideRenameEdits(model, position, newName) {
    if (!isServed(model)) return null
    const { tree, context, modelName, version } = useConfigDocument.getState()
    const lines = documentLines()
    const result = renameTensor(tree, offsetOf(lines, position), newName, context)
    const texts = result.kind === 'refused' ? [result.reason] : result.notes
    setNotice(texts.length === 0 || modelName === null ? null : { modelName, version: result.kind === 'renamed' ? version + 1 : version, kind: result.kind, texts })
    // Monaco only logs a reason; the notice shows it.
    if (result.kind === 'refused') return { edits: [], rejectReason: localized(result.reason) }
    return { edits: result.edits.map(({ offset, length, text }) => ({ resource: model.uri, versionId: model.getVersionId(), textEdit: { range: rangeOf(lines, offset, offset + length), text } })) }
  },
})
