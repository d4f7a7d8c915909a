/** For every check of Triton's validation: what it means in both languages, and how it is repaired. `{name}` stands for a fact of the problem. */
import type { ConfigFix, DiagnosticSeverity, TextEdit } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigPath, ConfigValue } from '../config-edit.ts'
import type { ConfigProblem } from '../config-problem.ts'
import { BACKEND_RULES } from '../infer-backend.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn } from './edits-in-turn.ts'
import { otherFix, preferredFix } from './rule.ts'
import type { ConfigView } from './rule.ts'

type FixMaker = (view: ConfigView, problem: ConfigProblem) => readonly ConfigFix[]

export interface Advice {
  readonly en: string
  readonly zh: string
  readonly fixes?: FixMaker
  readonly severity?: DiagnosticSeverity
}

function fact(problem: ConfigProblem, name: string): string {
  return String(problem.facts?.[name] ?? '')
}

function parentOf(path: ConfigPath): ConfigPath {
  return path.slice(0, -1)
}

/** Only where something changes. */
function fix(make: typeof preferredFix, en: string, zh: string, edits: readonly TextEdit[]): ConfigFix[] {
  return edits.length === 0 ? [] : [make(en, zh, edits)]
}

/** Sets the field at the problem's path, or at `path` below it. */
function set(value: ConfigValue, options: { readonly at?: (path: ConfigPath) => ConfigPath; readonly isOther?: boolean } = {}): FixMaker {
  return (view, problem) => {
    const path = options.at?.(problem.path) ?? problem.path
    const name = String(path.findLast((step) => typeof step === 'string') ?? '')
    const shown = typeof value === 'object' ? JSON.stringify(value) : String(value)
    return fix(options.isOther === true ? otherFix : preferredFix, `Set ${name}: ${shown}`, `设为 ${name}: ${shown}`, view.edit.setField(path, value))
  }
}

function remove(en: string, zh: string, at: (path: ConfigPath) => ConfigPath = (path) => path): FixMaker {
  return (view, problem) => fix(preferredFix, en, zh, view.edit.removeField(at(problem.path)))
}

function maybe(maker: FixMaker): FixMaker {
  return (view, problem) => maker(view, problem).map((made) => ({ ...made, isPreferred: false }))
}

function all(...makers: FixMaker[]): FixMaker {
  return (view, problem) => {
    const fixes = makers.flatMap((maker) => [...maker(view, problem)])
    const preferred = fixes.findIndex((candidate) => candidate.isPreferred)
    return fixes.map((candidate, index) => ({ ...candidate, isPreferred: index === preferred }))
  }
}

function config(view: ConfigView): ModelConfig | null {
  return view.config
}

/** Sizes that are in range, in order, each once: the same repair for every size that is not. */
function keptSizes(at: (config: ModelConfig) => readonly number[] | undefined): FixMaker {
  const made = new WeakMap<ConfigView, readonly ConfigFix[]>()
  const keep = (view: ConfigView, current: ModelConfig, path: ConfigPath): readonly ConfigFix[] => {
    const max = current.max_batch_size
    const kept = [...new Set((at(current) ?? []).filter((size) => size > 0 && size <= max))].toSorted((a, b) => a - b)
    return kept.length === 0
      ? fix(preferredFix, 'Remove the preferred sizes', '删除首选批大小', view.edit.removeField(path))
      : fix(preferredFix, `Keep [ ${kept.join(', ')} ]`, `保留 [ ${kept.join(', ')} ]`, view.edit.setField(path, kept))
  }
  return (view, problem) => {
    const current = view.config
    if (current === null) return []
    const max = current.max_batch_size
    const size = Number(fact(problem, 'size'))
    const keeps = made.get(view) ?? keep(view, current, parentOf(problem.path))
    made.set(view, keeps)
    return [
      ...keeps,
      ...(size > max ? fix(otherFix, `Set max_batch_size: ${size}`, `设为 max_batch_size: ${size}`, view.edit.setField(['max_batch_size'], size)) : []),
    ]
  }
}

