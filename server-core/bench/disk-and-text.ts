/** Figures that need no traffic: parsing config text, and listing a large repository. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LogHub } from '../logger.ts'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { checkConfig } from '../model-config/check-config.ts'
import { parsePbtxt } from '../model-config/pbtxt-parser.ts'
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

/** Checking (every rule) a config of 500 lines as an editor does after a keystroke, and how the time grows with awkward texts. */
export function lintFigures(): string {
  const tensor = (index: number) => `  {\n    name: "tensor_${index}" # comment\n    data_type: TYPE_FP32\n    dims: [ 1, 2, -1 ]\n  }`
  const text = `backend: "onnxruntime"\nmax_batch_size: 8\ninput [\n${Array.from({ length: 98 }, (_, index) => tensor(index)).join(',\n')}\n]\ndynamic_batching { preferred_batch_size: [ 4, 16 ] }\n`
  const milliseconds = (action: () => void) => {
    const started = performance.now()
    action()
    return performance.now() - started
  }
  const times = Array.from({ length: 21 }, () => milliseconds(() => { checkConfig(text, EMPTY_CONFIG_CONTEXT) })).sort((a, b) => a - b)
  const growth = ['input { name: "a" dims: 0 }\n', 'preferred_batch_size: [ 4 ]\n', 'name: "a"\n', 'nam: "a"\n', 'input [ { name: "a" }\n', '}', '// a\n', 'a [ ', 'instance_group { kind: KIND_NPU }\n'].map((piece) => {
    const check = (count: number) => milliseconds(() => { checkConfig(piece.repeat(count), EMPTY_CONFIG_CONTEXT) })
    check(1000)
    return { piece, ratio: check(10_000) / Math.max(1, check(1000)) }
  }).sort((a, b) => b.ratio - a.ratio)[0]
  return `config check, 500 lines: median ${(times[10] ?? NaN).toFixed(1)} ms, slowest ${(times[20] ?? NaN).toFixed(1)} ms (goal <= 150 ms); ten times the text costs at most ${growth?.ratio.toFixed(1)} times (${JSON.stringify(growth?.piece)})`
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
