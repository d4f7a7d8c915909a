/**
 * The whole agreement between the console window and the server: commands, events, and how they travel.
 *
 * Transport: one WebSocket at `/console` on the console port. It is opened with the token: the cookie `npu_console_token` (browser mode)
 * or the query parameter `token` (desktop). Text frames carry JSON; `Uint8Array` values anywhere in arguments or results travel in binary
 * frames: a message with bytes is ONE binary frame, laid out as
 *   u32 little-endian length of the JSON part, JSON part (UTF-8), then the byte chunks one after another,
 * where each Uint8Array in the JSON is replaced by `{ "$bytes": [offset, length] }`, offset counted from the end of the JSON part.
 * bigint values travel as `{ "$bigint": "123" }`. See `console-codec.ts`, used by both sides.
 */
import type { ConfigContext, LocalizedText } from './config-language.ts'
import type { DevicesReport, DoctorReport, NpuFallback, NpuSource, SimulatedFault, SimulatedNpuReport } from './devices.ts'
import type { EnsembleGraph } from './ensemble.ts'
import type { ErrorValue } from './errors.ts'
import type { InferenceRequest, InferenceResponse, ModelMetadata } from './inference.ts'
import type { CodeFile, CodeSaveResult } from './model-code.ts'
import type { ModelConfig } from './model-config.ts'
import type { PythonInterpreter } from './python-interpreters.ts'
import type { ModelControlMode, ModelSummary, TrafficSplitSettings } from './repository.ts'
import type { RepositoryTrustReport } from './repository-trust.ts'
import type { ServerSample } from './statistics.ts'

export type LogLevel = 'error' | 'warning' | 'info' | 'verbose'

export interface LogEntry {
  /** Increases by one per entry. */
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly level: LogLevel
  /** Part of the server that speaks, e.g. 'model-lifecycle'. */
  readonly source: string
  /** A fixed sentence. */
  readonly message: string
  /** Facts as fields; `model` where the entry is about one. */
  readonly fields: Readonly<Record<string, string | number | boolean>>
  /** The cards of this server are simulated: said wherever the entry is shown or printed, since lines get copied. Absent: they are not. */
  readonly isSimulated?: true
}

export interface ListeningAddress {
  readonly address: string
  readonly port: number
}

export interface ServerStatus {
  readonly id: string
  readonly version: string
  /** Of this server process: changes when it restarts. */
  readonly instanceId: string
  readonly state: 'STARTING' | 'READY' | 'EXITING'
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly controlMode: ModelControlMode
  readonly repositoryPaths: readonly string[]
  readonly http: ListeningAddress | null
  readonly grpc: ListeningAddress | null
  readonly metrics: ListeningAddress | null
  readonly console: ListeningAddress | null
  readonly processId: number
  readonly nodeVersion: string
  readonly onnxRuntimeVersion: string | null
  readonly platform: string
  readonly cpuCount: number
  readonly totalMemoryBytes: number
  /** null: no NPU found. */
  readonly npuCount: number | null
  /** Of the CANN that the Doctor finds; null: none, its version is not known, or the cards are simulated. */
  readonly cannVersion: string | null
  /** As the cards' driver says; null: no NPU found, or it does not say. */
  readonly driverVersion: string | null
  /** `--npu`: 'simulated' is to be said wherever cards are shown. */
  readonly npuSource: NpuSource
  /** `--npu-fallback`; the parameter `npu_fallback` of a model overrules it. */
  readonly npuFallback: NpuFallback
  /** `server.restart` works: somebody can start this server again. */
  readonly canRestart: boolean
  /** `--repository-trust`, and the repositories that were trusted. */
  readonly repositoryTrust: RepositoryTrustReport
}

