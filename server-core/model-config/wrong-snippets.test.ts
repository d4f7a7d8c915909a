/** Snippets in circulation that Triton refuses or misreads, kept as files under `fixtures/wrong`. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../contract/model-config.ts'
import { completeFromOnnx } from './auto-complete.ts'
import { inferBackend } from './infer-backend.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from './normalize.ts'
import type { OnnxSignature } from './onnx-signature.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import { emptyModelConfig, readModelConfig } from './read-config.ts'
import { validateModelConfig } from './validate.ts'

function fixture(name: string): string {
  return readFileSync(new URL(`fixtures/wrong/${name}.pbtxt`, import.meta.url), 'utf8')
}

const PARSE_ERRORS: readonly (readonly [name: string, error: string])[] = [
  ['max-batch-size-in-dynamic-batching', '5:17: Message type "inference.ModelDynamicBatching" has no field named "max_batch_size".'],
  ['unclosed-list-at-end', '7:1: Expected ",", found "".'],
  ['unclosed-input-list', '7:1: Expected ",", found "output".'],
  ['unclosed-list-with-brace', '2:1: Expected ",", found "max_batch_size".'],
  ['unclosed-parameters', '3:1: Expected ",", found "".'],
  ['full-width-colon', '1:5: Interpreting non ascii codepoint 239.'],
  ['full-width-comma', '1:22: Interpreting non ascii codepoint 239.'],
  ['curly-quotes', '1:7: Interpreting non ascii codepoint 226.'],
  ['no-break-space', '1:6: Interpreting non ascii codepoint 194.'],
  ['slash-comment', '1:1: Expected identifier, got: /'],
  ['trailing-comma-messages', '1:24: Expected "{", found "]".'],
  ['trailing-comma-dims', '1:32: Expected integer, got: ]'],
]

/** These load as far as the config itself goes. */
const ACCEPTED = ['foreign-platform', 'single-preferred-size', 'device-ids', 'other-name', 'warmup-without-type', 'batch-dim-twice']

const REFUSED: readonly (readonly [name: string, error: string])[] = [
  ['gpu-on-cpu-machine', 'instance group m_0 of model m has kind KIND_GPU but server does not support GPUs'],
  ['ensemble-fragment', 'Invalid model name: Could not determine backend for model \'m\' with no backend in model configuration. Expected model '
    + 'name of the form \'model.<backend_name>\'.'],
]

function check(name: string): ModelConfig {
  const config = normalizeInstanceGroups(normalizeModelConfig(inferBackend(readModelConfig(fixture(name), name), 'm', [])), { gpuCount: 0 })
  validateModelConfig(config, { checkInputsAndOutputs: true })
  return config
}

describe('wrong snippets in circulation', () => {
  test.each(PARSE_ERRORS)('%s: %s', (name, error) => {
    const [first] = parsePbtxt(fixture(name)).errors
    expect(`${first?.line}:${first?.column}: ${first?.message}`).toBe(error)
  })

  test.each(ACCEPTED)('%s is accepted', (name) => {
    expect(() => check(name)).not.toThrow()
  })

  test.each(REFUSED)('%s: %s', (name, error) => {
    expect(() => check(name)).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message: error }) as Error)
  })

  test('a TensorFlow platform names its backend, which is for the backend search to miss', () => {
    expect(check('missing-backend').backend).toBe('tensorflow')
  })

  test('a batch dimension written twice is refused when the model file is known', () => {
    const tensor = (name: string): OnnxSignature['inputs'][number] =>
      ({ name, kind: 'tensor', elementType: 'FLOAT', datatype: 'FP32', dims: ['batch', 3], hasShape: true })
    const signature: OnnxSignature = {
      irVersion: 8, opset: 17, opsetImports: [], producerName: '', producerVersion: '', graphName: '', inputs: [tensor('A')], outputs: [tensor('S')],
      externalDataFiles: [],
    }
    const config = { ...emptyModelConfig(), ...readModelConfig(fixture('batch-dim-twice'), '') }
    expect(() => completeFromOnnx(config, signature, { defaultMaxBatchSize: 4 })).toThrow(
      'model \'model\', tensor \'A\': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 3 dimensions (an initial batch '
      + 'dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,-1,3])')
  })

  test('every fixture is used', () => {
    const used = [...PARSE_ERRORS.map(([name]) => name), ...ACCEPTED, ...REFUSED.map(([name]) => name), 'missing-backend']
    const files = readdirSync(new URL('fixtures/wrong', import.meta.url)).map((name) => name.replace('.pbtxt', ''))
    expect(files.toSorted()).toEqual(used.toSorted())
  })
})
