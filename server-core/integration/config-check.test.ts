/**
 * The check of a config and the load are of one opinion. Random configs lie in a real repository beside real ONNX files; the check reads the
 * folder as the console does, the load is the server's own as far as it goes without a session of ONNX Runtime: the instances of the backend
 * do nothing. What nobody can know offline (a broken model file, an execution that fails) does not come up.
 */
import { describe, expect, it } from 'vitest'
import { BackendRegistry, builtInBackends } from '../backends/backend-registry.ts'
import type { Backend, BackendModelInstance } from '../backends/backend.ts'
import { systemClock } from '../clock.ts'
import type { ConfigDiagnostic } from '../contract/config-language.ts'
import { LogHub } from '../logger.ts'
import { applyPreferredFixes } from '../model-config/apply-fixes.ts'
import { checkConfig } from '../model-config/check-config.ts'
import { readConfigContext, thisMachine } from '../model-config/config-context.ts'
import { readModelDirectory } from '../model-repository/model-directory.ts'
import { ModelLoader } from '../model-repository/model-loader.ts'
import { chooseVersions } from '../model-repository/version-policy.ts'
import { serverOptions } from '../options.ts'
import { onnxModel } from '../testing/onnx-fixture.ts'
import type { OnnxElementType, OnnxTensorSpec } from '../testing/onnx-fixture.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

/** mulberry32 */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Random = (below: number) => number

function oneOf<T>(random: Random, ...values: readonly T[]): T {
  return values[random(values.length)] as T
}

const TYPES: readonly OnnxElementType[] = ['FP32', 'INT64', 'BYTES', 'FP16', 'BF16']

interface ModelFile { readonly inputs: readonly OnnxTensorSpec[]; readonly outputs: readonly OnnxTensorSpec[] }

function randomFile(random: Random): ModelFile {
  const isBatching = random(3) > 0
  const tensors = (prefix: string): OnnxTensorSpec[] => Array.from({ length: 1 + random(2) }, (_none, index) => ({
    name: `${prefix}${index}`, type: random(12) === 0 ? oneOf(random, ...TYPES) : oneOf(random, 'FP32', 'INT64', 'BYTES'),
    shape: random(15) === 0 ? [] : [isBatching && random(15) > 0 ? 'batch' : 1 + random(3), ...Array.from({ length: random(3) }, () => (random(4) === 0 ? 'n' : 1 + random(4)))],
  }))
  return { inputs: tensors('IN'), outputs: tensors('OUT') }
}

