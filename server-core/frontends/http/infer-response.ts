/** Turns an inference response into the pieces of an HTTP body: the JSON, then the binary outputs as they are (protocol 6.4). */
import { DATA_TYPES, type InferenceResponse, type Tensor } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'
import { classify, type OutputClasses } from '../classification.ts'
import { writeOutputToSharedMemory } from '../shared-memory-output.ts'
import type { InferCall } from './infer-request.ts'
import { addTensorData, type JsonPiece, jsonParameters, jsonString, JsonWriter } from './json-writer.ts'

export interface InferBodyPieces {
  /** A text is ASCII. */
  readonly json: readonly (string | JsonPiece)[]
  /** After the JSON, as they are. */
  readonly binaries: readonly Uint8Array[]
  readonly binaryLength: number
}

/** @throws ServerError with the protocol's texts when an output cannot be sent in the form asked for. */
export function inferResponseBody(call: InferCall, classes: ReadonlyMap<string, OutputClasses>, response: InferenceResponse): InferBodyPieces {
  const writer = new JsonWriter()
  const binaries: Uint8Array[] = []
  let binaryLength = 0
  const id = response.id === '' ? '' : `"id":${jsonString(response.id)},`
  const parameters = hasAny(response.parameters) ? `,"parameters":${jsonParameters(response.parameters)}` : ''
  writer.add(`{${id}"model_name":${jsonString(response.modelName)},"model_version":${jsonString(response.modelVersion)}${parameters},"outputs":[`)
  for (let i = 0; i < response.outputs.length; i++) {
    const raw = response.outputs[i] as Tensor
    const form = call.outputForms.get(raw.name) ?? call.defaultForm
    const own = form.classification === 0 ? undefined : classes.get(raw.name)
    const output = own === undefined ? raw : classify(raw, { topK: form.classification, ...own })
    writer.add(`${i === 0 ? '' : ','}{"name":${jsonString(output.name)},"datatype":"${output.datatype}","shape":[${output.shape.join(',')}]`)
    if (form.sharedMemory !== undefined) {
      writeOutputToSharedMemory(output, form.sharedMemory)
      writer.add('}')
    } else if (form.isBinary) {
      writer.add(`,"parameters":{"binary_data_size":${output.data.byteLength}}}`)
      if (output.data.byteLength > 0) binaries.push(output.data)
      binaryLength += output.data.byteLength
    } else {
      writer.add(',"data":')
      addTensorData(writer, output.name, output.datatype, output.data, checkedCount(output))
      writer.add('}')
    }
  }
  writer.add(']}')
  const text = writer.finishAscii()
  return { json: text === undefined ? writer.finish() : [text], binaries, binaryLength }
}

/** Product of the shape. @throws ServerError INTERNAL when the bytes of the output are not as many as it says */
export function checkedCount(output: Tensor): number {
  let count = 1
  for (const dim of output.shape) count *= dim
  const { byteSize } = DATA_TYPES[output.datatype]
  if (byteSize !== 0 && count * byteSize !== output.data.byteLength) {
    throw new ServerError('INTERNAL', `Failed to write 'data' field: output tensor shape does not match size of output for '${output.name}'`)
  }
  return count
}

function hasAny(record: Readonly<Record<string, unknown>>): boolean {
  for (const _ in record) return true
  return false
}
