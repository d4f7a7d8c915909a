/** `npu-console infer`: one request to a running server, as the window's Playground sends it. */
import type { InferenceRequest, ModelMetadata } from '../contract/inference.ts'
import type { CommandOutput } from './config-command.ts'
import { readInputs } from './infer-inputs.ts'
import { responseJson, saveTensors, tensorTable } from './print-tensors.ts'
import { runCommand, serverArguments } from './server-command.ts'
import { UsageError } from './usage-error.ts'

export const INFER_COMMAND_USAGE = `  infer MODEL [--model-version=N] [--input='NAME=VALUE']... [--shape='NAME=1,3,224,224']... [--output=NAME]... [--json] [--save=DIR]
           one request to a running server; VALUE is a JSON array, zeros, random or ramp, or a file: .npy, .json, .bin or .raw
           (the protocol's bytes), any other file as one element of BYTES or as the tensor's bytes. --save writes .npy files
           [--sequence-id=ID] [--sequence-start] [--sequence-end] [--server=URL] [--header=Name:Value]...
`

/** @returns the exit code */
export function inferCommand(args: readonly string[], output: CommandOutput): Promise<number> {
  return runCommand('infer', INFER_COMMAND_USAGE, args, output, () => infer(args, output))
}

async function infer(args: readonly string[], { print, printError }: CommandOutput): Promise<void> {
  const { connection, values, positionals } = serverArguments(args, {
    'model-version': { type: 'string' }, input: { type: 'string', multiple: true }, shape: { type: 'string', multiple: true }, output: { type: 'string', multiple: true },
    json: { type: 'boolean' }, save: { type: 'string' }, 'sequence-id': { type: 'string' }, 'sequence-start': { type: 'boolean' }, 'sequence-end': { type: 'boolean' },
  })
  const [model, unexpected] = positionals
  if (model === undefined) throw new UsageError('which MODEL?')
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`)
  const list = (name: string) => (values[name] ?? []) as readonly string[]
  const version = typeof values['model-version'] === 'string' ? values['model-version'] : ''
  const metadata = await connection.call('GET', `/v2/models/${encodeURIComponent(model)}${version === '' ? '' : `/versions/${encodeURIComponent(version)}`}`) as ModelMetadata
  const { tensors, notes } = await readInputs(metadata, { inputs: list('input'), shapes: list('shape') })
  for (const note of notes) printError(note)
  const start = performance.now()
  const response = await connection.infer({ modelName: model, modelVersion: version, id: '', inputs: tensors, requestedOutputs: list('output'), parameters: {}, ...sequence(values) })
  const milliseconds = performance.now() - start
  if (values['json'] === true) print(responseJson(response))
  else print([`model '${response.modelName}', version ${response.modelVersion}, answered in ${milliseconds.toFixed(1)} ms`, ...response.outputs.map(tensorTable)].join('\n'))
  if (typeof values['save'] === 'string') for (const path of await saveTensors(values['save'], response.outputs)) printError(`saved ${path}`)
}

/** An id of digits is the protocol's number, any other text its string. */
function sequence(values: Readonly<Record<string, unknown>>): Partial<InferenceRequest> {
  const id = values['sequence-id']
  const [sequenceStart, sequenceEnd] = [values['sequence-start'] === true, values['sequence-end'] === true]
  if (typeof id !== 'string') {
    if (sequenceStart || sequenceEnd) throw new UsageError('--sequence-start and --sequence-end need a --sequence-id')
    return {}
  }
  return { sequenceId: /^\d+$/.test(id) ? BigInt(id) : id, sequenceStart, sequenceEnd }
}
