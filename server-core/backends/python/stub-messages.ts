/** What the server and a stub (the process of a Python model instance) tell each other; `stub/pb_stub` is the other side. JSON, so 64-bit integers are text. */
import type { DataType } from '../../contract/inference.ts'

/** Name, datatype, shape, offset and length in the server's region. */
export type ServerTensor = readonly [name: string, datatype: DataType, shape: readonly number[], offset: number, byteLength: number]

/** The same with the region: 0 the server's (a view of an input), 1 the stub's own. */
export type StubTensor = readonly [name: string, datatype: DataType, shape: readonly number[], region: 0 | 1, offset: number, byteLength: number]

/** Kind and value as text. */
export type CorrelationId = readonly ['int' | 'string', string]

/** Code as in TRITONSERVER_Error_Code, and text. */
export type Failure = readonly [code: number, message: string]

export interface StubRequest {
  readonly request: number
  readonly id: string
  readonly correlation: CorrelationId
  /** TRITONSERVER_REQUEST_FLAG_SEQUENCE_START (1) and _END (2). */
  readonly flags: number
  /** Microseconds; 0: none. */
  readonly timeout: number
  /** JSON, as the model reads it. */
  readonly parameters: string
  readonly outputs: readonly string[]
  readonly inputs: readonly ServerTensor[]
}

export interface StubStart {
  readonly op: 'initialize' | 'auto_complete'
  /** Of the instance; of the model where it is completed. */
  readonly name: string
  readonly version_directory: string
  /** Where the class is: the version's directory, or the folder of the backend that the model is based on. Its name is the package. */
  readonly code_directory: string
  /** Of model.py there. */
  readonly filename: string
  /** Bytes of the stub's own region, and the steps in which it grows. */
  readonly memory_size: number
  readonly memory_growth: number
  readonly is_decoupled: boolean
  /** What `initialize` gets. */
  readonly args: Readonly<Record<string, string>>
  /** The config to be completed. */
  readonly config: Readonly<Record<string, unknown>>
}

/** An answer to a call of the stub; several of them where a decoupled model answers. */
export interface CallAnswer {
  readonly op: 'answer'
  readonly call: number
  readonly value?: unknown
  readonly error?: string
  readonly failure?: Failure
  readonly outputs?: readonly ServerTensor[]
  readonly parameters?: string
  /** Absent: true. */
  readonly final?: boolean
}

export type ToStub =
  | StubStart
  | { readonly op: 'execute'; readonly batch: number; readonly requests: readonly StubRequest[] }
  /** `hold`: whoever takes the answers has enough to do, `go`: no more. */
  | { readonly op: 'cancel' | 'hold' | 'go'; readonly request: number }
  | { readonly op: 'is_ready'; readonly call: number }
  | { readonly op: 'ping' | 'free' | 'finalize' | 'stack' }
  | CallAnswer

export interface StubResponse {
  readonly failure?: Failure
  readonly outputs?: readonly StubTensor[]
  readonly parameters?: readonly StubParameter[]
}

/** Name, kind, value as text. */
export type StubParameter = readonly [name: string, kind: 'bool' | 'int' | 'double' | 'string', value: string]

export interface InferCall {
  readonly op: 'infer'
  readonly call: number
  readonly model: string
  /** -1: the version policy decides. */
  readonly version: number
  readonly id: string
  readonly correlation: CorrelationId
  readonly flags: number
  readonly timeout: number
  readonly outputs: readonly string[]
  readonly parameters: readonly StubParameter[]
  readonly decoupled: boolean
  /** The request whose trace goes on in this one; absent: none. */
  readonly trace?: number
  readonly inputs: readonly StubTensor[]
}

/** Questions that the stub waits for, beside inference. */
export type ServerCall =
  | { readonly op: 'load'; readonly call: number; readonly model: string; readonly config: string; readonly files: readonly (readonly [path: string, offset: number, byteLength: number])[] }
  | { readonly op: 'unload'; readonly call: number; readonly model: string; readonly dependents: boolean }
  | { readonly op: 'ready'; readonly call: number; readonly model: string; readonly version: string }
  | { readonly op: 'metric_family'; readonly call: number; readonly name: string; readonly description: string; readonly kind: 'COUNTER' | 'GAUGE' | 'HISTOGRAM' }
  | { readonly op: 'metric'; readonly call: number; readonly family: string; readonly labels: Readonly<Record<string, string>>; readonly buckets: readonly string[] }
  | { readonly op: 'metric_do'; readonly call: number; readonly metric: number; readonly do: 'increment' | 'set' | 'observe' | 'value'; readonly value?: string }

export type FromStub = (
  | { readonly op: 'started'; readonly python: string; readonly numpy: string; readonly executable: string }
  | { readonly op: 'initialized'; readonly has_is_ready: boolean }
  | { readonly op: 'completed'; readonly config: Readonly<Record<string, unknown>> | null }
  | { readonly op: 'failed'; readonly error: string }
  | ExecutedMessage
  | SendMessage
  | { readonly op: 'dropped'; readonly request: number }
  | { readonly op: 'log'; readonly level: 'INFO' | 'WARNING' | 'ERROR' | 'VERBOSE'; readonly message: string; readonly file: string; readonly line: number }
  | { readonly op: 'pong' }
  /** Where the main thread is, as Python prints it. */
  | { readonly op: 'stack'; readonly stack: string }
  | { readonly op: 'readiness'; readonly call: number; readonly error: string | null }
  | { readonly op: 'finalized'; readonly error: string | null }
  | { readonly op: 'cancel_infer'; readonly cancelled: number }
  | { readonly op: 'metric_free'; readonly metric: number }
  | InferCall
  | ServerCall
) & {
  /** Blocks of the server's region that the stub does not use any more. */
  readonly free?: readonly number[]
}

export interface ExecutedMessage {
  readonly op: 'executed'
  readonly batch: number
  /** Nanoseconds of the steady clock. */
  readonly compute_start: number
  readonly compute_end: number
  /** Of every request of the batch. */
  readonly error?: string
  /** One a request: its response, that it was put back, or null where a response sender answers. Null: senders answer all. */
  readonly responses?: readonly (StubResponse & { readonly put_back?: boolean } | null)[] | null
}

export interface SendMessage {
  readonly op: 'send'
  readonly request: number
  readonly final: boolean
  readonly response?: StubResponse
}
