import { readFile } from 'node:fs/promises'
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { resolveInside } from './contained-path.ts'

/**
 * Class labels by output name: one label per line, the line number is the class (from 0).
 * @throws ServerError UNSUPPORTED when a label file lies outside the model directory, INVALID_ARG when it cannot be read
 */
export async function readLabelFiles(config: ModelConfig, modelDirectory: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const labels = new Map<string, readonly string[]>()
  for (const output of config.output) {
    if (output.label_filename === '') continue
    const where = `'${output.label_filename}' for output '${output.name}' in model '${config.name}'`
    const place = await resolveInside(modelDirectory, output.label_filename)
    if (place.kind === 'outside') throw new ServerError('UNSUPPORTED', `label file path ${where} is outside model directory`)
    if (place.kind === 'missing') throw new ServerError('INVALID_ARG', `label file ${where} does not exist in the model directory`)
    const text = await readFile(place.path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new ServerError('INVALID_ARG', `label file ${where} cannot be read: ${cause.code === 'EISDIR' ? 'it is a directory' : cause.message}`, { cause })
    })
    const lines = text.split(/\r?\n/)
    if (lines.at(-1) === '') lines.pop()
    labels.set(output.name, lines)
  }
  return labels
}
