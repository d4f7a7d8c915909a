/**
 * The config language as both sides see it: what is wrong with a config.pbtxt, what repairs it, and what it is judged against. The rules
 * themselves (`server-core/model-config/`) are pure and run in the server, on the command line and in the window's worker alike.
 */
import type { ModelConfig } from './model-config.ts'

/** Replaces `length` UTF-16 units at `offset` by `text`. Edits of one list do not overlap and all speak of the text before any of them. */
export interface TextEdit {
  readonly offset: number
  readonly length: number
  readonly text: string
}

export interface LocalizedText {
  readonly en: string
  readonly 'zh-CN': string
}

export type DiagnosticSeverity = 'error' | 'warning' | 'info' | 'hint'

export interface ConfigFix {
  readonly title: LocalizedText
  readonly edits: readonly TextEdit[]
  /** The one to apply without asking (`check --fix`, "Apply fix"); at most one per diagnostic. */
  readonly isPreferred: boolean
}

export interface ConfigDiagnostic {
  /** Stable name of the rule, kebab-case: `dims-contain-batch`. */
  readonly code: string
  readonly severity: DiagnosticSeverity
  readonly message: LocalizedText
  /** The server's literal text where a load would fail with one. */
  readonly serverText?: string
  readonly offset: number
  readonly length: number
  /** 1-based; columns count UTF-16 units, as editors do. */
  readonly line: number
  readonly column: number
  readonly endLine: number
  readonly endColumn: number
  readonly fixes: readonly ConfigFix[]
}

/** One tensor of a model file. `shape`: number, symbol name, or -1 where the file gives neither. */
export interface FileTensor {
  readonly name: string
  /** Protocol name (`FP32`); null: a type that the server has no name for. */
  readonly datatype: string | null
  /** The model file's own name of the element type (ONNX: `FLOAT16`), for texts. */
  readonly elementType?: string
  readonly shape: readonly (number | string)[]
  /** True: the file says nothing about the rank, and `shape` is []. */
  readonly hasUnknownRank?: boolean
}

export interface FileSignature {
  readonly inputs: readonly FileTensor[]
  readonly outputs: readonly FileTensor[]
}

/** What CANN says of an .om file, in the form that a config is judged against. */
export interface OmFile extends FileSignature {
  /** `dynamic`: runs with any shape. */
  readonly graph: 'static' | 'gears' | 'dynamic'
  /** Shapes that the file was compiled for; empty unless `graph` is `gears`. */
  readonly gears: readonly { readonly text: string; readonly inputs: readonly (readonly number[])[] }[]
  /** Batch sizes of the gears, ascending; null: the batch is no part of them. */
  readonly batchSizes: readonly number[] | null
}

export interface ConfigContextVersion {
  readonly version: number
  /** Names directly in the version directory. */
  readonly files: readonly string[]
  /** Of the model file, where it can be read offline (ONNX); null: unknown. */
  readonly signature: FileSignature | null
  /** The file that `signature` describes; absent: not said. */
  readonly signatureFile?: string
  /** Of the .om file, where CANN is there to ask; absent: there is none, or it is not known. */
  readonly om?: OmFile
}

export interface MachineContext {
  readonly cpuCount: number
  readonly gpuCount: number
  /** null: no NPU found or not known; chips by card, names of `ascend-chips.json`. */
  readonly npus: readonly { readonly card: number; readonly chip: string }[] | null
}

/** What a config is judged against. null or empty parts mean "not known": rules that need them stay silent. */
export interface ConfigContext {
  /** Name of the model directory; null for a lone file. */
  readonly modelName: string | null
  readonly versions: readonly ConfigContextVersion[]
  /** Other models of the repository, by name: their normalised configs and versions. For ensembles. */
  readonly models: Readonly<Record<string, { readonly config: ModelConfig; readonly versions: readonly number[] }>>
  /** Files of the model directory outside the versions, relative with `/` (labels, warmup/..., initial_state/...), with their sizes. */
  readonly files: Readonly<Record<string, number>>
  readonly machine: MachineContext | null
  /** Backends this server can run. */
  readonly backends: readonly string[] | null
  /** The server runs with --disable-auto-complete-config: a config must say everything itself. */
  readonly isAutoCompleteOff?: boolean
}

/** A context in which nothing is known: syntax, schema and Triton's own validation only. */
export const EMPTY_CONFIG_CONTEXT: ConfigContext = { modelName: null, versions: [], models: {}, files: {}, machine: null, backends: null }
