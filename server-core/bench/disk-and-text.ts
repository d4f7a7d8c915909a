/** Figures that need no traffic: parsing config text, and listing a large repository. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LogHub } from '../logger.ts'
import type { ConfigContext } from '../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { checkConfig } from '../model-config/check-config.ts'
import { parsePbtxt } from '../model-config/pbtxt-parser.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ModelRepository } from '../model-repository/model-repository.ts'

/** Time per line of a long file against that of a short one: about 1 while the parser stays linear. */
export function parsingFigures(): string {
  const tensor = (index: number) => `  {\n    name: "tensor_${index}" # comment\n    data_type: TYPE_FP32\n    dims: [ 1, 2, -1 ]\n  }`
  const millisecondsPerLine = (tensors: number) => {
    const text = `input [\n${Array.from({ length: tensors }, (_, index) => tensor(index)).join(',\n')}\n]\n`
    parsePbtxt(text)
    const started = performance.now()
    parsePbtxt(text)
    return (performance.now() - started) / (tensors * 5)
  }
  const short = millisecondsPerLine(1000), long = millisecondsPerLine(20_000)
  return `config text: ${(long * 100_000).toFixed(0)} ms for 100,000 lines, ${(short * 500).toFixed(2)} ms for 500; time per line long / short: ${(long / short).toFixed(2)}`
}

/** Checking (every rule) as an editor does after a keystroke, a very long file, a large ensemble, and how the time grows with awkward texts. */
export function lintFigures(): string {
  const text = tensorText(98)
  const times = Array.from({ length: 21 }, () => milliseconds(() => { checkConfig(text, EMPTY_CONFIG_CONTEXT) })).sort((a, b) => a - b)
  const long: Case = [tensorText(20_000), EMPTY_CONFIG_CONTEXT]
  const ensemble = ensembleOf(1000)
  const growth = GROWTH.map(([name, make]) => ({ name, ratio: growthOf(make) })).sort((a, b) => b.ratio - a.ratio)
  const worst = growth.slice(0, 3).map(({ name, ratio }) => `${name} ${ratio.toFixed(1)}`).join(', ')
  const figures = (subject: Case) => `${leastOfThree(() => milliseconds(() => { checkConfig(...subject) })).toFixed(0)} ms (${leastOfThree(() => processorTime(subject)).toFixed(0)} ms of processor time)`
  return `config check, 500 lines: median ${(times[10] ?? NaN).toFixed(1)} ms, slowest ${(times[20] ?? NaN).toFixed(1)} ms (goal <= 150 ms)\n`
    + `config check, 100,000 lines: ${figures(long)}, goal <= 1000 ms; an ensemble of 1,000 steps with its models: ${figures(ensemble)}\n`
    + `config check, four times the text costs at most (processor time, of ${GROWTH.length} awkward texts): ${worst} times (linear: about 4)`
}

function milliseconds(action: () => void): number {
  const started = performance.now()
  action()
  return performance.now() - started
}

function tensorText(tensors: number): string {
  const tensor = (index: number) => `  {\n    name: "tensor_${index}" # comment\n    data_type: TYPE_FP32\n    dims: [ 1, 2, -1 ]\n  }`
  return `backend: "onnxruntime"\nmax_batch_size: 8\ninput [\n${Array.from({ length: tensors }, (_, index) => tensor(index)).join(',\n')}\n]\ndynamic_batching { preferred_batch_size: [ 4, 16 ] }\n`
}

/** A chain of steps and the models it runs. */
function ensembleOf(steps: number, modelName = (index: number) => `m${index}`): [text: string, context: ConfigContext] {
  const step = (index: number) => `    { model_name: "${modelName(index)}" model_version: -1 input_map { key: "X" value: "T${index}" } output_map { key: "Y" value: "T${index + 1}" } }`
  const text = `platform: "ensemble"\nmax_batch_size: 4\ninput { name: "T0" data_type: TYPE_FP32 dims: [ 3 ] }\noutput { name: "T${steps}" data_type: TYPE_FP32 dims: [ 3 ] }\n`
    + `ensemble_scheduling {\n  step [\n${Array.from({ length: steps }, (_, index) => step(index)).join(',\n')}\n  ]\n}\n`
  const config = readModelConfig('backend: "custom" max_batch_size: 4 input { name: "X" data_type: TYPE_FP32 dims: 3 } output { name: "Y" data_type: TYPE_FP32 dims: 3 }', 'config.pbtxt')
  const models = Object.fromEntries(Array.from({ length: steps }, (_, index) => [`m${index}`, { config: { ...config, name: `m${index}` }, versions: [1] }]))
  return [text, { ...EMPTY_CONFIG_CONTEXT, modelName: 'ensemble', models }]
}

