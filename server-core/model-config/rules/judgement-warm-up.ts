/** Warm-up samples against the model's inputs and the files of the model directory: they run like requests, so they must fit like requests. */
import type { ConfigContext } from '../../contract/config-language.ts'
import { DATA_TYPES } from '../../contract/inference.ts'
import type { DataTypeConfigName } from '../../contract/inference.ts'
import type { ModelConfig, ModelInput } from '../../contract/model-config.ts'
import { warmUpBatchSizeText } from '../../model/warm-up-texts.ts'
import type { ConfigPath } from '../config-edit.ts'
import { renameMapKey } from '../config-edit.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn, listSteps } from './edits-in-turn.ts'
import { nearestFile, normalPath } from './judgement-files.ts'
import { isEnsemble, isFolderKnown, listText, namesText } from './judgement-view.ts'
import { preferredFix, otherFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

interface Sample {
  readonly name: string
  readonly batch_size: number
  readonly inputs: Readonly<Record<string, SampleInput>>
}

interface SampleInput {
  readonly data_type: DataTypeConfigName
  readonly dims: readonly number[]
  readonly input_data_file?: string
}

/** Nobody reads more. */
const MOST_FINDINGS = 200

/** An empty string is its length field alone. */
const STRING_BYTES = 4
const ELEMENT_BYTES = new Map<string, number>(Object.values(DATA_TYPES).map(({ configName, byteSize }) => [configName, configName === 'TYPE_STRING' ? STRING_BYTES : byteSize]))

const WARM_UP: ConfigRule = {
  codes: [
    'warm-up-type-missing', 'warm-up-type-differs', 'warm-up-dims', 'warm-up-input-missing', 'warm-up-unknown-input', 'warm-up-batch-size',
    'warm-up-file-missing', 'warm-up-file-short',
  ],
  * check(view) {
    if (view.config === null || isEnsemble(view.config)) return
    const config = view.completions[0]?.config ?? view.config
    // Of a backend that may complete the config nobody knows which inputs it adds.
    const areInputsKnown = config.input.length > 0 || config.backend === 'identity'
    const byName = new Map(config.input.map((input) => [input.name, input]))
    let count = 0
    for (const [index, sample] of (config.model_warmup as readonly Sample[]).entries()) {
      yield* batchSizeFindings(view, config, sample, index)
      if (sample.batch_size === 0) continue // it never runs
      if (areInputsKnown) yield* coverageFindings(view, config, sample, index)
      for (const [name, input] of Object.entries(sample.inputs)) {
        for (const finding of inputFindings(view, config, byName.get(name), name, input, ['model_warmup', index, 'inputs', { key: name }, 'value'])) {
          if (++count > MOST_FINDINGS) return
          yield finding
        }
      }
    }
  },
}

function* batchSizeFindings(view: ConfigView, config: ModelConfig, sample: Sample, index: number): Generator<Finding> {
  const path = ['model_warmup', index, 'batch_size']
  if (sample.batch_size === 0) {
    yield {
      code: 'warm-up-batch-size', severity: 'warning', path,
      message: say('Without batch_size this sample is skipped.', '没有 batch_size，该预热样本会被跳过。'),
      fixes: [preferredFix('Set batch_size: 1', '设为 batch_size: 1', view.edit.setField(path, 1))],
    }
  } else if (sample.batch_size > Math.max(1, config.max_batch_size)) {
    const most = Math.max(1, config.max_batch_size)
    yield {
      code: 'warm-up-batch-size', severity: 'error', path, serverText: warmUpBatchSizeText(config, sample.name, sample.batch_size),
      message: say(`The sample runs ${sample.batch_size} items at once, more than max_batch_size ${config.max_batch_size}.`,
        `该样本一次执行 ${sample.batch_size} 个，超过了 max_batch_size ${config.max_batch_size}。`),
      fixes: [preferredFix(`Set batch_size: ${most}`, `设为 batch_size: ${most}`, view.edit.setField(path, most))],
    }
  }
}

/** A sample entry that fits an input: zeros, 1 where a dimension is variable. */
function zeroSample(input: ModelInput): { data_type: string; dims: number[]; zero_data: boolean } {
  return { data_type: input.data_type, dims: fixedDims(input.dims), zero_data: true }
}

function fixedDims(dims: readonly number[]): number[] {
  return dims.map((dim) => (dim === -1 ? 1 : dim))
}

function* coverageFindings(view: ConfigView, config: ModelConfig, sample: Sample, index: number): Generator<Finding> {
  const path: ConfigPath = ['model_warmup', index, 'inputs']
  const names = config.input.map(({ name }) => name)
  const declared = new Set(names)
  const given = Object.keys(sample.inputs)
  const isGiven = new Set(given)
  const missing = config.input.filter(({ name, optional }) => !optional && !isGiven.has(name))
  const unknown = given.filter((name) => !declared.has(name))
  const free = names.filter((candidate) => !isGiven.has(candidate)).slice(0, MOST_FINDINGS)
  for (const name of unknown.slice(0, MOST_FINDINGS)) {
    const near = didYouMean(name, free) ?? (free.length === 1 ? free[0] : undefined)
    yield {
      code: 'warm-up-unknown-input', severity: 'error', path: [...path, { key: name }],
      serverText: `unexpected inference input '${name}' for model '${view.modelName}'`,
      message: say(`The model has no input '${name}'. It has ${namesText(names, 'en')}.`, `模型没有输入 '${name}'。现有 ${namesText(names, 'zh-CN')}。`),
      fixes: [near === undefined
        ? preferredFix(`Remove '${name}'`, `删除 '${name}'`, view.edit.removeMapEntry(path, name))
        : preferredFix(`Rename to '${near}'`, `改名为 '${near}'`, renameMapKey(view.tree, path, name, near))],
    }
  }
  if (missing.length === 0 || unknown.length >= missing.length) return
  const required = config.input.filter(({ optional }) => !optional).length
  const expected = required === names.length ? `expected ${names.length} inputs` : `expected number of inputs between ${required} and ${names.length}`
  const quoted = (list: readonly string[]): string => `[${list.map((name) => `'${name}'`).join(',')}]`
  const serverText = `[request id: <id_unknown>] ${expected} but got ${given.length} inputs for model '${view.modelName}'. Got input(s) ${quoted(given)}, but missing required `
    + `input(s) ${quoted(missing.map(({ name }) => name))}. Please provide all required input(s).`
  for (const input of missing.slice(0, MOST_FINDINGS)) {
    yield {
      code: 'warm-up-input-missing', severity: 'error', path,
      serverText,
      message: say(`Warm-up must give every required input (missing: ${input.name}).`, `预热必须给出每个必需的输入（缺少：${input.name}）。`),
      fixes: [preferredFix(`Add '${input.name}' filled with zeros`, `添加全零的 '${input.name}'`, view.edit.setMapEntry(path, input.name, zeroSample(input)))],
    }
  }
}

function* inputFindings(
  view: ConfigView, config: ModelConfig, declared: ModelInput | undefined, name: string, input: SampleInput, path: ConfigPath,
): Generator<Finding> {
  const variable = `warmup setting expects all variable-size dimensions are specified for input '${name}'`
  if (input.data_type === 'TYPE_INVALID') {
    const type = declared === undefined || declared.data_type === 'TYPE_INVALID' ? undefined : declared.data_type
    yield {
      code: 'warm-up-type-missing', severity: 'error', path: path.slice(0, -1), serverText: variable,
      message: say(`Warm-up must give data_type for '${name}'.`, `预热必须为 '${name}' 写明 data_type。`),
      fixes: type === undefined
        ? ['TYPE_FP32', 'TYPE_INT64'].map((guess) => otherFix(`Set ${guess}`, `设为 ${guess}`, view.edit.setField([...path, 'data_type'], guess)))
        : [preferredFix(`Set ${type}`, `设为 ${type}`, view.edit.setField([...path, 'data_type'], type))],
    }
  } else if (declared !== undefined && declared.data_type !== 'TYPE_INVALID' && declared.data_type !== input.data_type) {
    const protocol = (type: string): string => (type === 'TYPE_STRING' ? 'BYTES' : type.replace('TYPE_', ''))
    yield {
      code: 'warm-up-type-differs', severity: 'error', path: [...path, 'data_type'],
      serverText: `[request id: <id_unknown>] inference input '${name}' data-type is '${protocol(input.data_type)}', but model '${view.modelName}' expects '${protocol(declared.data_type)}'`,
      message: say(`'${name}' is ${input.data_type} here, the input is ${declared.data_type}.`, `'${name}' 在这里是 ${input.data_type}，而输入是 ${declared.data_type}。`),
      fixes: [preferredFix(`Set ${declared.data_type}`, `设为 ${declared.data_type}`, view.edit.setField([...path, 'data_type'], declared.data_type))],
    }
  }
  yield* dimsFindings(view, config, declared, name, input, path, variable)
  yield* fileFindings(view, input, path)
}

function* dimsFindings(
  view: ConfigView, config: ModelConfig, declared: ModelInput | undefined, name: string, input: SampleInput, path: ConfigPath, variable: string,
): Generator<Finding> {
  const fits = declared === undefined
    || (declared.dims.length === input.dims.length && declared.dims.every((dim, index) => dim === -1 || dim === input.dims[index] || input.dims[index] === -1))
  const hasVariable = input.dims.some((dim) => dim < 0)
  if (fits && !hasVariable) return
  const wanted = declared === undefined
    ? fixedDims(input.dims)
    : declared.dims.map((dim, index) => (dim !== -1 ? dim : fits && (input.dims[index] ?? -1) > 0 ? input.dims[index] ?? 1 : 1))
  const batch = config.max_batch_size > 0
  const complete = (dims: readonly number[], first: number): string => `[${(batch ? [first, ...dims] : dims).join(',')}]`
  yield {
    code: 'warm-up-dims', severity: 'error', path: [...path, 'dims'],
    serverText: hasVariable ? variable
      : `[request id: <id_unknown>] unexpected shape for input '${name}' for model '${view.modelName}'. Expected ${complete(declared?.dims ?? [], -1)}, got ${complete(input.dims, 1)}.`,
    message: hasVariable
      ? say(`A sample needs a size for every dimension: ${listText(input.dims)} has variable ones.`, `预热样本的每一维都要有大小：${listText(input.dims)} 中有可变维。`)
      : say(`The sample is ${listText(input.dims)}, the input ${listText(declared?.dims ?? [])}${batch ? ' (without the batch dimension)' : ''}.`,
          `样本是 ${listText(input.dims)}，输入是 ${listText(declared?.dims ?? [])}${batch ? '（不含批次维）' : ''}。`),
    fixes: [preferredFix(`Set dims ${listText(wanted)}`, `设为 dims ${listText(wanted)}`,
      editsInTurn(view, listSteps([...path, 'dims'], input.dims, wanted)))],
  }
}

const listed = new WeakMap<ConfigContext, readonly string[]>()

/** Names that may have been meant, looked up once for all findings. */
function warmUpFiles(context: ConfigContext): readonly string[] {
  const names = listed.get(context)
    ?? Object.keys(context.files).filter((name) => name.startsWith('warmup/')).slice(0, MOST_FINDINGS).map((name) => name.slice('warmup/'.length))
  listed.set(context, names)
  return names
}

function* fileFindings(view: ConfigView, input: SampleInput, path: ConfigPath): Generator<Finding> {
  const file = input.input_data_file ?? ''
  if (file === '' || !isFolderKnown(view)) return
  const place = normalPath(`warmup/${file}`)
  const filePath = [...path, 'input_data_file']
  // Version folders are not in the list: what lies there cannot be judged.
  if (place !== null && /^\d+\//.test(place)) return
  if (place === null || !Object.hasOwn(view.context.files, place)) {
    const near = nearestFile(file, warmUpFiles(view.context))
    yield {
      code: 'warm-up-file-missing', severity: 'error', path: filePath,
      serverText: place === null ? `warmup data file 'warmup/${file}' is outside the model directory` : `warmup data file 'warmup/${file}' does not exist in the model directory`,
      message: say(`There is no file '${file}' in the model's folder warmup.`, `模型的 warmup 文件夹中没有文件 '${file}'。`),
      fixes: [
        ...(near === undefined ? [] : [preferredFix(`Use '${near}'`, `使用 '${near}'`, view.edit.setField(filePath, near))]),
        otherFix('Use zeros instead', '改用全零数据', view.edit.setField([...path, 'zero_data'], true)),
      ],
    }
    return
  }
  const size = view.context.files[place] ?? 0
  const each = ELEMENT_BYTES.get(input.data_type) ?? 0
  const bytes = input.dims.reduce((product, dim) => product * Math.max(0, dim), 1) * each
  if (each === 0 || size >= bytes) return
  yield {
    code: 'warm-up-file-short', severity: 'error', path: filePath,
    serverText: `[request id: <id_unknown>] warmup setting expects ${bytes} bytes, but the data provided from ${file}only has ${size} bytes`,
    message: say(`'${file}' has ${size} bytes; ${listText(input.dims)} of ${input.data_type} needs ${bytes}.`,
      `'${file}' 有 ${size} 字节；${listText(input.dims)} 的 ${input.data_type} 需要 ${bytes} 字节。`),
  }
}

export const WARM_UP_RULES: readonly ConfigRule[] = [WARM_UP]