/** Mostly right, now and then wrong in one place. */
function randomConfig(random: Random, file: ModelFile, identity: boolean): string {
  const maxBatchSize = oneOf(random, 0, 0, 1, 4, 8)
  const isClean = random(3) === 0
  const isWrong = (below: number): boolean => !isClean && random(below) === 0
  const tensor = (role: 'input' | 'output', name: string, type: string, shape: readonly (number | string)[]): string => {
    const dims = shape.slice(maxBatchSize === 0 || isWrong(12) ? 0 : 1).map((dim) => (typeof dim === 'string' ? -1 : isWrong(25) ? oneOf(random, 0, 7, -2) : dim))
    const isScalar = dims.length === 0
    const reshape = isScalar && maxBatchSize > 0 && !isWrong(6) ? ' reshape { shape: [ ] }' : isWrong(30) ? oneOf(random, ' reshape { shape: [ ] }', ' reshape { shape: [ 1 ] }', ' reshape { shape: [ -1 ] }') : ''
    const rest = isWrong(40) && role === 'input' ? oneOf(random, ' optional: true', ' format: FORMAT_NHWC', ' is_shape_tensor: true', ' allow_ragged_batch: true')
      : isWrong(40) && role === 'output' ? oneOf(random, ' label_filename: "labels.txt"', ' label_filename: "none.txt"', ' label_filename: "../x"', ' label_filename: "sub/labels.txt"') : ''
    const written = isWrong(40) ? oneOf(random, '', 'other', `${name}x`) : name
    return `{ name: "${written}" data_type: ${isWrong(40) ? oneOf(random, 'TYPE_INVALID', 'TYPE_INT32') : type} dims: [ ${(isScalar && !isWrong(20) ? [1] : dims).join(', ')} ]${reshape}${rest} }`
  }
  const list = (role: 'input' | 'output', tensors: readonly OnnxTensorSpec[]): string => {
    if (random(isClean ? 12 : 4) === 0) return ''
    const written = tensors.filter(() => !isWrong(30)).map(({ name, type, shape }) => tensor(role, name, `TYPE_${type === 'BYTES' ? 'STRING' : type}`, shape))
    return written.length === 0 ? '' : `${role} [ ${written.join(', ')} ]\n`
  }
  const batching = isClean ? '' : oneOf(random, '', '', '', 'dynamic_batching { }', 'dynamic_batching { preferred_batch_size: [ 4 ] }', 'dynamic_batching { preferred_batch_size: [ 2, 16 ] }', 'dynamic_batching { preferred_batch_size: [ 0 ] }',
    'dynamic_batching { priority_levels: 2 default_priority_level: 1 }', 'dynamic_batching { priority_levels: 2 }', 'dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1 } }')
  const groups = isClean || random(3) > 0 ? '' : oneOf(random, 'instance_group { }', 'instance_group { kind: KIND_CPU count: 1 }', 'instance_group { kind: KIND_GPU }', 'instance_group { gpus: [ 0 ] }', 'instance_group { kind: KIND_CPU gpus: [ 0 ] }',
    'instance_group { count: 1025 }', 'instance_group { kind: 9 }', 'instance_group [ { count: -3 }, { count: 1024 } ]', 'instance_group { kind: KIND_MODEL profile: "1" }',
    `instance_group [ ${Array.from({ length: 600 }, () => '{ }').join(', ')} ]`)
  const policy = isClean || random(4) > 0 ? '' : oneOf(random, 'version_policy { }', 'version_policy { latest { } }', 'version_policy { latest { num_versions: 2 } }', 'version_policy { all { } }', 'version_policy { specific { versions: [ 2 ] } }',
    'version_policy { specific { versions: [ 7 ] } }', 'version_policy { specific { } }')
  const sample = (body: string, size = 1): string => `model_warmup { name: "w" batch_size: ${size} inputs { key: "${file.inputs[0]?.name ?? 'IN0'}" value { ${body} } } }`
  const warmUp = isClean || random(4) > 0 ? '' : oneOf(random, sample('data_type: TYPE_FP32 dims: [ 2 ] zero_data: true'), sample('data_type: TYPE_FP32 dims: [ -1 ] zero_data: true'), sample('dims: [ 2 ] zero_data: true'), sample('dims: [ -1 ]', 0),
    sample('data_type: TYPE_FP32 dims: [ 2 ] zero_data: true', 9), sample('data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "raw.bin"'), sample('data_type: TYPE_STRING dims: [ 1 ] input_data_file: "empty.bin"'),
    sample('data_type: TYPE_STRING dims: [ 2 ] input_data_file: "empty.bin"'),
    sample('data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "none.bin"'), sample('data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "../labels.txt"'), sample('data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "../../x"'))
  const other = isClean || random(5) > 0 ? '' : oneOf(random, 'name: "m"', 'name: "other"', 'sequence_batching { }', 'response_cache { enable: true }', 'model_transaction_policy { decoupled: true }', 'batch_input { data_type: TYPE_INT32 source_input: "IN0" }',
    'model_operations { op_library_filename: "x.so" }', 'model_repository_agents { }', 'default_model_filename: "other.onnx"', 'default_model_filename: "none.onnx"', 'default_model_filename: "../model.onnx"', 'platform: "tensorrt_plan"',
    'parameters { key: "intra_op_thread_count" value { string_value: "many" } }', 'parameters { key: "execute_delay_ms" value { string_value: "slow" } }', 'parameters { key: "enable_mem_arena" value { string_value: "0" } }',
    'runtime: "x.so"', 'optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" } } }', 'ensemble_scheduling { step { model_name: "a" } }', 'platform: "ensemble"')
  const backend = identity ? 'backend: "identity"' : isClean ? 'backend: "onnxruntime"' : oneOf(random, 'backend: "onnxruntime"', 'platform: "onnxruntime_onnx"', '', '', '', 'backend: "onnxruntime"', 'backend: "tensorflow"', 'backend: "onnxruntme"')
  return [backend, maxBatchSize === 0 ? '' : `max_batch_size: ${maxBatchSize}`, list('input', file.inputs), list('output', file.outputs), batching, groups, policy, warmUp, other].filter((part) => part !== '').join('\n')
}

/** The model file of a case that identity serves is not looked at; its tensors are named as that backend wants them. */
function pairs(file: ModelFile): ModelFile {
  const inputs = file.inputs.map((tensor, index) => ({ ...tensor, name: `INPUT${index}` }))
  return { inputs, outputs: inputs.map((tensor, index) => ({ ...tensor, name: `OUTPUT${index}` })) }
}

const IDLE: BackendModelInstance = {
  async execute(requests) {
    for (const request of requests) request.respond([])
    return { executeStart: 0, computeStart: 0, computeEnd: 0, executeEnd: 0 }
  },
  async finalize() {},
}

function withoutSessions(backend: Backend): Backend {
  return {
    ...backend,
    async initializeModel(context) {
      const model = await backend.initializeModel(context)
      const { config, followsHostPolicy = false } = model
      return { config, followsHostPolicy, initializeInstance: async () => IDLE, finalize: () => model.finalize() }
    },
  }
}

