/** An ensemble against its composing models: names, mappings, types and shapes along every edge, versions, cycles. */
import type { ConfigContext, ConfigFix } from '../../contract/config-language.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../../contract/model-config.ts'
import type { ConfigPath } from '../config-edit.ts'
import { renameMapKey } from '../config-edit.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn } from './edits-in-turn.ts'
import { namesText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

interface Step {
  readonly model_name: string
  readonly model_version: number
  readonly input_map: Readonly<Record<string, string>>
  readonly output_map: Readonly<Record<string, string>>
}

type ModelContext = ConfigContext['models'][string]

function stepsOf(config: ModelConfig): readonly Step[] {
  return (config.ensemble_scheduling?.['step'] ?? []) as readonly Step[]
}

function stepPath(index: number, ...rest: ConfigPath): ConfigPath {
  return ['ensemble_scheduling', 'step', index, ...rest]
}

/** A model whose config says nothing (it cannot be read, or is completed only when it loads) cannot be judged. */
function isJudged(model: ModelContext | undefined): model is ModelContext {
  return model !== undefined && (model.config.input.length > 0 || model.config.output.length > 0)
}

function areModelsKnown(context: ConfigContext): boolean {
  return Object.keys(context.models).length > 0
}

function modelNamed(context: ConfigContext, name: string): ModelContext | undefined {
  return Object.hasOwn(context.models, name) ? context.models[name] : undefined
}

const FRAGMENT: ConfigRule = {
  codes: ['ensemble-incomplete'],
  * check(view) {
    const { config } = view
    if (config === null || config.ensemble_scheduling === undefined) return
    // With a backend or another platform it is Triton's own rule that says so.
    const isFragment = config.platform === '' && config.backend === ''
    const missing = [
      ...(isFragment ? ['platform: "ensemble"'] : []),
      ...(config.input.length === 0 ? ['input'] : []), ...(config.output.length === 0 ? ['output'] : []),
    ]
    if (missing.length === 0) return
    const blocks = outerTensors(view, config)
    const edits = editsInTurn(view, [
      (edit) => (isFragment ? edit.setField(['platform'], 'ensemble') : []),
      (edit) => (config.input.length === 0 && blocks !== null ? edit.setField(['input'], blocks.input) : []),
      (edit) => (config.output.length === 0 && blocks !== null ? edit.setField(['output'], blocks.output) : []),
    ])
    const isComplete = blocks !== null || (missing.length === 1 && isFragment)
    yield {
      code: 'ensemble-incomplete', severity: 'error', path: ['ensemble_scheduling'],
      message: say(`An ensemble also needs ${missing.join(', ')}.`, `ensemble 还需要 ${missing.join('、')}。`),
      fixes: edits.length === 0 ? [] : [preferredFix(
        isComplete ? `Add ${missing.join(', ')}` : 'Set platform: "ensemble"', isComplete ? `添加 ${missing.join('、')}` : '设为 platform: "ensemble"', edits)],
    }
  },
}

type TensorValue = { name: string; data_type: string; dims: number[] }

/** Inputs and outputs that the steps leave open, as their models declare them; null where a model is not known. */
function outerTensors({ context }: ConfigView, config: ModelConfig): { input: TensorValue[]; output: TensorValue[] } | null {
  const steps = stepsOf(config)
  const produced = new Set(steps.flatMap((step) => Object.values(step.output_map)))
  const consumed = new Set(steps.flatMap((step) => Object.values(step.input_map)))
  const input = new Map<string, TensorValue>()
  const output = new Map<string, TensorValue>()
  for (const step of steps) {
    const model = modelNamed(context, step.model_name)
    if (!isJudged(model)) return null
    const add = (target: Map<string, TensorValue>, tensors: readonly (ModelInput | ModelOutput)[], key: string, name: string): void => {
      const tensor = tensors.find((candidate) => candidate.name === key)
      if (tensor === undefined) return
      const dims = config.max_batch_size === 0 && model.config.max_batch_size > 0 ? [-1, ...tensor.dims] : [...tensor.dims]
      target.set(name, { name, data_type: tensor.data_type, dims })
    }
    for (const [key, name] of Object.entries(step.input_map)) if (!produced.has(name)) add(input, model.config.input, key, name)
    for (const [key, name] of Object.entries(step.output_map)) if (!consumed.has(name)) add(output, model.config.output, key, name)
  }
  return input.size === 0 || output.size === 0 ? null : { input: [...input.values()], output: [...output.values()] }
}

const MODELS: ConfigRule = {
  codes: ['ensemble-unknown-model', 'ensemble-step-version', 'ensemble-version-not-there', 'ensemble-cycle', 'ensemble-batch-size'],
  * check(view) {
    const { config, context } = view
    if (config === null) return
    for (const [index, step] of stepsOf(config).entries()) {
      if (step.model_name === '') continue
      yield* cycleFinding(view, step, index)
      const model = modelNamed(context, step.model_name)
      if (areModelsKnown(context) && model === undefined && step.model_name !== view.modelName) yield unknownModel(view, step, index)
      yield* versionFinding(view, step, index, model)
      yield* batchSizeFinding(view, config, step, index, model)
    }
  },
}

function unknownModel(view: ConfigView, step: Step, index: number): Finding {
  const names = Object.keys(view.context.models)
  const near = didYouMean(step.model_name, names)
  return {
    code: 'ensemble-unknown-model', severity: 'error', path: stepPath(index, 'model_name'),
    serverText: `ensemble ${view.modelName} contains models that are not available or ambiguous: ${step.model_name}`,
    message: say(`The repository has no model '${step.model_name}'. ${near === undefined ? `It has ${namesText(names, 'en')}.` : `Did you mean '${near}'?`}`,
      `模型库中没有模型 '${step.model_name}'。${near === undefined ? `现有 ${namesText(names, 'zh-CN')}。` : `是否指 '${near}'？`}`),
    fixes: near === undefined
      ? names.slice(0, 5).map((name) => otherFix(`Use '${name}'`, `使用 '${name}'`, view.edit.setField(stepPath(index, 'model_name'), name)))
      : [preferredFix(`Use '${near}'`, `使用 '${near}'`, view.edit.setField(stepPath(index, 'model_name'), near))],
  }
}

function* versionFinding(view: ConfigView, step: Step, index: number, model: ModelContext | undefined): Generator<Finding> {
  const path = stepPath(index, 'model_version')
  const serverText = `ensemble '${view.modelName}' depends on '${step.model_name}' whose required version ${step.model_version} is not loaded.`
  const latest = preferredFix('Write model_version: -1 (the latest)', '写 model_version: -1（最新版本）', view.edit.setField(path, -1))
  const isThere = model === undefined || model.versions.length === 0 ? null : model.versions.includes(step.model_version)
  if (step.model_version === 0) {
    if (isThere === true) return
    yield {
      code: 'ensemble-step-version', severity: 'error', path, ...(isThere === null ? {} : { serverText }), fixes: [latest],
      message: say('Left out, model_version is version 0, which is not there as a rule. The latest version is -1.',
        '不写 model_version 就是版本 0，通常不存在。最新版本要写 -1。'),
    }
    return
  }
  if (step.model_version === -1 || isThere !== false) return
  yield {
    code: 'ensemble-version-not-there', severity: 'error', path, serverText, fixes: [latest],
    message: say(`Model '${step.model_name}' has no version ${step.model_version}. On disk: ${model?.versions.join(', ') ?? ''}.`,
      `模型 '${step.model_name}' 没有版本 ${step.model_version}。现有：${model?.versions.join('、') ?? ''}。`),
  }
}

function* batchSizeFinding(view: ConfigView, config: ModelConfig, step: Step, index: number, model: ModelContext | undefined): Generator<Finding> {
  const most = model?.config.max_batch_size ?? 0
  if (most <= 0 || config.max_batch_size <= most) return
  yield {
    code: 'ensemble-batch-size', severity: 'error', path: ['max_batch_size'],
    serverText: `ensemble ${view.modelName} allows maximum batch size ${config.max_batch_size}, but it contains model ${step.model_name} which only allows maximum batch `
      + `size to be ${most}`,
    message: say(`Step ${index} runs '${step.model_name}', which takes batches of at most ${most}.`, `第 ${index} 步的 '${step.model_name}' 最大批次为 ${most}。`),
    fixes: [preferredFix(`Set max_batch_size: ${most}`, `设为 max_batch_size: ${most}`, view.edit.setField(['max_batch_size'], most))],
  }
}

function* cycleFinding(view: ConfigView, step: Step, index: number): Generator<Finding> {
  const way = wayBack(view, step.model_name)
  if (way === null) return
  const circle = [view.modelName, ...way].join(' -> ')
  yield {
    code: 'ensemble-cycle', severity: 'error', path: stepPath(index, 'model_name'), serverText: `circular dependency between ensembles: ${circle}`,
    message: say(`The ensemble contains itself: ${circle}.`, `ensemble 包含了自身：${circle}。`),
  }
}

/** The models from a step's model back to this ensemble; null: there is no way. */
function wayBack(view: ConfigView, start: string): string[] | null {
  const queue: string[][] = [[start]]
  const seen = new Set<string>([start])
  for (let way = queue.shift(); way !== undefined; way = queue.shift()) {
    const last = way.at(-1) ?? ''
    if (last === view.modelName) return way
    const model = modelNamed(view.context, last)
    for (const { model_name: next } of model === undefined ? [] : stepsOf(model.config)) {
      if (seen.has(next)) continue
      seen.add(next)
      queue.push([...way, next])
    }
  }
  return null
}

const MAPS: ConfigRule = {
  codes: ['ensemble-unknown-tensor', 'ensemble-input-unmapped'],
  * check(view) {
    const { config, context } = view
    if (config === null) return
    const steps = stepsOf(config)
    const sources = [...new Set([...config.input.map(({ name }) => name), ...steps.flatMap((step) => Object.values(step.output_map))])]
    for (const [index, step] of steps.entries()) {
      const model = modelNamed(context, step.model_name)
      if (!isJudged(model)) continue
      yield* unknownKeys(view, step, index, 'input_map', model.config.input)
      yield* unknownKeys(view, step, index, 'output_map', model.config.output)
      yield* unmappedInputs(view, sources, step, index, model.config)
    }
  },
}

function* unknownKeys(view: ConfigView, step: Step, index: number, map: 'input_map' | 'output_map', tensors: readonly { readonly name: string }[]): Generator<Finding> {
  const names = tensors.map(({ name }) => name)
  const free = names.filter((name) => !Object.hasOwn(step[map], name))
  for (const [key, tensor] of Object.entries(step[map])) {
    if (names.includes(key)) continue
    const near = didYouMean(key, free) ?? (free.length === 1 ? free[0] : undefined)
    const [en, zh, says] = map === 'input_map' ? ['input', '输入', 'mapping to non-existing input'] : ['output', '输出', 'mapped from non-existing output']
    // The usual mistake: key and value the wrong way round.
    const isSwapped = !names.includes(key) && names.includes(tensor)
    const fixes: ConfigFix[] = []
    if (isSwapped && Object.keys(step[map]).length === 1) {
      fixes.push(preferredFix('Swap key and value', '对调 key 和 value', view.edit.setField(stepPath(index, map), { [tensor]: key })))
    } else if (near !== undefined) {
      fixes.push(preferredFix(`Use '${near}'`, `使用 '${near}'`, renameMapKey(view.tree, stepPath(index, map), key, near)))
    } else if (free.length === 0) {
      fixes.push(preferredFix(`Remove '${key}'`, `删除 '${key}'`, view.edit.removeMapEntry(stepPath(index, map), key)))
    }
    yield {
      code: 'ensemble-unknown-tensor', severity: 'error', path: stepPath(index, map, { key }), fixes,
      serverText: `in ensemble ${view.modelName}, ensemble tensor ${tensor} is ${says} ${key} in model ${step.model_name}`,
      message: say(`Model '${step.model_name}' has no ${en} '${key}' (the key is the model's tensor, the value the ensemble's). It has ${namesText(names, 'en')}.`,
        `模型 '${step.model_name}' 没有${zh} '${key}'（key 是模型的张量，value 是 ensemble 的张量）。现有 ${namesText(names, 'zh-CN')}。`),
    }
  }
}

function* unmappedInputs(view: ConfigView, sources: readonly string[], step: Step, index: number, model: ModelConfig): Generator<Finding> {
  const hasWrongKey = Object.keys(step.input_map).some((key) => !model.input.some(({ name }) => name === key))
  for (const input of model.input) {
    if (input.optional || Object.hasOwn(step.input_map, input.name)) continue
    const source = sources.includes(input.name) ? input.name : undefined
    yield {
      code: 'ensemble-input-unmapped', severity: 'error', path: stepPath(index, 'input_map'),
      serverText: `in ensemble ${view.modelName}, input ${input.name} in model ${step.model_name} is not mapped to any ensemble tensors`,
      message: say(`The input '${input.name}' of model '${step.model_name}' is mapped to nothing.`, `模型 '${step.model_name}' 的输入 '${input.name}' 没有映射。`),
      // Under a wrong key it may be there already: that finding repairs it.
      fixes: hasWrongKey ? [] : source !== undefined
        ? [preferredFix(`Map '${input.name}' to the tensor of that name`, `映射到同名张量 '${input.name}'`, view.edit.setMapEntry(stepPath(index, 'input_map'), input.name, source))]
        : sources.slice(0, 5).map((name) => otherFix(`Map to '${name}'`, `映射到 '${name}'`, view.edit.setMapEntry(stepPath(index, 'input_map'), input.name, name))),
    }
  }
}

/** One end of an edge: a tensor as some model declares it. */
interface End {
  readonly model: string
  readonly dataType: string
  readonly dims: readonly number[]
  readonly isBatching: boolean
  readonly path: ConfigPath
  /** The ensemble's own declaration, which can be changed here. */
  readonly own: ConfigPath | null
}

const EDGES: ConfigRule = {
  codes: ['ensemble-type-differs', 'ensemble-shape-differs'],
  * check(view) {
    const { config } = view
    if (config === null) return
    for (const [tensor, ends] of endsOf(view, config)) {
      const [first] = ends
      if (first === undefined) continue
      for (const other of ends.slice(1)) yield* edgeFindings(view, tensor, first, other)
    }
  },
}

/** Of each ensemble tensor all that declare it; the step that produces it or the ensemble's input first. */
function endsOf(view: ConfigView, config: ModelConfig): Map<string, End[]> {
  const ends = new Map<string, End[]>()
  const add = (name: string, end: End, isSource = false): void => {
    const list = ends.get(name) ?? []
    if (isSource) list.unshift(end)
    else list.push(end)
    ends.set(name, list)
  }
  const own = (role: 'input' | 'output') => config[role].forEach((tensor, index) => {
    add(tensor.name, {
      model: view.modelName, dataType: tensor.data_type, dims: tensor.dims, isBatching: config.max_batch_size > 0, path: [role, index], own: [role, index],
    })
  })
  own('input')
  stepsOf(config).forEach((step, index) => {
    const model = modelNamed(view.context, step.model_name)
    if (!isJudged(model)) return
    for (const [map, tensors, isSource] of [['input_map', model.config.input, false], ['output_map', model.config.output, true]] as const) {
      for (const [key, name] of Object.entries(step[map])) {
        const tensor = tensors.find((candidate) => candidate.name === key)
        if (tensor === undefined) continue
        add(name, {
          model: step.model_name, dataType: tensor.data_type, dims: tensor.dims, isBatching: model.config.max_batch_size > 0, path: stepPath(index, map, { key }), own: null,
        }, isSource)
      }
    }
  })
  own('output')
  return ends
}

function* edgeFindings(view: ConfigView, tensor: string, first: End, other: End): Generator<Finding> {
  const prefix = `in ensemble ${view.modelName}, ensemble tensor ${tensor}: inconsistent`
  const [own, far] = other.own !== null ? [other, first] : [first, other]
  if (first.dataType !== other.dataType) {
    yield {
      code: 'ensemble-type-differs', severity: 'error', path: other.own === null ? other.path : [...other.own, 'data_type'],
      serverText: `${prefix} data type: ${first.dataType} is inferred from model ${first.model} while ${other.dataType} is inferred from model ${other.model}`,
      message: say(`The tensor '${tensor}' is ${first.dataType} in '${first.model}' and ${other.dataType} in '${other.model}'.`,
        `张量 '${tensor}' 在 '${first.model}' 中是 ${first.dataType}，在 '${other.model}' 中是 ${other.dataType}。`),
      fixes: own.own === null ? [] : [preferredFix(`Set ${far.dataType}`, `设为 ${far.dataType}`, view.edit.setField([...own.own, 'data_type'], far.dataType))],
    }
  }
  if (areShapesEqual(first, other)) return
  const dims = own.isBatching === far.isBatching ? [...far.dims] : own.isBatching ? far.dims.slice(1) : [-1, ...far.dims]
  yield {
    code: 'ensemble-shape-differs', severity: 'error', path: other.own === null ? other.path : [...other.own, 'dims'],
    serverText: `${prefix} shape: [${shapeText(first)}] is inferred from model ${first.model} while [${shapeText(other)}] is inferred from model ${other.model}`,
    message: say(`The tensor '${tensor}' has the shape [${shapeText(first)}] in '${first.model}' and [${shapeText(other)}] in '${other.model}'.`,
      `张量 '${tensor}' 的形状在 '${first.model}' 中是 [${shapeText(first)}]，在 '${other.model}' 中是 [${shapeText(other)}]。`),
    fixes: own.own === null || dims.length === 0
      ? [] : [preferredFix(`Set dims [ ${dims.join(', ')} ]`, `设为 dims [ ${dims.join(', ')} ]`, view.edit.setField([...own.own, 'dims'], dims))],
  }
}

function shapeText(end: End): string {
  return (end.isBatching ? [-1, ...end.dims] : end.dims).join(',')
}

/** Equal up to -1, either without the batch dim or with it (section 11). */
function areShapesEqual(a: End, b: End): boolean {
  const fits = (left: readonly number[], right: readonly number[]): boolean =>
    left.length === right.length && left.every((dim, index) => dim === -1 || right[index] === -1 || dim === right[index])
  const full = (end: End): readonly number[] => (end.isBatching ? [-1, ...end.dims] : end.dims)
  return fits(a.dims, b.dims) || fits(full(a), full(b))
}

export const ENSEMBLE_RULES: readonly ConfigRule[] = [FRAGMENT, MODELS, MAPS, EDGES]
