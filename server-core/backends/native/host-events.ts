/**
 * What crosses between the addon's `TritonHost` (native/triton/host/host.h) and this server: calls, events and the numbers of Triton's C API. Tensors and
 * parameters cross as flat lists, which cost less than objects.
 */
import type { DataType, ParameterValue, Tensor } from '../../contract/inference.ts'
import { ERROR_KINDS, type ErrorKind } from '../../contract/errors.ts'
import { ServerError } from '../../server-error.ts'
import type { BackendRequest } from '../backend.ts'

/** `[name, TRITONSERVER_DataType, shape, bytes]` a tensor. */
export type FlatTensors = (string | number | readonly number[] | Uint8Array)[]
/** `[name, value]` a parameter, as events have them. */
export type FlatValues = readonly (ParameterValue | Uint8Array)[]
/** `[name, TRITONSERVER_ParameterType, value]` a parameter, as calls take them. */
export type FlatParameters = ParameterValue[]

/** `[token, id, correlation id, flags, timeout in us, inputs, names of outputs, parameters, id of the trace or 0]` */
export type HostRequest = readonly [number, string, bigint | string, number, number, FlatTensors, readonly string[], FlatParameters, number]

export interface HostModelOptions {
  readonly token: number
  readonly name: string
  readonly version: number
  /** Of the model. */
  readonly directory: string
  readonly backend: string
  /** File name; null: `libtriton_<backend>.so`. */
  readonly library: string | null
  /** JSON. */
  readonly config: string
  readonly backendConfig: string
  readonly autoComplete: boolean
  readonly mayReschedule: boolean
  readonly outputs: readonly string[]
  readonly states: readonly string[]
}

export interface HostInstanceOptions {
  readonly token: number
  readonly model: number
  readonly name: string
  readonly kind: number
  readonly deviceId: number
  readonly isPassive: boolean
  /** For messages. */
  readonly hostPolicyName: string
  /** JSON. */
  readonly hostPolicy: string
  readonly profiles: readonly string[]
  readonly secondaryKinds: readonly string[]
  readonly secondaryIds: readonly number[]
  readonly processors: readonly number[]
}

/** An answer to a request of a backend. */
export interface HostReply {
  readonly errorCode: number
  /** Null: no error. */
  readonly errorMessage: string | null
  readonly modelName: string
  readonly modelVersion: number
  readonly outputs: FlatTensors
  readonly parameters: FlatParameters
}

/** Tensors that came out of backends so far, and their bytes: those copied once, and those that are buffers over the host's memory. */
export interface HostCopies {
  readonly tensors: number
  readonly bytes: number
  readonly lentTensors: number
  readonly lentBytes: number
}

/** The class of the addon. Calls throw an Error with `code`, a TRITONSERVER_Error_Code; what comes of them comes as events. */
export interface TritonHost {
  loadModel(options: HostModelOptions): void
  unloadModel(model: number): void
  addInstance(options: HostInstanceOptions): void
  removeInstance(instance: number): void
  checkInstance(instance: number): void
  /** Null: as the host finds it. Ends with `batcherOpened`. */
  openBatcher(model: number, library: string | null): void
  /** These three call the batching library at once. The bytes of the inputs are borrowed until the batch ends. */
  beginBatch(model: number, batch: number): void
  includeRequest(model: number, batch: number, request: HostRequest): boolean
  endBatch(model: number, batch: number): void
  /** The bytes of the inputs are borrowed until the requests are released. */
  submit(instance: number, batch: number, requests: readonly HostRequest[]): void
  cancel(instance: number, request: number): void
  respond(infer: number, flags: number, reply: HostReply | null): void
  releaseInfer(infer: number): void
  answer(question: number, errorCode: number, errorMessage: string | null, value: number, text: string | null): void
  setLogLevels(mask: number): void
  copies(): HostCopies
  /** Rejects, with the models' names, where backends do not let go in time; the process should end then. */
  close(timeoutMilliseconds: number): Promise<void>
}

export interface TritonHostOptions {
  /** Each has a folder a backend; in the order they are looked into. */
  readonly backendDirectories: readonly string[]
  readonly logLevels: number
  /** 0: the host's defaults, here and below. */
  readonly unloadReportMilliseconds: number
  readonly leakGraceMilliseconds: number
}

