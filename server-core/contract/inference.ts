/** What an inference request and its answer are, inside the server and at every edge. Pure types and tables. */

export interface DataTypeRow {
  /** Name in config.pbtxt. */
  readonly configName: DataTypeConfigName
  /** Bytes of one element; 0 where it varies (BYTES). */
  readonly byteSize: number
}

/** Protocol name to config name and element size (Triton protocol, data types). */
export const DATA_TYPES = {
  BOOL: { configName: 'TYPE_BOOL', byteSize: 1 },
  UINT8: { configName: 'TYPE_UINT8', byteSize: 1 },
  UINT16: { configName: 'TYPE_UINT16', byteSize: 2 },
  UINT32: { configName: 'TYPE_UINT32', byteSize: 4 },
  UINT64: { configName: 'TYPE_UINT64', byteSize: 8 },
  INT8: { configName: 'TYPE_INT8', byteSize: 1 },
  INT16: { configName: 'TYPE_INT16', byteSize: 2 },
  INT32: { configName: 'TYPE_INT32', byteSize: 4 },
  INT64: { configName: 'TYPE_INT64', byteSize: 8 },
  FP16: { configName: 'TYPE_FP16', byteSize: 2 },
  FP32: { configName: 'TYPE_FP32', byteSize: 4 },
  FP64: { configName: 'TYPE_FP64', byteSize: 8 },
  BYTES: { configName: 'TYPE_STRING', byteSize: 0 },
  BF16: { configName: 'TYPE_BF16', byteSize: 2 },
} as const satisfies Record<string, DataTypeRow>

export type DataType = keyof typeof DATA_TYPES

export type DataTypeConfigName =
  | 'TYPE_INVALID' | 'TYPE_BOOL' | 'TYPE_UINT8' | 'TYPE_UINT16' | 'TYPE_UINT32' | 'TYPE_UINT64' | 'TYPE_INT8'
  | 'TYPE_INT16' | 'TYPE_INT32' | 'TYPE_INT64' | 'TYPE_FP16' | 'TYPE_FP32' | 'TYPE_FP64' | 'TYPE_STRING' | 'TYPE_BF16'

/**
 * A tensor is bytes: Triton's raw little-endian, row-major form (BYTES: 4-byte little-endian length before each element).
 * `shape` includes the batch dimension where the model batches.
 */
export interface Tensor {
  readonly name: string
  readonly datatype: DataType
  readonly shape: readonly number[]
  readonly data: Uint8Array
  /**
   * Of an output: its data is in memory that nobody else holds, so whoever gets the response may give that back when it is written (`releaseOutputs`). Who
   * passes the tensor on to several leaves it out (`shared`).
   */
  readonly isExclusive?: true
}

/**
 * A custom request or response parameter. JavaScript cannot tell 1 from 1.0, so integers are `bigint` and doubles `number`.
 */
export type ParameterValue = string | boolean | bigint | number

/** Moments of a traced request, in the protocol's words (11.1). */
export type TraceActivity =
  | 'HTTP_RECV_START' | 'HTTP_RECV_END' | 'HTTP_SEND_START' | 'HTTP_SEND_END' | 'GRPC_WAITREAD_START' | 'GRPC_WAITREAD_END' | 'GRPC_SEND_START' | 'GRPC_SEND_END'
  | 'REQUEST_START' | 'QUEUE_START' | 'COMPUTE_START' | 'COMPUTE_INPUT_END' | 'COMPUTE_OUTPUT_START' | 'COMPUTE_END' | 'INFER_RESPONSE_COMPLETE' | 'REQUEST_END'

/** One traced request: those who handle it note moments and tensors, as far as the trace settings want them. */
export interface RequestTrace {
  /** A model takes the request in. */
  begin(modelName: string, modelVersion: string, requestId: string): void
  /** @param nanoseconds of the steady clock */
  timestamp(activity: TraceActivity, nanoseconds: number): void
  /** A moment that a backend names itself. @param nanoseconds of the steady clock */
  customActivity(name: string, nanoseconds: number): void
  tensors(activity: 'TENSOR_QUEUE_INPUT' | 'TENSOR_BACKEND_OUTPUT', tensors: readonly Tensor[]): void
  /** Of a request that this one makes: a step of an ensemble, or what a backend asks of another model. It ends with its request. */
  child(): RequestTrace
  /** The model is done with the request. */
  requestEnded(): void
  /** The answer is sent: nothing comes any more. */
  end(): void
}

export interface InferenceRequest {
  readonly modelName: string
  /** '' means: the version policy decides (highest ready version). */
  readonly modelVersion: string
  /** '' means: none given. */
  readonly id: string
  readonly inputs: readonly Tensor[]
  /** Names; empty means: all outputs of the model. */
  readonly requestedOutputs: readonly string[]
  /** Custom parameters only: reserved keys are the fields below. */
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** 0n or '' means: no sequence. */
  readonly sequenceId?: bigint | string
  readonly sequenceStart?: boolean
  readonly sequenceEnd?: boolean
  /** A uint64. 0n: model default. */
  readonly priority?: bigint
  /** Queue timeout override; 0: none. */
  readonly timeoutMicroseconds?: number
  /** Absent: the request is not traced. */
  readonly trace?: RequestTrace
}

export interface InferenceResponse {
  readonly modelName: string
  readonly modelVersion: string
  readonly id: string
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly outputs: readonly Tensor[]
}

/** Wire documents keep their spelling. */
export interface TensorMetadata {
  readonly name: string
  readonly datatype: DataType
  readonly shape: readonly number[]
}

export interface ModelMetadata {
  readonly name: string
  readonly versions: readonly string[]
  readonly platform: string
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
}

export interface ServerMetadata {
  readonly name: string
  readonly version: string
  readonly extensions: readonly string[]
}
