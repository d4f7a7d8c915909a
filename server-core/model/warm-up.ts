import { randomFillSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { DATA_TYPES, type DataTypeConfigName, type Tensor } from '../contract/inference.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { resolveInside } from '../model-repository/contained-path.ts'
import { ServerError } from '../server-error.ts'
import { warmUpBatchSizeText } from './warm-up-texts.ts'
import { protocolDataType, RequestValidator, type ValidatedRequest } from './request-validation.ts'
import { withSequenceInputs } from './sequence-inputs.ts'

/** A `model_warmup` entry, ready to run: `batchSize` requests of batch 1 in one execution, `count` times. */
export interface WarmUpSample {
  readonly name: string
  readonly batchSize: number
  readonly count: number
  readonly request: ValidatedRequest
}

/** The entry as it stands in a config. */
interface WarmUpConfig {
  readonly name?: string
  readonly batch_size?: number
  readonly count?: number
  readonly inputs?: Readonly<Record<string, WarmUpInput>>
}

interface WarmUpInput {
  readonly data_type?: DataTypeConfigName
  readonly dims?: readonly number[]
  readonly zero_data?: boolean
  readonly random_data?: boolean
  readonly input_data_file?: string
}

/**
 * The warm-up samples of a config with their data; a sample with batch_size 0 is left out.
 * @throws ServerError INVALID_ARG where a sample is incomplete or does not fit the model (model config facts, section 6)
 */
export async function readWarmUpSamples(config: ModelConfig, modelDirectory: string): Promise<WarmUpSample[]> {
  const validator = new RequestValidator(withSequenceInputs(config))
  const samples: WarmUpSample[] = []
  for (const entry of config.model_warmup as readonly WarmUpConfig[]) {
    const batchSize = entry.batch_size ?? 0
    if (batchSize === 0) continue
    if (batchSize > Math.max(1, config.max_batch_size)) {
      throw new ServerError('INVALID_ARG', warmUpBatchSizeText(config, entry.name ?? '', batchSize))
    }
    const inputs: Tensor[] = []
    for (const [name, input] of Object.entries(entry.inputs ?? {})) inputs.push(await readInput(name, input, config.max_batch_size > 0, modelDirectory))
    const request = validator.validate({ modelName: config.name, modelVersion: '', id: '', inputs, requestedOutputs: [], parameters: {} })
    samples.push({ name: entry.name ?? '', batchSize, count: Math.max(1, entry.count ?? 0), request })
  }
  return samples
}

async function readInput(name: string, input: WarmUpInput, isBatching: boolean, modelDirectory: string): Promise<Tensor> {
  const dims = input.dims ?? []
  if (input.data_type === undefined || input.data_type === 'TYPE_INVALID' || dims.includes(-1)) {
    throw new ServerError('INVALID_ARG', `warmup setting expects all variable-size dimensions are specified for input '${name}'`)
  }
  const datatype = protocolDataType(input.data_type)
  const elements = dims.reduce((product, dim) => product * dim, 1)
  // An empty string is its length field alone.
  const byteSize = elements * (datatype === 'BYTES' ? 4 : DATA_TYPES[datatype].byteSize)
  const shape = isBatching ? [1, ...dims] : dims
  if (input.input_data_file === undefined || input.input_data_file === '') {
    const data = new Uint8Array(byteSize)
    if (input.random_data === true && datatype !== 'BYTES') randomFillSync(data)
    if (datatype === 'BOOL') data.forEach((value, index) => { data[index] = value & 1 })
    return { name, datatype, shape, data }
  }
  const file = await readSampleFile(input.input_data_file, modelDirectory)
  if (file.byteLength < byteSize) {
    throw new ServerError('INVALID_ARG', `[request id: <id_unknown>] warmup setting expects ${byteSize} bytes, but the data provided from ${input.input_data_file}only has ${file.byteLength} bytes`)
  }
  return { name, datatype, shape, data: datatype === 'BYTES' ? file : file.subarray(0, byteSize) }
}

async function readSampleFile(path: string, modelDirectory: string): Promise<Uint8Array> {
  const place = await resolveInside(modelDirectory, `warmup/${path}`)
  if (place.kind === 'inside') return readFile(place.path)
  throw new ServerError('INVALID_ARG', place.kind === 'missing'
    ? `warmup data file 'warmup/${path}' does not exist in the model directory`
    : `warmup data file 'warmup/${path}' is outside the model directory`)
}