/** A group of events, as `readEvents` takes it. The numbers are the host's: they are others after the call. */
export type OnEvents = (numbers: Float64Array, count: number, values: readonly unknown[]) => void

export type TritonHostConstructor = new (options: TritonHostOptions, onEvents: OnEvents) => TritonHost

/** TritonHostEventKind */
export const EVENT = {
  modelInitialized: 1, modelUnloaded: 2, instanceInitialized: 3, instanceRemoved: 4, instanceReadiness: 5, batchExecuted: 6, response: 7, requestReleased: 8,
  batchStatistics: 9, responseStatistics: 10, memoryUsage: 11, traceActivity: 12, log: 13, violation: 14, question: 15, infer: 16, inferCancelled: 17, batcherOpened: 18,
} as const

type Kind<Name extends keyof typeof EVENT> = (typeof EVENT)[Name]

interface EventHead {
  readonly token: number
  /** Token of the model that it is about. */
  readonly model?: number
  /** Of any event: then the addon could not bring over what it carries (a text or a buffer beyond what JavaScript can have), and that is missing. */
  readonly errorCode?: number
  readonly errorMessage?: string
}

export interface ResponseEvent extends EventHead {
  readonly kind: Kind<'response'>
  readonly flags: number
  readonly isEmpty: boolean
  readonly tensors: FlatTensors
  readonly parameters: FlatValues
}

/** Steady nanoseconds: exec start, compute start, compute end, exec end. */
export type FourTimes = readonly [number, number, number, number]

export interface ReleasedEvent extends EventHead {
  readonly kind: Kind<'requestReleased'>
  readonly flags: number
  /** Updated states. */
  readonly tensors?: FlatTensors
  /** What the backend reported of this request. */
  readonly times?: FourTimes
}

export interface QuestionEvent extends EventHead {
  readonly kind: Kind<'question'>
  readonly question: number
  /** Of the model that is asked about. */
  readonly name?: string
  readonly version: number
  readonly flags: number
  readonly parameters: FlatValues
  readonly text?: string
  readonly detail?: string
}

export interface InferEvent extends EventHead {
  readonly kind: Kind<'infer'>
  /** Missing only with an error. */
  readonly name?: string
  /** -1: by the version policy. */
  readonly version: number
  readonly text?: string
  readonly flags: number
  readonly tensors: FlatTensors
  readonly parameters: FlatValues
  readonly outputs: readonly string[]
  readonly correlationId: bigint | string
  readonly priority: bigint
  readonly timeoutMicroseconds: number
  /** Of the backend's request, and of the request it is made for; 0: it is not traced. */
  readonly traceId: number
  readonly parentTraceId: number
}

export interface MemoryUsageEvent extends EventHead {
  readonly kind: Kind<'memoryUsage'>
  /** 0: the model's own. */
  readonly instance: number
  readonly usages: readonly { readonly memoryType: number; readonly id: number; readonly byteSize: number }[]
}

export type HostEvent =
  | (EventHead & { readonly kind: Kind<'modelInitialized' | 'modelUnloaded' | 'instanceInitialized' | 'instanceRemoved' | 'instanceReadiness' | 'batchExecuted' | 'inferCancelled' | 'batcherOpened'>; readonly text?: string; readonly detail?: string })
  | ResponseEvent | ReleasedEvent | QuestionEvent | InferEvent | MemoryUsageEvent
  | (EventHead & { readonly kind: Kind<'batchStatistics'>; readonly times: FourTimes; readonly batchSize: number })
  /** Times: response start, compute output start (0: empty response), response end. */
  | (EventHead & { readonly kind: Kind<'responseStatistics'>; readonly times: FourTimes })
  /** Token: the trace's id. Only the first time counts. */
  | (EventHead & { readonly kind: Kind<'traceActivity'>; readonly text: string; readonly times: FourTimes })
  | (EventHead & { readonly kind: Kind<'log'>; readonly level: number; readonly text: string; readonly detail: string; readonly line: number })
  | (EventHead & { readonly kind: Kind<'violation'>; readonly text: string })

/** TritonHostQuestion */
export const QUESTION = {
  serverLive: 1, serverReady: 2, modelReady: 3, modelBatch: 4, modelTransaction: 5, serverMetadata: 6, modelMetadata: 7, modelStatistics: 8, modelConfig: 9,
  modelIndex: 10, loadModel: 11, unloadModel: 12, unloadModelAndDependents: 13, instanceGroups: 14,
} as const

