/** The messages as proto-loader hands them out and takes them in: proto field names, 64-bit values as decimal text. */

export interface WireParameter {
  readonly parameter_choice?: 'bool_param' | 'int64_param' | 'string_param' | 'double_param' | 'uint64_param'
  readonly bool_param?: boolean
  readonly int64_param?: string
  readonly string_param?: string
  readonly double_param?: number
  readonly uint64_param?: string
}

export type WireParameters = Readonly<Record<string, WireParameter>>

export interface WireContents {
  readonly bool_contents: readonly boolean[]
  readonly int_contents: readonly number[]
  readonly int64_contents: readonly string[]
  readonly uint_contents: readonly number[]
  readonly uint64_contents: readonly string[]
  readonly fp32_contents: readonly number[]
  readonly fp64_contents: readonly number[]
  readonly bytes_contents: readonly Uint8Array[]
}

export interface WireInput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly string[]
  readonly parameters: WireParameters
  readonly contents: WireContents | null
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
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[]
  readonly raw_output_contents: readonly Uint8Array[]
}

export interface WireRepositoryParameter {
  readonly parameter_choice?: 'bool_param' | 'int64_param' | 'string_param' | 'bytes_param'
  readonly bool_param?: boolean
  readonly string_param?: string
  readonly bytes_param?: Buffer
}
