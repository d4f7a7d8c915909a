/** What an ONNX file says about itself, as data. Pure, so that the window's rules may know it; `onnx-signature.ts` reads it. */
import type { DataType } from '../contract/inference.ts'

export interface OnnxTensor {
  readonly name: string
  /** 'tensor', or what else ONNX has: Triton serves tensors only. */
  readonly kind: 'tensor' | 'sequence' | 'map' | 'optional' | 'sparse_tensor' | 'unknown'
  /** ONNX name of the element type: 'FLOAT', 'INT64', ... */
  readonly elementType: string
  /** The same in the protocol's words; null where the protocol has none. */
  readonly datatype: DataType | null
  /** A number, the name of a symbolic dim, or -1 where nothing is said. Scalars: []. */
  readonly dims: readonly (number | string)[]
  /** False: the file says nothing about the rank (`dims` is [] too). */
  readonly hasShape: boolean
}

export interface OnnxSignature {
  readonly irVersion: number
  /** Opset of the default domain; null where the file imports none. */
  readonly opset: number | null
  readonly opsetImports: readonly { readonly domain: string; readonly version: number }[]
  readonly producerName: string
  readonly producerVersion: string
  readonly graphName: string
  /** In graph order, without those that initializers provide. */
  readonly inputs: readonly OnnxTensor[]
  readonly outputs: readonly OnnxTensor[]
  /** Files beside the model that hold its weights (external data). */
  readonly externalDataFiles: readonly string[]
}