/** What another start is to differ in; what is left out stays. */
export interface ServerRestart {
  readonly npuSource?: NpuSource
  readonly npuFallback?: NpuFallback
  /** Names of profiles, one a card. */
  readonly simulatedCards?: readonly string[]
  /** `--npu-simulated-time-scale`: from 0. */
  readonly simulatedTimeScale?: number
  /** `--cann-set-env`: a path, `auto` or `none`. */
  readonly cannSetEnv?: string
}

/** A sample input that lies beside a model under `samples/`. */
export interface SampleInput {
  /** Relative to the model directory. */
  readonly path: string
  readonly byteSize: number
  readonly mediaType: string
}

export interface ModelDetail {
  readonly summary: ModelSummary
  /** Null while not loaded. */
  readonly metadata: ModelMetadata | null
  /** The normalised config in use; null while not loaded. */
  readonly config: ModelConfig | null
  /** config.pbtxt as written, or null where there is none. */
  readonly configText: string | null
  /** The config in use in text format; null while not loaded. */
  readonly effectiveConfigText: string | null
  readonly samples: readonly SampleInput[]
  /** Last log entries about this model, oldest first: the excerpt behind a failure. */
  readonly log: readonly LogEntry[]
}

export interface InferenceTiming {
  readonly queueNanoseconds: number
  readonly computeInputNanoseconds: number
  readonly computeInferNanoseconds: number
  readonly computeOutputNanoseconds: number
  readonly totalNanoseconds: number
  /** Total batch size of the execution that this request was part of. */
  readonly batchSize: number
}

/** A Python model to begin with, which comes with the program. */
export interface ModelTemplate {
  /** Of its folder, and of the model that is made of it. */
  readonly name: string
  readonly title: LocalizedText
  readonly summary: LocalizedText
  /** Modules that its interpreter has to have. */
  readonly modules: readonly string[]
}

/** What is to be imported: paths of this machine where the window knows them (desktop), or files whose bytes it will send. */
export type ModelImportSource =
  /** Absolute: the files of one model, or one folder. */
  | { readonly kind: 'local'; readonly paths: readonly string[] }
  /** `path`: relative to what was dropped, with `/`; below a folder where one was dropped. */
  /** One of `template.list`. */
  | { readonly kind: 'template'; readonly name: string }
  | { readonly kind: 'upload'; readonly files: readonly { readonly path: string; readonly byteSize: number }[] }

export interface ModelImportReview {
  readonly kind: 'onnx' | 'om' | 'python'
  /** Directory name proposed for the model, valid and free. */
  readonly modelName: string
  /** Of the file, or of the folder that was dropped. */
  readonly fileName: string
  /** Of all files together. */
  readonly byteSize: number
  readonly backend: string
  /** Backends that take this kind of file, the proposed one first. `isHere` false: a load fails until the server has it. */
  readonly backends: readonly { readonly name: string; readonly isHere: boolean }[]
  /** ONNX opset of the default domain; null: unknown. */
  readonly opset: number | null
  readonly inputs: readonly { name: string; datatype: string; shape: readonly (number | string)[] }[]
  readonly outputs: readonly { name: string; datatype: string; shape: readonly (number | string)[] }[]
  /**
   * How much of the signature is known: 'complete'; 'names': a model.py that only names its tensors, the config's types and dims are to be
   * filled in; 'unknown': the config is a skeleton without tensors.
   */
  readonly signature: 'complete' | 'names' | 'unknown'
  /** Why it is not complete, in the server's words; null where there is nothing to add. */
  readonly signatureReason: string | null
  /** config.pbtxt that would be written for a new model. */
  readonly configText: string
  /** False: the dropped folder has this config. */
  readonly isConfigGenerated: boolean
  /** What would be written beside config.pbtxt, relative to the folder of a new model. */
  readonly files: readonly { readonly path: string; readonly byteSize: number }[]
  /** Dropped and not asked for by the model. */
  readonly leftOut: readonly string[]
  /** Asked for by the model and not there: nothing is written until these were added. */
  readonly missingFiles: readonly string[]
  /** A model that has the name the file stands for: the file can become its next version. null: none, or it cannot. */
  readonly existingModel: { readonly name: string; readonly nextVersion: number } | null
  /** The files lie on the server's machine: a hard link may be asked for. */
  readonly isLocal: boolean
  /** A model.py was not run for its tensors, since the repository is not trusted: its real path. A review after that knows more. null: nothing of that kind. */
  readonly awaitsTrust: string | null
}

