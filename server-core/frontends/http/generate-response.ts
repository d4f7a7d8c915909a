/** One response as the flat object of `generate` (protocol section 7): members sorted by name, tensors of one element as scalars. */
import type { InferenceResponse, Tensor } from '../../contract/inference.ts'
import { checkedCount } from './infer-response.ts'
import { addTensorData, addTensorElement, type JsonPiece, jsonParameter, jsonString, JsonWriter } from './json-writer.ts'

/**
 * @param before what the text begins with, and `after` what it ends with
 * @returns the text's pieces; those of large tensors are printed when they are needed
 * @throws ServerError with the protocol's texts when a tensor has no JSON form.
 */
export function generateResponse(response: InferenceResponse, before: string, after: string): readonly JsonPiece[] {
  const members = new Map<string, string | Tensor>()
  if (response.id !== '') members.set('id', jsonString(response.id))
  members.set('model_name', jsonString(response.modelName))
  members.set('model_version', jsonString(response.modelVersion))
  for (const [key, value] of Object.entries(response.parameters)) members.set(key, jsonParameter(value))
  for (const output of response.outputs) members.set(output.name, output)
  const sorted = [...members].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const writer = new JsonWriter()
  writer.add(`${before}{`)
  for (const [index, [name, value]] of sorted.entries()) {
    writer.add(`${index === 0 ? '' : ','}${jsonString(name)}:`)
    if (typeof value === 'string') { writer.add(value); continue }
    const count = checkedCount(value)
    if (count === 1) addTensorElement(writer, value.name, value.datatype, value.data)
    else addTensorData(writer, value.name, value.datatype, value.data, count)
  }
  writer.add(`}${after}`)
  return writer.finish()
}
