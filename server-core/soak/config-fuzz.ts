/**
 * Fuzzes the config language for a given time: mutated and recombined configs go through parser, checks, fixes and formatter. Ends at once with
 * the seed and the text when anything throws, loses a byte, gives an edit outside the text, or takes far longer than its length allows.
 *   config-fuzz.ts --seconds=600 [--seed=N]
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import type { ConfigContext } from '../contract/config-language.ts'
import { checkConfig } from '../model-config/check-config.ts'
import { applyEdits } from '../model-config/config-edit.ts'
import { formatConfig } from '../model-config/format-config.ts'
import { parsePbtxt } from '../model-config/pbtxt-parser.ts'

/** A text of this many characters or less must be done within this time, whatever the machine does besides. */
const MAXIMUM_MILLISECONDS = 20_000

const SPLICES = [
  '{', '}', '[', ']', '<', '>', ':', ',', ';', '"', "'", '#', '//', '/* x */', '\n', '\r\n', '\t', '\u00a0', '\ufeff', '：', '，', '“', '”', '（', '\\', '-', '0x', '1e999',
  'name: "x"', 'max_batch_size: 8', 'dims: [ -1, 3 ]', 'KIND_CPU', 'TYPE_FP32', 'dynamic_batching { preferred_batch_size: [ 4, 2 ] }', 'instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0 ] } ]',
  'parameters: { key: "ge.inputShape" value: { string_value: "x:-1,3" } }', 'sequence_batching { }', 'ensemble_scheduling { step [ { model_name: "a" } ] }', 'platform: "ensemble"',
  'model_warmup { name: "w" inputs { key: "x" value { dims: 1 } } }', 'version_policy { specific { versions: [ 3 ] } }', '99999999999999999999',
]

const CONTEXT: ConfigContext = {
  ...EMPTY_CONFIG_CONTEXT,
  modelName: 'model',
  versions: [{ version: 1, files: ['model.onnx'], signature: { inputs: [{ name: 'x', datatype: 'FP32', shape: ['batch', 3] }], outputs: [{ name: 'y', datatype: 'FP32', shape: ['batch', 2] }] } }],
  machine: { cpuCount: 2, gpuCount: 0, npus: [{ card: 0, chip: '310P3' }] },
  backends: ['onnxruntime', 'identity'],
}

export interface FuzzResult {
  readonly count: number
  readonly slowestMilliseconds: number
}

/** @throws Error that names the seed and shows the text */
export function fuzzConfigs(seconds: number, seed: number): FuzzResult {
  const random = randomNumbers(seed)
  const corpus = seedTexts()
  const until = performance.now() + seconds * 1000
  let count = 0
  let slowestMilliseconds = 0
  while (performance.now() < until) {
    const text = mutate(corpus, random)
    const started = performance.now()
    try {
      examine(text)
    } catch (error) {
      throw new Error(`seed ${seed}, case ${count}: ${error instanceof Error ? error.stack ?? error.message : String(error)}\n--- text\n${JSON.stringify(text)}`, { cause: error })
    }
    const milliseconds = performance.now() - started
    slowestMilliseconds = Math.max(slowestMilliseconds, milliseconds)
    if (milliseconds > MAXIMUM_MILLISECONDS) throw new Error(`seed ${seed}, case ${count}: ${text.length} characters took ${milliseconds.toFixed(0)} ms\n--- text\n${JSON.stringify(text)}`)
    count++
    // What the language understood in part leads deeper than what it refused at once.
    if (text.length < 4000 && random(20) === 0) corpus[random(corpus.length)] = text
  }
  return { count, slowestMilliseconds }
}

function examine(text: string): void {
  const { tree } = parsePbtxt(text)
  if (tree.tokens.map((token) => token.text).join('') !== text) throw new Error('the tokens do not give the text back')
  const formatted = applyEdits(text, formatConfig(text))
  if (formatConfig(formatted).length > 0) throw new Error(`formatting twice changes again:\n${JSON.stringify(formatted)}`)
  for (const context of [EMPTY_CONFIG_CONTEXT, CONTEXT]) {
    for (const diagnostic of checkConfig(text, context)) {
      if (diagnostic.offset < 0 || diagnostic.offset + diagnostic.length > text.length) throw new Error(`${diagnostic.code} points outside the text`)
      for (const fix of diagnostic.fixes) parsePbtxt(applyEdits(text, fix.edits))
    }
  }
}

function seedTexts(): string[] {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const files = globSync(['server-core/model-config/fixtures/**/*.pbtxt', 'assets/sample-repository/**/config.pbtxt'], { cwd: root })
  if (files.length === 0) throw new Error('no config to start from')
  return files.map((file) => readFileSync(`${root}/${file}`, 'utf8'))
}

function mutate(corpus: readonly string[], random: (limit: number) => number): string {
  let text = corpus[random(corpus.length)] ?? ''
  for (let round = random(6); round >= 0; round--) {
    const at = random(text.length + 1)
    switch (random(6)) {
      case 0: text = text.slice(0, at) + text.slice(at + 1 + random(12)); break
      case 1: text = text.slice(0, at) + (SPLICES[random(SPLICES.length)] ?? '') + text.slice(at); break
      case 2: { const from = random(text.length + 1); text = text.slice(0, at) + text.slice(from, from + random(200)) + text.slice(at); break }
      case 3: { const other = corpus[random(corpus.length)] ?? ''; text = text.slice(0, at) + other.slice(random(other.length + 1)); break }
      case 4: text = text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1); break
      default: text = text.slice(0, at) + (SPLICES[random(SPLICES.length)] ?? '').repeat(1 + random(150)) + text.slice(at)
    }
  }
  return text.slice(0, 20_000)
}

/** Numerical Recipes' generator: the same cases for the same seed. */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '600' }, seed: { type: 'string', default: String(Date.now() % 2 ** 32) } } })
  const { count, slowestMilliseconds } = fuzzConfigs(Number(values.seconds), Number(values.seed))
  process.stdout.write(`config fuzz, seed ${values.seed}: ${count} cases in ${values.seconds} s, slowest ${slowestMilliseconds.toFixed(0)} ms, no fault\n`)
}
