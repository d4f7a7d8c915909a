/** What the recogniser's signature says about its picture, and one run of it from pixels to text. */
import type { ModelDetail } from '../../../../../server-core/contract/console-api.ts'
import type { ModelMetadata, Tensor, TensorMetadata } from '../../../../../server-core/contract/inference.ts'
import { command } from '../../../../console-client.ts'
import { characterClasses, decodeCtc, type DecodedText } from '../../../../../server-core/tensors/ctc-decode.ts'
import { normaliseToPlanes, PADDLE_RECOGNITION, planesToPicture, recognitionSizes, resizeBilinear, type Picture, type RecognitionSizes } from '../../../../../server-core/tensors/image-tensor.ts'
import { tensorReader } from '../../../../../server-core/tensors/tensor-codec.ts'

export interface RecognitionInput {
  readonly name: string
  readonly height: number
  /** -1: any. */
  readonly width: number
  readonly hasBatch: boolean
}

/** The picture input, or null where the model does not look like a recogniser: one FP32 input [N,] 3, height, width. */
export function recognitionInput(metadata: ModelMetadata): RecognitionInput | null {
  const input: TensorMetadata | undefined = metadata.inputs[0]
  if (!input || metadata.inputs.length !== 1 || input.datatype !== 'FP32') return null
  const [channels, height, width] = input.shape.slice(-3)
  if (input.shape.length < 3 || input.shape.length > 4 || channels !== 3 || height === undefined || width === undefined) return null
  return { name: input.name, height: height > 0 ? height : 48, width, hasBatch: input.shape.length === 4 }
}

export interface PreparedPicture {
  readonly original: Picture
  readonly sizes: RecognitionSizes
  /** As the model sees it. */
  readonly seen: Picture
  readonly tensor: Tensor
  readonly milliseconds: number
}

/** Resizes and normalises; the numbers on the way are kept for showing. */
export function preparePicture(original: Picture, input: RecognitionInput): PreparedPicture {
  const start = performance.now()
  const sizes = recognitionSizes(original, input.height, input.width)
  const planes = normaliseToPlanes(resizeBilinear(original, sizes.width, sizes.height), sizes.tensorWidth, PADDLE_RECOGNITION)
  const milliseconds = performance.now() - start
  const shape = [...(input.hasBatch ? [1] : []), 3, sizes.height, sizes.tensorWidth]
  return {
    original, sizes, milliseconds,
    seen: planesToPicture(planes, sizes.tensorWidth, sizes.height, PADDLE_RECOGNITION),
    tensor: { name: input.name, datatype: 'FP32', shape, data: new Uint8Array(planes.buffer) },
  }
}

/** The character list of the model, as classes. */
export async function loadCharacters(detail: ModelDetail, path: string): Promise<readonly string[]> {
  const { data } = await command('model.file', { name: detail.summary.name, path })
  return characterClasses(new TextDecoder().decode(data))
}

/** @throws Error when the output does not fit the character list */
export function readText(output: Tensor | undefined, characters: readonly string[]): DecodedText & { readonly steps: number; readonly milliseconds: number } {
  const start = performance.now()
  if (!output || output.datatype !== 'FP32') throw new Error(`expected an FP32 output of scores, found ${output ? `${output.datatype} "${output.name}"` : 'none'}`)
  const steps = output.shape[output.shape.length - 2] ?? 0
  const scores = new Float32Array(tensorReader('FP32', output.data).count)
  new Uint8Array(scores.buffer).set(output.data)
  const decoded = decodeCtc(scores, steps, characters)
  return { ...decoded, steps, milliseconds: performance.now() - start }
}
