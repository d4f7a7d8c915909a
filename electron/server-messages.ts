/** What main and the server process say to each other. JSON-safe. */
import type { ServerRestart } from '../server-core/contract/console-api.ts'

export type PortName = 'http' | 'grpc' | 'metrics' | 'console'

export type Ports = Readonly<Record<PortName, number>>

/** A port that was in use, so that the server listens on another one. */
export interface PortFallback {
  readonly name: PortName
  readonly requested: number
  readonly used: number
}

export interface ServerStartArguments {
  /** Empty on a first run: the console offers to open one. */
  readonly repositoryPaths: readonly string[]
  /** From the settings; flags among `commandLine` win. */
  readonly ports: Ports
  /** The application's own command line: flags of `npu-console serve` in it hold here too; of two that are alike the later. */
  readonly commandLine: readonly string[]
  /** Models to load at start: those that were ready when the server was asked to start again. */
  readonly loadModels: readonly string[]
  readonly consoleToken: string
  /** Absolute. */
  readonly rendererDirectory: string
  /** Where the server keeps what it makes for the user (the sample repository). Absolute. */
  readonly dataDirectory: string
}

export type MessageToServer =
  | { readonly kind: 'start'; readonly arguments: ServerStartArguments }
  /** Drain, then exit. */
  | { readonly kind: 'stop' }

export interface ServingStatus {
  readonly repositoryPaths: readonly string[]
  /** Names of the models that are ready. */
  readonly readyModels: readonly string[]
}

export type MessageFromServer =
  /** The message port of the process is open: arguments may be sent. */
  | { readonly kind: 'loaded' }
  | { readonly kind: 'ready'; readonly ports: Ports; readonly fallbacks: readonly PortFallback[]; readonly status: ServingStatus }
  | { readonly kind: 'status'; readonly status: ServingStatus }
  /** The window asks for another start that differs in this; it has been checked. */
  | { readonly kind: 'restart'; readonly change: ServerRestart; readonly readyModels: readonly string[] }
  /** The start failed; the process exits by itself. */
  | {
    readonly kind: 'failed'
    readonly reason: string
    /** Another try would fail the same way: a flag that cannot be. */
    readonly isFinal: boolean
  }