/** What to make of a reviewed import. */
export interface ModelImportTarget {
  readonly importId: string
  readonly backend: string
  readonly modelName: string
  /** True: a further version of the model that has this name; its config stays. */
  readonly asVersion: boolean
  /** A hard link instead of a copy where the disk cannot share blocks: a later edit of the source then changes the model too. */
  readonly link: boolean
}

export interface ModelImportProgress {
  readonly importId: string
  readonly bytesDone: number
  readonly bytesTotal: number
}

export interface ConfigFile {
  /** Absolute; of the file that a save writes. */
  readonly path: string
  /** As written, byte order mark and line ends included; null: the model has no config.pbtxt. */
  readonly text: string | null
  /** Of the bytes on disk; null: no file. A save names it, and is refused when the file is another by then. */
  readonly hash: string | null
  readonly context: ConfigContext
}

export type ConfigSaveResult =
  | { readonly kind: 'saved'; readonly hash: string | null }
  /** The file on disk is not the one that was opened. Nothing was written. */
  | { readonly kind: 'conflict'; readonly currentText: string | null; readonly currentHash: string | null }

export interface ConfigHistoryEntry {
  readonly id: string
  /** Milliseconds since the epoch: of the save; for a text that was found on disk, when it was last changed. */
  readonly time: number
  readonly byteSize: number
  /** 'saved' in the console; 'found': was on disk before a save replaced it. */
  readonly origin: 'saved' | 'found'
}

/** One config at three places, each in text format. */
export interface ConfigDrift {
  /** The file as written; null: none. */
  readonly onDisk: string | null
  /** What the file becomes when it is loaded, as far as that is known without a backend; null where it cannot be read. */
  readonly normalised: string | null
  /** Why `normalised` is null: the text a load would fail with. */
  readonly normaliseError: string | null
  /** What the engine runs with; null: not loaded. */
  readonly running: string | null
}

export interface DirectoryListing {
  readonly path: string
  /** null at the root. */
  readonly parent: string | null
  readonly directories: readonly { readonly name: string; readonly path: string; readonly looksLikeRepository: boolean }[]
}

