/** Figures that need no traffic: parsing config text, and listing a large repository. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LogHub } from '../logger.ts'
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
