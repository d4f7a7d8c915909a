/** The code of a Python model as both sides see it. The rules about it (`server-core/model-code/`) are pure and run in the window too. */

/** What a model.py is judged against. null: not known, and rules that need it stay silent. */
export interface CodeContext {
  /** Names directly in the version directory, beside the model.py. */
  readonly versionFiles: readonly string[] | null
  /** Names directly in the model's directory. */
  readonly modelFiles: readonly string[] | null
  /** The config says `model_transaction_policy { decoupled: true }`. */
  readonly isDecoupled: boolean | null
}

/** The model.py of one version. */
export interface CodeFile {
  /** Absolute; of the file that a save writes. */
  readonly path: string
  /** Relative to the model's directory, with `/`: `1/model.py`. */
  readonly name: string
  readonly version: number
  /** All versions that have such a file, ascending. */
  readonly versions: readonly number[]
  /** As written, byte order mark and line ends included. */
  readonly text: string
  /** Of the bytes on disk. A save names it, and is refused when the file is another by then. */
  readonly hash: string
  readonly context: CodeContext
}

export type CodeSaveResult =
  | { readonly kind: 'saved'; readonly hash: string }
  /** The file on disk is not the one that was opened; null: it is gone. Nothing was written. */
  | { readonly kind: 'conflict'; readonly currentText: string | null; readonly currentHash: string | null }