/** Handlers form one object typed over these, so a missing one does not compile. */
export interface ConsoleCommands {
  'server.status': () => ServerStatus
  /**
   * Drains, then starts the server again as it was started, but for this. Answers before it goes down; the new one has another `instanceId`.
   * UNSUPPORTED where `canRestart` is false; INVALID_ARG, UNAVAILABLE, NOT_FOUND: it could not start so, nothing happens.
   */
  'server.restart': (args: ServerRestart) => void
  'repository.models': () => readonly ModelSummary[]
  /** Looks at the disk again and answers the new list. */
  'repository.rescan': () => readonly ModelSummary[]
  /** Replaces the repositories of this server by one directory: unloads everything first. Explicit mode only. */
  'repository.open': (args: { path: string }) => ServerStatus
  /** Folder browser for windows that have no dialog of their own. path '' = home. Hidden directories are left out. */
  'repository.browse': (args: { path: string }) => DirectoryListing
  /** Writes the sample repository into the user's data folder (once) and opens it. */
  'repository.openSample': () => ServerStatus
  /** Repositories opened before on this machine, last first; kept in the user's data folder, for window and browser alike. */
  'repository.recent': () => readonly string[]
  /**
   * Lets code of this repository run from now on, and loads what was asked for and waited for that. `path`: the real one, as `ModelSummary.awaitsTrust` tells it.
   * Answers before the loads end. UNSUPPORTED where every repository is trusted.
   */
  'repository.trust': (args: { path: string }) => void
  /** Takes that back: models that run code of it are unloaded, and do not load any more. */
  'repository.revokeTrust': (args: { path: string }) => void
  'model.load': (args: { name: string }) => void
  'model.unload': (args: { name: string; unloadDependents?: boolean }) => void
  /** Gives a share of the requests that name no version to one version; null ends that. `ModelSummary.traffic` says what holds. */
  'model.traffic': (args: { name: string; split: TrafficSplitSettings | null }) => void
  'model.detail': (args: { name: string }) => ModelDetail
  'model.sample': (args: { name: string; path: string }) => { data: Uint8Array; mediaType: string }
  /** A text file of the model directory that a viewer needs (labels, character list). At most 4 MiB. */
  'model.file': (args: { name: string; path: string }) => { data: Uint8Array }
  /** Steps, edges and timings of a loaded ensemble, with its last requests step by step. */
  'model.ensembleGraph': (args: { name: string }) => EnsembleGraph
  'model.infer': (args: { request: InferenceRequest }) => { response: InferenceResponse; timing: InferenceTiming }
  /** Python models to begin with; one is imported with a source of kind 'template'. */
  'template.list': () => readonly ModelTemplate[]
  /**
   * Begins an import, or adds files to one. Uploaded bytes lie outside every model until they are created. All that belongs to an import
   * ends with `import.close`, and with the connection.
   */
  'import.open': (args: { source: ModelImportSource; importId: string | null }) => { importId: string }
  /** The next bytes of a file of the upload, in order. `file` counts from 0 over all files of the import. */
  'import.chunk': (args: { importId: string; file: number; offset: number; data: Uint8Array }) => void
  /** What would be made of it. Nothing is written. `backend` null: the usual one. */
  'import.review': (args: { importId: string; backend: string | null }) => ModelImportReview
  /** Makes the model, or the version, all at once. `import.progress` tells how far it is. Afterwards the import is closed. */
  'import.create': (args: ModelImportTarget) => { model: ModelSummary; version: number; method: 'reflink' | 'link' | 'copy' | 'move' }
  /** Cancels what is going on and removes what was uploaded. Unknown ones are no error. */
  'import.close': (args: { importId: string }) => void
  /** The config.pbtxt of a model and what it is judged against. */
  'config.open': (args: { name: string }) => ConfigFile
  /** Writes config.pbtxt atomically, keeping its permissions. `text` null removes the file. `baseHash`: of the file that was opened. */
  'config.save': (args: { name: string; text: string | null; baseHash: string | null }) => ConfigSaveResult
  /** The last saves of a model, newest first. */
  'config.history': (args: { name: string }) => readonly ConfigHistoryEntry[]
  'config.historyText': (args: { name: string; id: string }) => { text: string }
  /** The model.py of a version of a Python model; version null: of the newest that has one. NOT_FOUND: there is none. */
  'code.open': (args: { name: string; version: number | null }) => CodeFile
  /** Writes it atomically, keeping its permissions. `baseHash`: of the file that was opened. It runs from the next load on. */
  'code.save': (args: { name: string; version: number; text: string; baseHash: string }) => CodeSaveResult
  'config.drift': (args: { name: string }) => ConfigDrift
  /** Samples of the last `seconds` seconds (at most an hour), oldest first. */
  'statistics.history': (args: { seconds: number }) => readonly ServerSample[]
  /** The cards, their ids, and who uses them. */
  'devices.report': () => DevicesReport
  'npu.simulation': () => SimulatedNpuReport
  /** These faults and no others on the simulated cards; an empty list clears all. UNAVAILABLE unless the engine runs with `--npu=simulated`. */
  'npu.setFaults': (args: { faults: readonly SimulatedFault[] }) => readonly SimulatedFault[]
  /** Checks the machine now; takes up to some seconds. */
  'doctor.run': () => DoctorReport
  /**
   * The Pythons that a model (null: any) could run with, usable ones first; takes up to some seconds, since each is started. Environments beside the model,
   * its repository and in the folder of that are among them.
   */
  'python.interpreters': (args: { model: string | null }) => readonly PythonInterpreter[]
  'log.recent': (args: { count: number }) => readonly LogEntry[]
}