const keptDynamicSizes = keptSizes((current) => current.dynamic_batching?.preferred_batch_size)
const keptSequenceSizes = keptSizes((current) => (current.sequence_batching?.['oldest'] as { preferred_batch_size: number[] } | undefined)?.preferred_batch_size)

const TYPES = ['TYPE_FP32', 'TYPE_INT64', 'TYPE_STRING']

/** Of the model file, where the context knows it. */
function fileTensor(view: ConfigView, problem: ConfigProblem): { type: string | null; dims: number[] } | null {
  const name = fact(problem, 'tensor')
  const role = problem.path[0] === 'output' ? 'outputs' : 'inputs'
  const found = view.context.versions.flatMap((version) => version.signature?.[role] ?? []).find((tensor) => tensor.name === name)
  if (found === undefined || found.hasUnknownRank === true) return null
  const dims = found.shape.map((dim) => (typeof dim === 'number' && dim > 0 ? dim : -1))
  const type = found.datatype === null ? null : found.datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${found.datatype}`
  return { type, dims: (view.config?.max_batch_size ?? 0) > 0 ? dims.slice(1) : dims }
}

const chooseType: FixMaker = (view, problem) => {
  const path = [...problem.path, 'data_type']
  const known = fileTensor(view, problem)?.type
  if (known !== undefined && known !== null) return fix(preferredFix, `Set ${known} as in the model file`, `按模型文件设为 ${known}`, view.edit.setField(path, known))
  return TYPES.flatMap((type) => fix(otherFix, `Set ${type}`, `设为 ${type}`, view.edit.setField(path, type)))
}

const chooseDims: FixMaker = (view, problem) => {
  const path = [...problem.path, 'dims']
  const known = fileTensor(view, problem)?.dims
  const shown = `[ ${(known ?? []).join(', ')} ]`
  if (known !== undefined && known.length > 0) return fix(preferredFix, `Set dims: ${shown} as in the model file`, `按模型文件设为 dims: ${shown}`, view.edit.setField(path, known))
  return fix(otherFix, 'Set dims: [ -1 ]', '设为 dims: [ -1 ]', view.edit.setField(path, [-1]))
}

const platformFixes: FixMaker = (view, problem) => {
  const own = BACKEND_RULES.find((rule) => rule.backend === fact(problem, 'backend'))?.platform
  return [
    ...fix(preferredFix, 'Remove platform', '删除 platform', view.edit.removeField(['platform'])),
    ...(own === undefined || own === '' ? [] : fix(otherFix, `Set platform: "${own}"`, `设为 platform: "${own}"`, view.edit.setField(['platform'], own))),
  ]
}

const knownPlatform: FixMaker = (view, problem) => {
  const platform = fact(problem, 'platform')
  if (BACKEND_RULES.some((rule) => rule.backend === platform) || view.context.backends?.includes(platform) === true) {
    return fix(preferredFix, `Write backend: "${platform}" instead`, `改写为 backend: "${platform}"`,
      editsInTurn(view, [(edit) => edit.setField(['backend'], platform), (edit) => edit.removeField(['platform'])]))
  }
  const platforms = BACKEND_RULES.map((rule) => rule.platform).filter((known) => known !== '')
  const near = didYouMean(platform, platforms)
  return near === undefined ? fix(otherFix, 'Remove platform', '删除 platform', view.edit.removeField(['platform']))
    : fix(preferredFix, `Set platform: "${near}"`, `设为 platform: "${near}"`, view.edit.setField(['platform'], near))
}

function renameTo(names: (config: ModelConfig) => readonly string[], factName: string): FixMaker {
  return (view, problem) => {
    const current = config(view)
    const candidates = current === null ? [] : names(current)
    const near = didYouMean(fact(problem, factName), candidates) ?? (candidates.length === 1 ? candidates[0] : undefined)
    return [
      ...(near === undefined ? [] : fix(preferredFix, `Write "${near}"`, `写成 "${near}"`, view.edit.setField(problem.path, near))),
      ...fix(otherFix, 'Remove this name', '删除该名称', view.edit.removeField(problem.path)),
    ]
  }
}

interface Step { readonly model_name: string; readonly input_map: Readonly<Record<string, string>>; readonly output_map: Readonly<Record<string, string>> }

/** Ensemble tensors that steps read or write. */
function ensembleTensors(map: 'input_map' | 'output_map'): (config: ModelConfig) => string[] {
  return (current) => ((current.ensemble_scheduling?.['step'] ?? []) as readonly Step[]).flatMap((step) => Object.values(step[map]))
}

/** What may be written under another name: tensors of steps that the ensemble declares under none of its names. */
function renameEnsembleTensor(map: 'input_map' | 'output_map', role: 'input' | 'output'): FixMaker {
  return (view, problem) => {
    const current = config(view)
    if (current === null) return []
    const declared = new Set(current[role].map((tensor) => tensor.name))
    const produced = new Set(ensembleTensors('output_map')(current))
    const free = [...new Set(ensembleTensors(map)(current))].filter((name) => !declared.has(name) && (role === 'output' || !produced.has(name)))
    const near = didYouMean(fact(problem, 'tensor'), free) ?? (free.length === 1 ? free[0] : undefined)
    return [
      ...(near === undefined ? [] : fix(preferredFix, `Rename to "${near}"`, `改名为 "${near}"`, view.edit.setField(problem.path, near))),
      ...fix(otherFix, `Remove the ${role}`, role === 'input' ? '删除该输入' : '删除该输出', view.edit.removeField(parentOf(problem.path))),
    ]
  }
}

/** The tensor that is read but nobody writes, under the nearest name that somebody does. */
const connectMissing: FixMaker = (view, problem) => {
  const current = config(view)
  const missing = fact(problem, 'missing')
  if (current === null || missing === '') return []
  const available = [...new Set([...current.input.map((tensor) => tensor.name), ...ensembleTensors('output_map')(current)])].filter((name) => name !== missing)
  const near = didYouMean(missing, available)
  const declare = current.input.some((tensor) => tensor.name === missing) ? []
    : fix(otherFix, `Declare "${missing}" as an input`, `将 "${missing}" 声明为输入`, view.edit.insertItem(['input'], Number.MAX_SAFE_INTEGER, { name: missing, data_type: 'TYPE_FP32', dims: [-1] }))
  if (near === undefined) return declare
  const steps = (current.ensemble_scheduling?.['step'] ?? []) as readonly Step[]
  const edits = editsInTurn(view, steps.flatMap((step, index) => Object.entries(step.input_map).filter(([, tensor]) => tensor === missing)
    .map(([key]) => (edit) => edit.setField(['ensemble_scheduling', 'step', index, 'input_map', { key }, 'value'], near))))
  return [...fix(preferredFix, `Read "${near}" instead of "${missing}"`, `改为读取 "${near}"，而不是 "${missing}"`, edits), ...declare]
}

const unusedTensor: FixMaker = (view, problem) => {
  const name = fact(problem, 'tensor')
  const isWritten = problem.path.includes('output_map')
  return [
    ...(isWritten ? fix(otherFix, `Declare "${name}" as an output`, `将 "${name}" 声明为输出`,
      view.edit.insertItem(['output'], Number.MAX_SAFE_INTEGER, { name, data_type: 'TYPE_FP32', dims: [-1] })) : []),
    ...fix(otherFix, 'Remove it from the step', '从该步骤中删除', view.edit.removeField(problem.path.slice(0, -1))),
  ]
}

const falseTrue: FixMaker = (view, problem) => fix(preferredFix, 'Set int32_false_true: [ 0, 1 ]', '设为 int32_false_true: [ 0, 1 ]',
  view.edit.setField([...problem.path, 'int32_false_true'], [0, 1]))

const pairOfValues: FixMaker = (view, problem) => {
  const value = problem.path.at(-1) === 'bool_false_true' ? [false, true] : [0, 1]
  return fix(preferredFix, `Set [ ${value.join(', ')} ]`, `设为 [ ${value.join(', ')} ]`, view.edit.setField(problem.path, value))
}

const priorityLevel: FixMaker = (view, problem) => {
  const levels = Number(fact(problem, 'levels'))
  const middle = Math.ceil(levels / 2)
  return fix(preferredFix, `Set ${middle}`, `设为 ${middle}`, view.edit.setField(problem.path, middle))
}

const removeInitialStates: FixMaker = (view, problem) => {
  const path = parentOf(problem.path)
  const count = Number(fact(problem, 'count'))
  const steps = Array.from({ length: count - 1 }, (_none, index) => (edit: typeof view.edit) => edit.removeItem(path, count - 1 - index))
  return fix(preferredFix, 'Keep the first one', '只保留第一个', editsInTurn(view, steps))
}


export const ADVICE: Readonly<Record<string, Advice>> = {
  'backend-unknown': { en: 'Nothing says which backend runs this model: set backend.', zh: '无法得知由哪个后端运行该模型：请设置 backend。',
    fixes: (view) => (view.context.backends ?? ['onnxruntime', 'python']).slice(0, 8).flatMap((backend) =>
      fix(otherFix, `Set backend: "${backend}"`, `设为 backend: "${backend}"`, view.edit.setField(['backend'], backend))) },
  'name-missing': { en: 'The model has no name.', zh: '模型没有名称。' },
  'ensemble-with-backend': { en: 'An ensemble has no backend: its steps have.', zh: '集成模型没有后端：各步骤才有。', fixes: remove('Remove backend', '删除 backend') },
  'unknown-platform': { en: 'There is no platform "{platform}". A backend of your own needs only backend.', zh: '没有平台“{platform}”。自定义后端只需填写 backend。', fixes: knownPlatform },
  'platform-of-other-backend': { en: 'Platform "{platform}" does not belong to backend "{backend}". It may be left out.', zh: '平台“{platform}”不属于后端“{backend}”，可以不写。', fixes: platformFixes },
  'negative-max-batch-size': { en: 'max_batch_size must be 0 (no batching) or more.', zh: 'max_batch_size 须为 0（不批处理）或更大。', fixes: set(0) },
  'version-policy-missing': { en: 'The version policy is missing.', zh: '缺少版本策略。' },
  'preferred-size-not-positive': { en: 'A preferred batch size must be 1 or more.', zh: '首选批大小须为 1 或更大。', fixes: keptDynamicSizes },
  'preferred-size-over-max': { en: 'The preferred batch size {size} is larger than max_batch_size {max}.', zh: '首选批大小 {size} 大于 max_batch_size {max}。', fixes: keptDynamicSizes },
  'default-priority-range': { en: 'With {levels} priority levels default_priority_level must be 1 to {levels}.', zh: '有 {levels} 个优先级时，default_priority_level 须在 1 到 {levels} 之间。', fixes: priorityLevel },
  'priority-policy-range': { en: 'There is no priority level {level}: levels are 1 to {levels}.', zh: '没有优先级 {level}：优先级为 1 到 {levels}。', fixes: remove('Remove this policy', '删除该策略', parentOf) },
  'ordering-with-priorities': { en: 'preserve_ordering allows one priority level only.', zh: 'preserve_ordering 只允许一个优先级。',
    fixes: all(remove('Remove preserve_ordering', '删除 preserve_ordering'), maybe((view) => fix(otherFix, 'Remove priority_levels', '删除 priority_levels', view.edit.removeField(['dynamic_batching', 'priority_levels'])))) },
  'ordering-with-delay': { en: 'DELAY would change the order that preserve_ordering keeps.', zh: 'DELAY 会打乱 preserve_ordering 要保持的顺序。', fixes: set('REJECT') },
  'ensemble-without-scheduling': { en: 'platform "ensemble" needs ensemble_scheduling with its steps.', zh: '平台 "ensemble" 需要带步骤的 ensemble_scheduling。', fixes: maybe(remove('Remove platform', '删除 platform')) },
  'cache-with-sequences': { en: 'The response cache cannot serve models with sequence batching.', zh: '响应缓存不支持使用序列批处理的模型。', fixes: remove('Remove response_cache', '删除 response_cache', parentOf) },
  'cache-with-decoupled': { en: 'The response cache cannot serve decoupled models.', zh: '响应缓存不支持解耦模型。', fixes: remove('Remove response_cache', '删除 response_cache', parentOf) },
  'metric-without-identifier': { en: 'A metric control must say which metric it is about: metric_identifier.', zh: '指标设置须说明针对哪个指标：metric_identifier。', fixes: remove('Remove this control', '删除该设置') },
  'metric-without-family': { en: 'metric_identifier must name a family of metrics.', zh: 'metric_identifier 须给出指标族名称。', fixes: set('nv_inference_first_response_histogram_ms', { at: (path) => [...path, 'family'], isOther: true }) },
  'metric-without-options': { en: 'A metric control must have histogram_options.', zh: '指标设置须有 histogram_options。', fixes: set({ buckets: [10, 100, 1000] }, { at: (path) => [...path, 'histogram_options'], isOther: true }) },
  'metric-without-buckets': { en: 'histogram_options must list its buckets.', zh: 'histogram_options 须列出分桶。', fixes: set([10, 100, 1000], { at: (path) => [...path, 'buckets'], isOther: true }) },
  'empty-repository-agents': { en: 'model_repository_agents names no agent: remove the empty block.', zh: 'model_repository_agents 没有给出代理：请删除空块。', fixes: remove('Remove the empty block', '删除空块') },

  'control-without-name': { en: 'A control input must have the name of a model input.', zh: '控制输入须填写模型输入名。', fixes: maybe(remove('Remove this control input', '删除该控制输入')) },
  'control-tensor-twice': { en: 'Tensor "{tensor}" is used by two control inputs.', zh: '张量“{tensor}”被两个控制输入使用。', fixes: maybe(remove('Remove this control input', '删除该控制输入', parentOf)) },
  'control-kind-twice': { en: '{kind} is given twice.', zh: '{kind} 给出了两次。', fixes: maybe(remove('Remove this control', '删除该控制', parentOf)) },
  'control-without-values': { en: '{kind} must say what stands for false and true.', zh: '{kind} 须说明用什么值表示假与真。', fixes: falseTrue },
  'control-values-twice': { en: '{kind} gives values in more than one type: {fields}.', zh: '{kind} 以多种类型给出了值：{fields}。', fixes: remove('Remove this one', '删除这一个') },
  'control-values-count': { en: '{field} must have exactly two entries, for false and true; it has {count}.', zh: '{field} 须恰有两项（假与真），现有 {count} 项。', fixes: pairOfValues },
  'corrid-with-values': { en: 'The sequence id has no values for false and true.', zh: '序列标识没有假、真取值。', fixes: remove('Remove these values', '删除这些值') },
  'corrid-type': { en: 'The sequence id must be UINT64, INT64, UINT32, INT32 or STRING.', zh: '序列标识的类型须为 UINT64、INT64、UINT32、INT32 或 STRING。', fixes: set('TYPE_UINT64') },
  'sequence-preferred-size-not-positive': { en: 'A preferred batch size must be 1 or more.', zh: '首选批大小须为 1 或更大。', fixes: keptSequenceSizes },
  'sequence-preferred-size-over-max': { en: 'The preferred batch size {size} is larger than max_batch_size {max}.', zh: '首选批大小 {size} 大于 max_batch_size {max}。', fixes: keptSequenceSizes },
  'slot-utilization-range': { en: 'minimum_slot_utilization is a share: above 0, up to 1.', zh: 'minimum_slot_utilization 为占比：大于 0，不超过 1。', fixes: set(1) },
  'initial-state-count': { en: 'State "{tensor}" has {count} initial states; one is allowed.', zh: '状态“{tensor}”有 {count} 个初始状态，只允许一个。', fixes: removeInitialStates },
  'initial-state-type': { en: 'The initial state of "{tensor}" must be of the state\'s own type {type}.', zh: '“{tensor}”的初始状态须与状态同为 {type}。',
    fixes: (view, problem) => set(fact(problem, 'type'))(view, problem) },
  'initial-state-without-name': { en: 'The initial state of "{tensor}" must have a name.', zh: '“{tensor}”的初始状态须有名称。',
    fixes: (view, problem) => set(`initial ${fact(problem, 'tensor')}`, { at: (path) => [...path, 'name'] })(view, problem) },
  'initial-state-rank': { en: 'The initial state of "{tensor}" has {rank} dims, the state {expected}.', zh: '“{tensor}”的初始状态有 {rank} 维，状态有 {expected} 维。',
    fixes: (view, problem) => initialDims(view, problem, parentOf(problem.path)) },
  'initial-state-dims': { en: 'The initial state of "{tensor}" has {dim} where the state has {expected}.', zh: '“{tensor}”的初始状态此维为 {dim}，状态为 {expected}。',
    fixes: (view, problem) => set(Number(fact(problem, 'expected')))(view, problem) },
  'initial-state-variable-dims': { en: 'The initial state of "{tensor}" needs a size for every dimension.', zh: '“{tensor}”的初始状态每一维都须有大小。', fixes: set(1, { isOther: true }) },
  'initial-state-file-short': { en: 'The file of the initial state has {size} bytes, {expected} are needed.', zh: '初始状态的文件有 {size} 字节，需要 {expected} 字节。',
    fixes: (view, problem) => fix(otherFix, 'Start with zeros instead', '改为全零开始', view.edit.setField([...parentOf(problem.path), 'zero_data'], true)) },

  'tensor-without-name': { en: 'The {role} has no name.', zh: '该张量没有名称。', fixes: maybe(remove('Remove it', '删除')) },
  'tensor-without-type': { en: '"{tensor}" has no data_type.', zh: '“{tensor}”没有 data_type。', fixes: chooseType },
  'tensor-without-dims': { en: '"{tensor}" has no dims.', zh: '“{tensor}”没有 dims。', fixes: chooseDims },
  'empty-reshape-without-batching': { en: 'An empty reshape makes a scalar, which only a batching model can take.', zh: '空的 reshape 得到标量，只有支持批处理的模型才能使用。', fixes: remove('Remove reshape', '删除 reshape') },
  'bad-dimension': { en: 'A dimension is 1 or more, or -1 for any size; {dim} is neither.', zh: '维度须为 1 或更大，或用 -1 表示任意大小；{dim} 都不是。', fixes: set(-1) },
  'bad-reshape-dimension': { en: 'A dimension is 1 or more, or -1 for any size; {dim} is neither.', zh: '维度须为 1 或更大，或用 -1 表示任意大小；{dim} 都不是。', fixes: set(-1) },
  'reshape-size': { en: 'dims {dims} and reshape {shape} of "{tensor}" hold different numbers of elements.', zh: '“{tensor}”的 dims {dims} 与 reshape {shape} 元素总数不同。', fixes: maybe(remove('Remove reshape', '删除 reshape', parentOf)) },
  'reshape-variable-dims': { en: 'dims {dims} and reshape {shape} of "{tensor}" have different numbers of -1.', zh: '“{tensor}”的 dims {dims} 与 reshape {shape} 中 -1 的个数不同。', fixes: maybe(remove('Remove reshape', '删除 reshape', parentOf)) },
  'image-format-dims': { en: '{format} needs exactly 3 dims; "{tensor}" has {rank}.', zh: '{format} 要求恰好 3 维，“{tensor}”有 {rank} 维。', fixes: remove('Remove format', '删除 format') },
  'shape-tensor': { en: 'Shape tensors exist only with TensorRT.', zh: '形状张量仅用于 TensorRT。', fixes: remove('Remove is_shape_tensor', '删除 is_shape_tensor') },
  'non-linear-format': { en: 'Non-linear formats exist only with TensorRT.', zh: '非线性格式仅用于 TensorRT。', fixes: remove('Remove is_non_linear_format_io', '删除 is_non_linear_format_io') },
  'batch-input-sources': { en: 'This kind of batch_input is computed from exactly one input; {count} are given.', zh: '此类 batch_input 由恰好一个输入计算得出，现给出 {count} 个。',
    fixes: (view, problem) => oneSource(view, problem) },
  'batch-output-sources': { en: 'This kind of batch_output follows the shape of exactly one input; {count} are given.', zh: '此类 batch_output 依据恰好一个输入的形状，现给出 {count} 个。',
    fixes: (view, problem) => oneSource(view, problem) },
  'batch-input-type': { en: 'data_type of a batch_input must be TYPE_INT32 or TYPE_FP32.', zh: 'batch_input 的 data_type 须为 TYPE_INT32 或 TYPE_FP32。', fixes: all(set('TYPE_INT32'), set('TYPE_FP32', { isOther: true })) },
  'unknown-source-input': { en: 'The model has no input "{source}".', zh: '模型没有输入“{source}”。', fixes: renameTo((current) => current.input.map((tensor) => tensor.name), 'source') },
  'unknown-target-output': { en: 'The model has no output "{target}".', zh: '模型没有输出“{target}”。', fixes: renameTo((current) => current.output.map((tensor) => tensor.name), 'target') },
  'target-output-twice': { en: 'Output "{target}" is named twice.', zh: '输出“{target}”写了两次。', fixes: remove('Remove this one', '删除这一个') },

  'gpus-without-gpu-kind': { en: 'gpus belongs to KIND_GPU, not to {kind}.', zh: 'gpus 用于 KIND_GPU，不用于 {kind}。', fixes: remove('Remove gpus', '删除 gpus') },
  'unknown-gpu': { en: 'There is no GPU {gpu}; there are: {list}.', zh: '没有 GPU {gpu}；现有：{list}。', fixes: remove('Remove this id', '删除该编号') },
  'unknown-instance-kind': { en: 'There is no such kind of instances.', zh: '没有这种实例类型。', fixes: set('KIND_CPU') },
  'too-many-instances': { en: 'The groups ask for {instances} instances; {maximum} are possible.', zh: '各组共要求 {instances} 个实例，最多 {maximum} 个。', fixes: set(1) },
  'profile-without-tensorrt': { en: 'profile is for TensorRT models only.', zh: 'profile 仅用于 TensorRT 模型。', fixes: remove('Remove profile', '删除 profile') },

  'scheduling-without-ensemble': { en: 'ensemble_scheduling needs platform: "ensemble" and no backend.', zh: 'ensemble_scheduling 需要 platform: "ensemble"，且不设 backend。',
    fixes: (view) => fix(preferredFix, 'Set platform: "ensemble"', '设为 platform: "ensemble"',
      editsInTurn(view, [(edit) => edit.setField(['platform'], 'ensemble'), (edit) => edit.removeField(['backend'])])) },
  'ensemble-with-instance-group': { en: 'An ensemble has no instances of its own.', zh: '集成模型自身没有实例。', fixes: remove('Remove instance_group', '删除 instance_group') },
  'ensemble-with-optimization': { en: 'optimization is for the models of the steps, not for an ensemble.', zh: 'optimization 用于各步骤的模型，不用于集成模型。', fixes: remove('Remove optimization', '删除 optimization') },
  'ensemble-with-model-warmup': { en: 'An ensemble cannot be warmed up: its models can.', zh: '集成模型不能预热：其各模型可以。', fixes: remove('Remove model_warmup', '删除 model_warmup') },
  'ensemble-without-steps': { en: 'An ensemble needs at least one step.', zh: '集成模型至少需要一个步骤。' ,
    fixes: (view) => Object.keys(view.context.models).slice(0, 5).flatMap((name) => fix(otherFix, `Add a step for ${name}`, `添加 ${name} 的步骤`,
      view.edit.insertItem(['ensemble_scheduling', 'step'], 0, { model_name: name, model_version: -1 }))) },
  'step-without-model-name': { en: 'Step {step} names no model.', zh: '步骤 {step} 没有给出模型。',
    fixes: (view, problem) => Object.keys(view.context.models).slice(0, 5).flatMap((name) => fix(otherFix, `Use ${name}`, `使用 ${name}`, view.edit.setField([...problem.path, 'model_name'], name))) },
  'step-without-input-map': { en: 'Step {step} maps no inputs.', zh: '步骤 {step} 没有映射输入。', fixes: (view, problem) => mapOfModel(view, problem, 'input') },
  'step-without-output-map': { en: 'Step {step} maps no outputs.', zh: '步骤 {step} 没有映射输出。', fixes: (view, problem) => mapOfModel(view, problem, 'output') },
  'ensemble-tensor-written-twice': { en: 'Ensemble tensor "{tensor}" is written by two steps.', zh: '集成张量“{tensor}”被写入两次。',
    fixes: (view, problem) => fix(otherFix, `Write "${fact(problem, 'tensor')}_${fact(problem, 'step')}" here`, `此处改写入 "${fact(problem, 'tensor')}_${fact(problem, 'step')}"`,
      view.edit.setField(problem.path, `${fact(problem, 'tensor')}_${fact(problem, 'step')}`)) },
  'ensemble-input-unused': { en: 'No step reads the input "{tensor}".', zh: '没有步骤读取输入“{tensor}”。', fixes: renameEnsembleTensor('input_map', 'input') },
  'ensemble-output-unused': { en: 'No step writes the output "{tensor}".', zh: '没有步骤写入输出“{tensor}”。', fixes: renameEnsembleTensor('output_map', 'output') },
  'ensemble-output-not-written': { en: 'Output "{tensor}" is never written, as "{missing}" is not connected.', zh: '输出“{tensor}”无法写入，因为“{missing}”没有来源。', fixes: connectMissing },
  'ensemble-tensor-unused': { en: 'Ensemble tensor "{tensor}" leads nowhere or comes from nowhere.', zh: '集成张量“{tensor}”没有来源或没有去处。', fixes: unusedTensor },
}

function oneSource(view: ConfigView, problem: ConfigProblem): ConfigFix[] {
  const path = problem.path.at(-1) === 'source_input' ? problem.path : [...problem.path, 'source_input']
  const inputs = view.config?.input.map((tensor) => tensor.name) ?? []
  const isSure = inputs.length === 1
  return inputs.slice(0, 5).flatMap((name) => fix(isSure ? preferredFix : otherFix, `Set source_input: "${name}"`, `设为 source_input: "${name}"`, view.edit.setField(path, [name])))
}

function initialDims(view: ConfigView, problem: ConfigProblem, statePath: ConfigPath): ConfigFix[] {
  const states = (view.config?.sequence_batching?.['state'] ?? []) as readonly { readonly dims: readonly number[] }[]
  const index = problem.path[2]
  const dims = typeof index === 'number' ? states[index]?.dims.map((dim) => (dim === -1 ? 1 : dim)) : undefined
  return dims === undefined ? [] : fix(preferredFix, `Set dims: [ ${dims.join(', ')} ]`, `设为 dims: [ ${dims.join(', ')} ]`, view.edit.setField([...statePath, 'dims'], dims))
}

/** Every tensor of the step's model, to an ensemble tensor of the same name. */
function mapOfModel(view: ConfigView, problem: ConfigProblem, role: 'input' | 'output'): ConfigFix[] {
  const steps = (view.config?.ensemble_scheduling?.['step'] ?? []) as readonly Step[]
  const name = steps[Number(fact(problem, 'step'))]?.model_name ?? ''
  const model = Object.hasOwn(view.context.models, name) ? view.context.models[name] : undefined
  const tensors = model?.config[role] ?? []
  if (tensors.length === 0) return []
  const value = Object.fromEntries(tensors.map((tensor) => [tensor.name, tensor.name]))
  return fix(otherFix, `Map the ${role}s of ${name}`, role === 'input' ? `映射 ${name} 的输入` : `映射 ${name} 的输出`, view.edit.setField([...problem.path, `${role}_map`], value))
}