export const RESPONSE_FINAL = 1
export const RELEASE_RESCHEDULE = 2
export const SEQUENCE_START = 1
export const SEQUENCE_END = 2
/** TRITONSERVER_LogLevel. */
export const LOG_LEVEL = { info: 0, warning: 1, error: 2, verbose: 3 } as const

/** TRITONSERVER_DataType by number; 0 is none. */
const DATATYPES: readonly (DataType | null)[] = [
  null, 'BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'FP32', 'FP64', 'BYTES', 'BF16',
]
const DATATYPE_NUMBERS = Object.fromEntries(DATATYPES.map((name, number) => [name ?? '', number])) as Readonly<Record<DataType, number>>

/** TRITONSERVER_Error_Code by number: the order of the table. */
const ERROR_CODES = Object.keys(ERROR_KINDS) as ErrorKind[]

export function errorCode(kind: ErrorKind): number { return ERROR_CODES.indexOf(kind) }

/** The error of an event; null where it has none. */
export function eventError({ errorCode: code, errorMessage }: EventHead): ServerError | null {
  return code === undefined ? null : new ServerError(ERROR_CODES[code] ?? 'UNKNOWN', errorMessage ?? '')
}

/** What a call of the host threw, as an error of this server. */
export function callError(error: unknown): ServerError {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string }
  return new ServerError(typeof code === 'number' ? ERROR_CODES[code] ?? 'UNKNOWN' : 'INTERNAL', message ?? String(error), { cause: error })
}

export function flattenTensors(tensors: readonly Tensor[]): FlatTensors {
  const flat: FlatTensors = []
  for (const { name, datatype, shape, data } of tensors) flat.push(name, DATATYPE_NUMBERS[datatype], shape, data)
  return flat
}

/** @param inputs instead of its own @param traceId 0: the backend hears of no trace */
export function hostRequestOf(request: BackendRequest, token: number, inputs: readonly Tensor[], traceId = 0): HostRequest {
  const { id, requestedOutputs, parameters, sequenceId, sequenceStart, sequenceEnd, timeoutMicroseconds } = request
  const flags = (sequenceStart ? SEQUENCE_START : 0) | (sequenceEnd ? SEQUENCE_END : 0)
  return [token, id, sequenceId === '' ? 0n : sequenceId, flags, timeoutMicroseconds, flattenTensors(inputs), requestedOutputs, flattenParameters(parameters), traceId]
}

/** @throws ServerError INTERNAL for a tensor without a data type */
export function unflattenTensors(flat: FlatTensors): Tensor[] {
  const tensors: Tensor[] = []
  for (let index = 0; index + 3 < flat.length; index += 4) {
    const name = flat[index] as string
    const datatype = DATATYPES[flat[index + 1] as number]
    if (datatype === null || datatype === undefined) throw new ServerError('INTERNAL', `the backend made output '${name}' without a data type`)
    tensors.push({ name, datatype, shape: flat[index + 2] as readonly number[], data: plainBytes(flat[index + 3] as Uint8Array) })
  }
  return tensors
}

/** Of a Buffer too: what comes after expects slice() to copy, as that of any other byte array. */
function plainBytes(data: Uint8Array): Uint8Array { return Buffer.isBuffer(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : data }

const PARAMETER_TYPES = { string: 0, bigint: 1, boolean: 2, number: 3 } as const

export function flattenParameters(parameters: Readonly<Record<string, ParameterValue>>): FlatParameters {
  const flat: FlatParameters = []
  for (const [name, value] of Object.entries(parameters)) {
    // What does not fit into Triton's int64 crosses as its digits.
    const fits = typeof value !== 'bigint' || value === BigInt.asIntN(64, value)
    flat.push(name, fits ? PARAMETER_TYPES[typeof value as keyof typeof PARAMETER_TYPES] : PARAMETER_TYPES.string, fits ? value : String(value))
  }
  return flat
}

/** Bytes become text: the protocols have no parameter of bytes. */
export function unflattenParameters(flat: FlatValues): Record<string, ParameterValue> {
  const parameters: Record<string, ParameterValue> = {}
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const value = flat[index + 1] ?? ''
    parameters[String(flat[index])] = value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value
  }
  return parameters
}