/** Pushed by the server to every open window. */
export interface ConsoleEvents {
  'server.statusChanged': ServerStatus
  'model.changed': ModelSummary
  'model.removed': { readonly name: string }
  'statistics.sample': ServerSample
  /** Cards, processes or the memory of models changed; live figures come with the samples. */
  'devices.changed': DevicesReport
  /** Batched, at most every 100 ms. */
  'log.appended': readonly LogEntry[]
  /** To the window that imports only; at most every 100 ms. */
  'import.progress': ModelImportProgress
}

export type ConsoleCommandName = keyof ConsoleCommands
export type ConsoleEventName = keyof ConsoleEvents
export type CommandArguments<K extends ConsoleCommandName> =
  Parameters<ConsoleCommands[K]> extends [infer A] ? A : undefined
export type CommandResult<K extends ConsoleCommandName> = ReturnType<ConsoleCommands[K]>

export type ClientMessage = {
  readonly type: 'command'
  /** Chosen by the client, unique per connection. */
  readonly id: number
  readonly name: ConsoleCommandName
  readonly args?: unknown
}

export type ServerMessage =
  | { readonly type: 'result'; readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly type: 'result'; readonly id: number; readonly ok: false; readonly error: ErrorValue }
  | { readonly type: 'event'; readonly name: ConsoleEventName; readonly value: unknown }

/** Path of the WebSocket and name of the cookie. */
export const CONSOLE_SOCKET_PATH = '/console'
export const CONSOLE_TOKEN_COOKIE = 'npu_console_token'

/**
 * What only the desktop can do; the preload exposes it as `window.desktopApi`. In a browser it is undefined.
 * Values are JSON-safe.
 */
export interface DesktopApi {
  /** Where the console WebSocket is, and the token for it; changes when the server process restarts on another port. */
  connection(): Promise<{ readonly url: string; readonly token: string }>
  /** The folder picked, or null when the dialog was cancelled. */
  chooseRepository(): Promise<string | null>
  recentRepositories(): Promise<readonly string[]>
  settings(): Promise<DesktopSettings>
  changeSettings(change: Partial<DesktopSettings>): Promise<DesktopSettings>
  /** Starts the server process again after the supervisor gave up ('failed'); does nothing otherwise. */
  startServer(): Promise<void>
  /** The state of the supervised server process, pushed. Returns an unsubscribe function. */
  onServerProcess(listener: (state: ServerProcessState) => void): () => void
  /** A menu item or shortcut of the shell asks the page to do something. Returns an unsubscribe function. */
  onMenuAction(listener: (action: MenuAction) => void): () => void
  /** Path of a dropped or chosen file or folder; '' where it has none (made by a page). */
  pathForFile(file: File): string
}

export type MenuAction =
  | { readonly kind: 'navigate'; readonly page: string }
  | { readonly kind: 'openRepository'; readonly path: string }

export interface DesktopSettings {
  readonly language: 'zh-CN' | 'en' | 'system'
  readonly theme: 'light' | 'dark' | 'contrast' | 'system'
  /** Keep serving in the tray when the window closes; null: ask. */
  readonly keepServingOnClose: boolean | null
}

export type ServerProcessState =
  | { readonly kind: 'starting' }
  | {
    readonly kind: 'running'
    readonly processId: number
    /** Ports that were in use, so that the server listens on others; absent: none. */
    readonly portFallbacks?: readonly { readonly name: 'http' | 'grpc' | 'metrics' | 'console'; readonly requested: number; readonly used: number }[]
  }
  | { readonly kind: 'restarting'; readonly attempt: number; readonly delayMilliseconds: number; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'stopped' }
