/** Tensors on a terminal: a table of the first values, JSON, or .npy files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { InferenceResponse, Tensor } from '../contract/inference.ts'
import { textTable } from '../text-table.ts'
import { writeNpy } from '../tensors/npy.ts'
import { tensorReader } from '../tensors/tensor-codec.ts'
import { tensorStatistics, unravelIndex } from '../tensors/tensor-statistics.ts'
import { formatTensorValue } from '../tensors/tensor-text.ts'

const SHOWN_VALUES = 10

/** Name, datatype and shape, least, greatest and mean, and the first values by index. */
export function tensorTable(tensor: Tensor): string {
  const { name, datatype, shape, data } = tensor
  const reader = tensorReader(datatype, data)
  const { min, max, mean, argmax, nanCount } = tensorStatistics(datatype, data)
  const figures = min === null || max === null ? [] : [`min ${min}`, `max ${max}${argmax === null ? '' : ` at [${unravelIndex(argmax, shape).join(', ')}]`}`, ...(mean === null ? [] : [`mean ${mean}`]), ...(nanCount > 0 ? [`${nanCount} NaN`] : [])]
  const shown = Math.min(SHOWN_VALUES, reader.count)
  const rows = Array.from({ length: shown }, (_, index) => [`[${unravelIndex(index, shape).join(', ')}]`, formatTensorValue(reader.read(index), datatype)])
  return [
    `${name} ${datatype} [${shape.join(', ')}]${figures.length === 0 ? '' : `: ${figures.join(', ')}`}`,
    ...(rows.length === 0 ? ['no elements'] : [textTable(['Index', 'Value'], rows)]),
    ...(reader.count > shown ? [`${reader.count - shown} more of ${reader.count}`] : []),
  ].join('\n')
}

/** The answer as the protocol's JSON, with all digits of 64-bit integers; NaN and infinities, which JSON lacks, are text. */
export function responseJson({ modelName, modelVersion, outputs }: InferenceResponse): string {
  const tensors = outputs.map(({ name, datatype, shape, data }) => {
    const reader = tensorReader(datatype, data)
    const values = Array.from({ length: reader.count }, (_, index) => {
      const value = reader.read(index)
      const text = formatTensorValue(value, datatype)
      return typeof value === 'number' && !Number.isFinite(value) ? JSON.stringify(text) : text
    })
    return `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape.join(',')}],"data":[${values.join(',')}]}`
  })
  return `{"model_name":${JSON.stringify(modelName)},"model_version":${JSON.stringify(modelVersion)},"outputs":[${tensors.join(',')}]}`
}

/** Writes each tensor as `<name>.npy`, the folder made where it is not there. @returns the paths */
export async function saveTensors(directory: string, tensors: readonly Tensor[]): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true })
  const paths = tensors.map(({ name }) => join(directory, `${name.replaceAll(/[^\w.-]/g, '_')}.npy`))
  const twice = paths.find((path, index) => paths.indexOf(path) !== index)
  if (twice !== undefined) throw new Error(`two outputs would be written to ${twice}: ask for one of them with --output`)
  for (const [index, tensor] of tensors.entries()) await writeFile(paths[index] ?? '', writeNpy(tensor))
  return paths
}