/** One for all cases: opening backend libraries for each would take most of the time. */
function loaderOf(disableAutoComplete: boolean): { readonly loader: ModelLoader; readonly registry: BackendRegistry } {
  const logs = new LogHub()
  const options = serverOptions({ modelRepositories: [], modelControlMode: 'explicit', disableAutoCompleteConfig: disableAutoComplete })
  const registry = new BackendRegistry(builtInBackends(logs).map(withoutSessions), options, logs)
  const loader = new ModelLoader({ registry, disableAutoComplete, rateLimiter: null, hostPolicies: options.hostPolicies, npu: { source: 'auto', fallback: 'fail' }, clock: systemClock, logs })
  return { loader, registry }
}

/** Why the load refuses; null: it does not. */
async function refusal(repository: string, loader: ModelLoader): Promise<string | null> {
  try {
    const directory = await readModelDirectory(repository, 'm', `${repository}/m`)
    const config = await loader.readConfig(directory)
    const { chosen } = chooseVersions(directory.versions.map(({ version }) => version), config.version_policy)
    if (chosen.length === 0) return `at least one version must be available under the version policy of model 'm'`
    for (const version of directory.versions.filter((candidate) => chosen.includes(candidate.version))) {
      const model = await loader.loadVersion(directory, config, version, {
        onStage() {}, onInstancesChanged() {}, findMember(name) { throw new Error(`no model '${name}' beside it`) },
      })
      await model.stop()
    }
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** What a file of strings holds is read when the model loads. */
function hasStringFile(text: string): boolean {
  return /TYPE_STRING dims: \[[^\]]*\] input_data_file/.test(text)
}

/** Errors, and what is right but cannot be had on this server. */
const LACKING = ['backend-not-installed', 'not-executable-here']

async function found(repository: string, text: string, isAutoCompleteOff: boolean): Promise<readonly ConfigDiagnostic[]> {
  const context = await readConfigContext(`${repository}/m`, { machine: thisMachine(), backends: ['identity', 'onnxruntime'], isAutoCompleteOff })
  return checkConfig(text, context).filter(({ severity, code }) => severity === 'error' || LACKING.includes(code))
}

const CASES = 250

describe('the check of a config and its load', () => {
  it.each([['with', false], ['without', true]] as const)('are of one opinion %s auto-completion', { timeout: 120_000 }, async (_name, isOff) => {
    await using repository = await TemporaryRepository.create({ 'm/labels.txt': 'a\nb\n', 'm/warmup/raw.bin': new Uint8Array(8), 'm/warmup/empty.bin': new Uint8Array(4), 'm/sub/labels.txt': 'a\n' })
    const { loader, registry } = loaderOf(isOff)
    let refused = 0
    let repaired = 0
    for (let seed = 1; seed <= CASES; seed++) {
      const random = randomNumbers(seed + (isOff ? 100_000 : 0))
      const isIdentity = random(5) === 0
      const files = [randomFile(random), randomFile(random)].map((file) => (isIdentity ? pairs(file) : file))
      const [first = { inputs: [], outputs: [] }, second = first] = files
      const text = randomConfig(random, first, isIdentity)
      // Version 10 comes before version 2 by name; both hold the same file, or not.
      const bytes = (file: ModelFile): Uint8Array => onnxModel({ ...file, nodes: [{ operator: 'Identity', inputs: [file.inputs[0]?.name ?? ''], outputs: [file.outputs[0]?.name ?? ''] }] })
      const isMixed = random(4) === 0
      const fileName = random(8) === 0 ? 'other.onnx' : 'model.onnx'
      await repository.remove('m/2')
      await repository.remove('m/10')
      await repository.write({ 'm/config.pbtxt': text, [`m/2/${random(20) === 0 ? 'model.py' : fileName}`]: bytes(isMixed ? second : first), [`m/10/${fileName}`]: bytes(first) })

      const why = await refusal(repository.path, loader)
      const findings = await found(repository.path, text, isOff)
      expect(findings.length > 0, `seed ${seed}: ${why ?? 'it loads'}\n${text}\n${JSON.stringify(files)} ${isMixed ? 'mixed' : ''}\n${findings.map(({ code, message }) => `${code}: ${message.en}`).join('\n')}`).toBe(why !== null)
      if (why === null) continue
      refused++
      const context = await readConfigContext(`${repository.path}/m`, { machine: thisMachine(), backends: ['identity', 'onnxruntime'], isAutoCompleteOff: isOff })
      const after = applyPreferredFixes(text, context)
      if (after.diagnostics.some(({ severity, code }) => severity === 'error' || LACKING.includes(code))) continue
      if (hasStringFile(after.text) && !hasStringFile(text)) continue
      repaired++
      await repository.write({ 'm/config.pbtxt': after.text })
      const still = await found(repository.path, after.text, isOff)
      expect(still.length > 0, `seed ${seed}, repaired:\n${after.text}\n${JSON.stringify(files)}`).toBe(await refusal(repository.path, loader) !== null)
    }
    // Both kinds came up, and many of the refused are repaired by fixes alone.
    expect(refused).toBeGreaterThan(CASES / 3)
    expect(CASES - refused).toBeGreaterThan(CASES / 6)
    expect(repaired).toBeGreaterThan(CASES / 20)
    await registry.finalize()
  })
})
