/**
 * What a rule of the config language is: it looks at one config and yields findings, each with what repairs it. Rules are pure; they run
 * in the server, on the command line and in the window's worker. The order of rules does not matter: findings are sorted by place.
 */
import type { ConfigContext, ConfigFix, DiagnosticSeverity, LocalizedText, TextEdit } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { insertItem, removeField, removeItem, removeMapEntry, setField, setMapEntry } from '../config-edit.ts'
import type { ConfigPath, ConfigValue } from '../config-edit.ts'
import { markedSpan } from '../config-path.ts'
import type { TensorSignature } from '../signature-problems.ts'
import type { PbtxtError, PbtxtSpan, PbtxtTree } from '../pbtxt-tree.ts'

export interface Finding {
  /** Kebab-case; one of the rule's `codes`. */
  readonly code: string
  readonly severity: DiagnosticSeverity
  /** What the finding is about: `span` where given, otherwise what `ConfigView.spanOf(path)` marks. */
  readonly path?: ConfigPath
  readonly span?: PbtxtSpan
  readonly message: LocalizedText
  readonly serverText?: string
  readonly fixes?: readonly ConfigFix[]
}

export interface ConfigRule {
  readonly codes: readonly string[]
  check(view: ConfigView): Iterable<Finding>
}

export interface Completion {
  readonly config: ModelConfig
  /** Of the model file; null: not known. */
  readonly signature: TensorSignature | null
}

/** Edits of the config under check, as `config-edit.ts` makes them. */
export interface ViewEdits {
  setField(path: ConfigPath, value: ConfigValue): TextEdit[]
  removeField(path: ConfigPath): TextEdit[]
  insertItem(path: ConfigPath, index: number, value: ConfigValue): TextEdit[]
  removeItem(path: ConfigPath, index: number): TextEdit[]
  setMapEntry(path: ConfigPath, key: string, value: ConfigValue): TextEdit[]
  removeMapEntry(path: ConfigPath, key: string): TextEdit[]
}

export interface ConfigView {
  readonly text: string
  readonly tree: PbtxtTree
  /** Of the parser. */
  readonly errors: readonly PbtxtError[]
  /** As written, with schema defaults; null while the text has syntax or schema errors. Its name is never made up. */
  readonly config: ModelConfig | null
  /** `config` with name, backend, platform and file name inferred and Triton's defaults applied; null where `config` is, or no backend is known. */
  readonly normalized: ModelConfig | null
  /**
   * `normalized` as a load leaves it: completed from the model file where the backend does that, once for each kind of file among the versions
   * that would be loaded; as it is where no file is known. Empty where `normalized` is null.
   */
  readonly completions: readonly Completion[]
  readonly context: ConfigContext
  /** For texts: the config's name, else the directory's, else `model`. */
  readonly modelName: string
  /** What to underline for a path; of what is not written, the nearest thing around it. */
  spanOf(path: ConfigPath): PbtxtSpan
  readonly edit: ViewEdits
}

export function viewEdits(tree: PbtxtTree): ViewEdits {
  return {
    setField: (path, value) => setField(tree, path, value),
    removeField: (path) => removeField(tree, path),
    insertItem: (path, index, value) => insertItem(tree, path, index, value),
    removeItem: (path, index) => removeItem(tree, path, index),
    setMapEntry: (path, key, value) => setMapEntry(tree, path, key, value),
    removeMapEntry: (path, key) => removeMapEntry(tree, path, key),
  }
}

export function spanOfPath(tree: PbtxtTree, path: ConfigPath): PbtxtSpan {
  return markedSpan(tree, path)
}

/** A fix applied without asking. */
export function preferredFix(en: string, zh: string, edits: readonly TextEdit[]): ConfigFix {
  return { title: { en, 'zh-CN': zh }, edits, isPreferred: true }
}

/** A fix among others, or one that decides something for the user. */
export function otherFix(en: string, zh: string, edits: readonly TextEdit[]): ConfigFix {
  return { title: { en, 'zh-CN': zh }, edits, isPreferred: false }
}

/** A message in both languages. */
export function say(en: string, zh: string): LocalizedText {
  return { en, 'zh-CN': zh }
}