type Case = readonly [text: string, context: ConfigContext]

function lines(count: number, line: (index: number) => string, before = ''): Case {
  return [before + Array.from({ length: count }, (_, index) => line(index)).join('\n'), EMPTY_CONFIG_CONTEXT]
}

const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }\n`

/** Texts that rules once took far longer for than their length allows. */
const GROWTH: readonly (readonly [name: string, make: (count: number) => Case])[] = [
  ...['input { name: "a" dims: 0 }', 'preferred_batch_size: [ 4 ]', 'name: "a"', 'nam: "a"', 'input [ { name: "a" }', '}', '// a', 'a [ ', 'instance_group { kind: KIND_NPU }']
    .map((piece): readonly [string, (count: number) => Case] => [JSON.stringify(piece), (count) => lines(count, () => piece)]),
  ['ensemble', (count) => ensembleOf(count)],
  ['ensemble of unknown models', (count) => ensembleOf(count, (index) => `n${index}`)],
  ['preferred sizes over the maximum', (count) => [`backend: "c"\nmax_batch_size: 8\ndynamic_batching { preferred_batch_size: [ ${Array.from({ length: count }, (_, index) => 4 + index % 9).join(', ')} ] }`, EMPTY_CONFIG_CONTEXT]],
  ['gears', (count) => [`backend: "npu_ge"\nmax_batch_size: 8\ninput { name: "x" data_type: TYPE_FP32 dims: 3 }\n${parameter('graph.ge.inputShape', 'x:-1,3')}`
    + parameter('graph.ge.dynamicDims', Array.from({ length: count }, (_, index) => index + 1).join(';')) + parameter('graph.ge.dynamicNodeType', '1'), EMPTY_CONFIG_CONTEXT]],
  ['inputs of gears', (count) => lines(count, (index) => `input { name: "x${index}" data_type: TYPE_FP32 dims: 3 }`, `backend: "npu_ge"\nmax_batch_size: 8\n${parameter('graph.ge.dynamicNodeType', '1')}`
    + parameter('graph.ge.inputShape', Array.from({ length: count }, (_, index) => `x${index}:-1,4`).join(';')) + parameter('graph.ge.dynamicDims', '1;2'))],
  ['inputs of a static graph', (count) => lines(count, (index) => `input { name: "x${index}" data_type: TYPE_FP32 dims: -1 }`, `backend: "npu_ge"\nmax_batch_size: 8\n${parameter('static_model', '1')}`)],
  ['inputs without outputs', (count) => lines(count, (index) => `input { name: "INPUT${index}" data_type: TYPE_FP32 dims: -1 }`, 'backend: "identity"\n')],
]

function leastOfThree(measure: () => number): number {
  return Math.min(measure(), measure(), measure())
}

/** Milliseconds that the processor works for it, whatever else the machine does. */
function processorTime([text, context]: Case): number {
  const before = process.cpuUsage()
  checkConfig(text, context)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Processor time for four times the text against that for the text: both too long for the processor's caches, and the code warm. */
function growthOf(make: (count: number) => Case): number {
  const [short, long] = [make(4000), make(16_000)]
  for (let round = 0; round < 2; round++) checkConfig(...short)
  return leastOfThree(() => processorTime(long)) / Math.max(1, leastOfThree(() => processorTime(short)))
}

/** 500 models with 4 versions each, listed from a warm disk. */
export async function listingFigures(directory: string): Promise<string> {
  const path = join(directory, 'large-repository')
  for (let model = 0; model < 500; model++) {
    for (let version = 1; version <= 4; version++) {
      mkdirSync(join(path, `model_${model}`, String(version)), { recursive: true })
      writeFileSync(join(path, `model_${model}`, String(version), 'model.onnx'), '')
    }
    writeFileSync(join(path, `model_${model}`, 'config.pbtxt'), 'backend: "identity"\n')
  }
  const repository = new ModelRepository([path], new LogHub().logger('bench'))
  await repository.scan()
  const started = performance.now()
  const { length } = await repository.scan()
  return `repository: ${length} models, 2,000 versions listed in ${(performance.now() - started).toFixed(0)} ms (goal <= 1000 ms)`
}
