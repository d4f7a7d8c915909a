/**
 * An ensemble against its composing models: what `validate-ensemble-members.ts` refuses, said in both languages and with what repairs it.
 * A model that is not known, or whose config says nothing, is not judged.
 */
import type { ConfigFix, LocalizedText } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigPath } from '../config-edit.ts'
import { renameMapKey } from '../config-edit.ts'
import { ensembleSteps, fullShapeText, validateEnsembleAgainstMembers } from '../validate-ensemble-members.ts'
import type { EnsembleEnd, EnsembleMember, EnsembleProblem, EnsembleStep } from '../validate-ensemble-members.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn } from './edits-in-turn.ts'
import { ENSEMBLE_FRAGMENT } from './judgement-ensemble-fragment.ts'
import { isJudged, modelNamed, namesText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

/** Names offered or compared one by one. */
const MOST_NAMES = 200

/** What the findings about one ensemble share. */
interface Check {
  readonly view: ConfigView
  readonly steps: readonly EnsembleStep[]
  /** Ensemble tensors that something can read. */
  readonly sources: readonly string[]
}

const MEMBERS: ConfigRule = {
  codes: [
    'ensemble-unknown-model', 'ensemble-step-version', 'ensemble-version-not-there', 'ensemble-cycle', 'ensemble-batch-size', 'ensemble-unknown-tensor',
    'ensemble-input-unmapped', 'ensemble-output-ambiguous', 'ensemble-type-differs', 'ensemble-shape-differs', 'ensemble-decoupled-inputs',
  ],
  * check(view) {
    const { config, context } = view
    if (config === null || config.ensemble_scheduling === undefined) return
    const steps = ensembleSteps(config)
    const sources = new Set([...config.input.map(({ name }) => name), ...steps.flatMap((step) => Object.values(step.output_map))])
    const check: Check = { view, steps, sources: [...sources] }
    yield* versionsLeftOut(view, steps)
    const areModelsKnown = Object.keys(context.models).length > 0
    for (const problem of validateEnsembleAgainstMembers({ ...config, name: view.modelName }, membersOf(view))) {
      // A step without a name is told so by Triton's own rule; version 0 has a finding of its own.
      if (problem.code === 'ensemble-unknown-model' && (!areModelsKnown || problem.facts?.['model'] === '')) continue
      if (problem.code === 'ensemble-version-not-there' && problem.facts?.['version'] === 0) continue
      const finding = toFinding(check, problem)
      if (finding !== null) yield { ...finding, code: problem.code, severity: 'error', serverText: problem.text }
    }
  },
}

function membersOf({ context }: ConfigView): Map<string, EnsembleMember> {
  return new Map(Object.entries(context.models).map(([name, model]) => [name, {
    // What is completed only when it loads cannot be judged; an ensemble's steps are known all the same.
    config: model.config.ensemble_scheduling !== undefined || isJudged(model) ? model.config : null,
    versions: model.versions.length === 0 ? null : model.versions,
  }]))
}

type Said = Pick<Finding, 'path' | 'message' | 'fixes'>

function toFinding(check: Check, problem: EnsembleProblem): Said | null {
  switch (problem.code) {
    case 'ensemble-cycle': return plain(problem, say(`The ensemble contains itself: ${fact(problem, 'circle')}.`, `ensemble 包含了自身：${fact(problem, 'circle')}。`))
    case 'ensemble-unknown-model': return unknownModel(check.view, problem)
    case 'ensemble-version-not-there': return versionNotThere(check.view, problem)
    case 'ensemble-batch-size': return batchSize(check.view, problem)
    case 'ensemble-unknown-tensor': return unknownTensor(check, problem)
    case 'ensemble-input-unmapped': return unmappedInput(check, problem)
    case 'ensemble-output-ambiguous': return plain(problem, say(`Model '${fact(problem, 'model')}' lists the output '${fact(problem, 'key')}' twice.`,
      `模型 '${fact(problem, 'model')}' 重复列出了输出 '${fact(problem, 'key')}'。`))
    case 'ensemble-type-differs': return typeDiffers(check.view, problem)
    case 'ensemble-shape-differs': return shapeDiffers(check.view, problem)
    case 'ensemble-decoupled-inputs': return plain(problem, say(
      `What '${fact(problem, 'model')}' reads comes from different streams of responses: one decoupled model's, another's, or the request itself. They cannot be matched.`,
      `'${fact(problem, 'model')}' 读取的张量来自不同的响应流（不同的解耦模型，或请求本身），无法一一对应。`))
    default: return null // states of models that are known only while a server runs
  }
}

function fact(problem: EnsembleProblem, name: string): string {
  return String(problem.facts?.[name] ?? '')
}

function plain(problem: EnsembleProblem, message: LocalizedText): Said {
  return { path: problem.path, message }
}

function unknownModel(view: ConfigView, problem: EnsembleProblem): Said {
  const model = fact(problem, 'model')
  const names = Object.keys(view.context.models)
  const near = didYouMean(model, names)
  return {
    path: problem.path,
    message: say(`The repository has no model '${model}'. ${near === undefined ? `It has ${namesText(names, 'en')}.` : `Did you mean '${near}'?`}`,
      `模型库中没有模型 '${model}'。${near === undefined ? `现有 ${namesText(names, 'zh-CN')}。` : `是否指 '${near}'？`}`),
    fixes: near === undefined
      ? names.slice(0, 5).map((name) => otherFix(`Use '${name}'`, `使用 '${name}'`, view.edit.setField(problem.path, name)))
      : [preferredFix(`Use '${near}'`, `使用 '${near}'`, view.edit.setField(problem.path, near))],
  }
}

function latestVersion(view: ConfigView, path: ConfigPath): ConfigFix {
  return preferredFix('Write model_version: -1 (the latest)', '写 model_version: -1（最新版本）', view.edit.setField(path, -1))
}

/** Left out, model_version is 0: worth a word even where nobody knows which versions there are. */
function* versionsLeftOut(view: ConfigView, steps: readonly EnsembleStep[]): Generator<Finding> {
  for (const [index, step] of steps.entries()) {
    if (step.model_version !== 0 || step.model_name === '') continue
    const versions = modelNamed(view.context, step.model_name)?.versions ?? []
    if (versions.includes(0)) continue
    const path = ['ensemble_scheduling', 'step', index, 'model_version']
    yield {
      code: 'ensemble-step-version', severity: 'error', path, fixes: [latestVersion(view, path)],
      ...(versions.length === 0 ? {} : { serverText: `ensemble '${view.modelName}' depends on '${step.model_name}' whose required version 0 is not loaded.` }),
      message: say('Left out, model_version is version 0, which is not there as a rule. The latest version is -1.',
        '不写 model_version 就是版本 0，通常不存在。最新版本要写 -1。'),
    }
  }
}

function versionNotThere(view: ConfigView, problem: EnsembleProblem): Said {
  const model = fact(problem, 'model')
  const versions = modelNamed(view.context, model)?.versions ?? []
  return {
    path: problem.path, fixes: [latestVersion(view, problem.path)],
    message: say(`Model '${model}' has no version ${fact(problem, 'version')}. On disk: ${versions.join(', ')}.`, `模型 '${model}' 没有版本 ${fact(problem, 'version')}。现有：${versions.join('、')}。`),
  }
}

function batchSize(view: ConfigView, problem: EnsembleProblem): Said {
  const most = Number(fact(problem, 'most'))
  return {
    path: problem.path,
    message: say(`Step ${problem.step ?? 0} runs '${fact(problem, 'model')}', which takes batches of at most ${most}.`, `第 ${problem.step ?? 0} 步的 '${fact(problem, 'model')}' 最大批次为 ${most}。`),
    fixes: [preferredFix(`Set max_batch_size: ${most}`, `设为 max_batch_size: ${most}`, view.edit.setField(['max_batch_size'], most))],
  }
}

function modelOf(check: Check, problem: EnsembleProblem): { readonly step: EnsembleStep | undefined; readonly config: ModelConfig | undefined } {
  const step = check.steps[problem.step ?? 0]
  return { step, config: modelNamed(check.view.context, step?.model_name ?? '')?.config }
}

function unknownTensor(check: Check, problem: EnsembleProblem): Said {
  const { view } = check
  const { step, config } = modelOf(check, problem)
  const map = fact(problem, 'map') === 'input_map' ? 'input_map' : 'output_map'
  const [key, tensor, model] = [fact(problem, 'key'), fact(problem, 'tensor'), fact(problem, 'model')]
  const mapPath = problem.path.slice(0, -1)
  const entries = step?.[map] ?? {}
  const names = (config?.[map === 'input_map' ? 'input' : 'output'] ?? []).map(({ name }) => name)
  const free = names.filter((name) => !Object.hasOwn(entries, name)).slice(0, MOST_NAMES)
  const near = didYouMean(key, free) ?? (free.length === 1 ? free[0] : undefined)
  const [en, zh] = map === 'input_map' ? ['input', '输入'] : ['output', '输出']
  const fixes: ConfigFix[] = []
  // The usual mistake: key and value the wrong way round.
  if (names.includes(tensor) && Object.keys(entries).length === 1) {
    fixes.push(preferredFix('Swap key and value', '对调 key 和 value', view.edit.setField(mapPath, { [tensor]: key })))
  } else if (near !== undefined) {
    fixes.push(preferredFix(`Use '${near}'`, `使用 '${near}'`, renameMapKey(view.tree, mapPath, key, near)))
  } else if (free.length === 0) {
    fixes.push(preferredFix(`Remove '${key}'`, `删除 '${key}'`, view.edit.removeMapEntry(mapPath, key)))
  }
  return {
    path: problem.path, fixes,
    message: say(`Model '${model}' has no ${en} '${key}' (the key is the model's tensor, the value the ensemble's). It has ${namesText(names, 'en')}.`,
      `模型 '${model}' 没有${zh} '${key}'（key 是模型的张量，value 是 ensemble 的张量）。现有 ${namesText(names, 'zh-CN')}。`),
  }
}

function unmappedInput(check: Check, problem: EnsembleProblem): Said {
  const { view, sources } = check
  const { step, config } = modelOf(check, problem)
  const input = fact(problem, 'input')
  const known = new Set(config?.input.map(({ name }) => name))
  const hasWrongKey = Object.keys(step?.input_map ?? {}).some((key) => !known.has(key))
  const mapTo = (name: string) => view.edit.setMapEntry(problem.path, input, name)
  return {
    path: problem.path,
    message: say(`The input '${input}' of model '${fact(problem, 'model')}' is mapped to nothing.`, `模型 '${fact(problem, 'model')}' 的输入 '${input}' 没有映射。`),
    // Under a wrong key it may be there already: that finding repairs it.
    fixes: hasWrongKey ? [] : sources.includes(input)
      ? [preferredFix(`Map '${input}' to the tensor of that name`, `映射到同名张量 '${input}'`, mapTo(input))]
      : sources.slice(0, 5).map((name) => otherFix(`Map to '${name}'`, `映射到 '${name}'`, mapTo(name))),
  }
}

/** The end that can be changed here, which is the one to look at; and the other. */
function ownAndFar({ ends }: EnsembleProblem): { readonly own: EnsembleEnd | null; readonly far: EnsembleEnd; readonly first: EnsembleEnd; readonly other: EnsembleEnd } | null {
  if (ends === undefined) return null
  const [first, other] = ends
  return { own: first.isOwn ? first : other.isOwn ? other : null, far: first.isOwn ? other : first, first, other }
}

function typeDiffers(view: ConfigView, problem: EnsembleProblem): Said | null {
  const sides = ownAndFar(problem)
  if (sides === null) return null
  const { own, far, first, other } = sides
  const path = own === null ? problem.path : [...own.path, 'data_type']
  return {
    path,
    message: say(`The tensor '${fact(problem, 'tensor')}' is ${first.dataType} in '${first.model}' and ${other.dataType} in '${other.model}'.`,
      `张量 '${fact(problem, 'tensor')}' 在 '${first.model}' 中是 ${first.dataType}，在 '${other.model}' 中是 ${other.dataType}。`),
    fixes: own === null ? [] : [preferredFix(`Set ${far.dataType}`, `设为 ${far.dataType}`, view.edit.setField(path, far.dataType))],
  }
}

function shapeDiffers(view: ConfigView, problem: EnsembleProblem): Said | null {
  const sides = ownAndFar(problem)
  if (sides === null) return null
  const { own, far, first, other } = sides
  const dims = own === null ? [] : own.isBatching === far.isBatching ? [...far.dims] : own.isBatching ? far.dims.slice(1) : [-1, ...far.dims]
  const hasReshape = own !== null && view.config?.[own.path[0] === 'output' ? 'output' : 'input'][Number(own.path[1])]?.reshape !== undefined
  return {
    path: own === null ? problem.path : [...own.path, hasReshape ? 'reshape' : 'dims'],
    message: say(`The tensor '${fact(problem, 'tensor')}' has the shape ${fullShapeText(first)} in '${first.model}' and ${fullShapeText(other)} in '${other.model}'.`,
      `张量 '${fact(problem, 'tensor')}' 的形状在 '${first.model}' 中是 ${fullShapeText(first)}，在 '${other.model}' 中是 ${fullShapeText(other)}。`),
    fixes: own === null || dims.length === 0 ? [] : [preferredFix(`Set dims [ ${dims.join(', ')} ]`, `设为 dims [ ${dims.join(', ')} ]`, editsInTurn(view, [
      (edit) => edit.setField([...own.path, 'dims'], dims), (edit) => (hasReshape ? edit.removeField([...own.path, 'reshape']) : []),
    ]))],
  }
}

export const ENSEMBLE_RULES: readonly ConfigRule[] = [ENSEMBLE_FRAGMENT, MEMBERS]
