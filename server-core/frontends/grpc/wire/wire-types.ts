/** The messages as the handlers see them: proto field names; 64-bit values that may exceed 2^53 as decimal text. */

export interface WireParameter {
  readonly parameter_choice?: 'bool_param' | 'int64_param' | 'string_param' | 'double_param' | 'uint64_param'
  readonly bool_param?: boolean
  readonly int64_param?: string
  readonly string_param?: string
  readonly double_param?: number
  readonly uint64_param?: string
}

export type WireParameters = Readonly<Record<string, WireParameter>>

export interface WireInput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  readonly parameters: WireParameters
  /** An InferTensorContents message, not read yet; null: the field is not set. */
  readonly contents: Buffer | null
}

export interface WireRequestedOutput {
  readonly name: string
  readonly parameters: WireParameters
}

export interface WireInferRequest {
  readonly model_name: string
  readonly model_version: string
  readonly id: string
  readonly parameters: WireParameters
  readonly inputs: readonly WireInput[]
  readonly outputs: readonly WireRequestedOutput[]
  readonly raw_input_contents: readonly Buffer[]
}

export interface WireInferResponse {
  readonly model_name: string
  readonly model_version: string
  readonly id: string
  readonly parameters: WireParameters
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[]; readonly parameters?: WireParameters }[]
  readonly raw_output_contents: readonly Uint8Array[]
}

export interface WireRepositoryParameter {
  readonly parameter_choice?: 'bool_param' | 'int64_param' | 'string_param' | 'bytes_param'
  readonly bool_param?: boolean
  readonly string_param?: string
  readonly bytes_param?: Buffer
}
