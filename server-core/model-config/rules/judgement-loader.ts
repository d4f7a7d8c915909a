/**
 * What a load on this server refuses beyond Triton's own validation: a backend that wants the config otherwise, and features that this version
 * cannot run. The checks are the load's own (`backends/`, `model/executable-config.ts`).
 */
import type { ConfigFix } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { identityConfigProblems } from '../../backends/identity/identity-config.ts'
import { repeatConfigProblems } from '../../backends/repeat/repeat-config.ts'
import { bfloat16Problems, sessionParameterProblems } from '../../backends/onnxruntime/session-parameters.ts'
import { executableProblems } from '../../model/executable-config.ts'
import type { ConfigProblem } from '../config-problem.ts'
import { editsInTurn } from './edits-in-turn.ts'
import type { EditStep } from './edits-in-turn.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

function fact(problem: ConfigProblem, name: string): string {
  return String(problem.facts?.[name] ?? '')
}

/** Said once, however many kinds of model file there are. */
function* distinct(view: ConfigView, problemsOf: (config: ModelConfig) => Iterable<ConfigProblem>): Generator<ConfigProblem> {
  const said = new Set<string>()
  for (const { config } of view.completions) {
    for (const problem of problemsOf(config)) {
      if (said.size === said.add(problem.text).size) continue
      yield problem
    }
  }
}

const FEATURES_ZH: Readonly<Record<string, string>> = {
  'batch tensors of an unknown kind': '未知类型的批次张量', 'batch tensors with this backend': '该后端的批次张量', 'custom operator libraries': '自定义算子库', 'repository agents': '模型库代理',
  'execution accelerators': '执行加速器',
}

/** The config is no mistake, so it is a warning, as for a backend that is not installed. */
const EXECUTABLE: ConfigRule = {
  codes: ['not-executable-here'],
  * check(view) {
    if (view.context.backends === null) return // no server is known
    for (const problem of distinct(view, executableProblems)) {
      const [field, what] = [fact(problem, 'field'), fact(problem, 'what')]
      yield {
        code: 'not-executable-here', severity: 'warning', path: problem.path, serverText: problem.text,
        message: say(`This version cannot run ${what} (${field}): the model loads only on a server that can.`, `本版本不能运行${FEATURES_ZH[what] ?? what}（${field}）：该模型只能在支持它的服务器上加载。`),
      }
    }
  },
}

/** They read from the model file what a config leaves out. */
const COMPLETING_BACKENDS = new Set(['onnxruntime', 'npu_ge', 'npu_om'])

const COMPLETION_OFF: ConfigRule = {
  codes: ['lists-must-be-written'],
  * check({ config, normalized, context, modelName }) {
    const backend = normalized?.backend ?? ''
    if (config === null || !COMPLETING_BACKENDS.has(backend) || context.isAutoCompleteOff !== true || (config.input.length > 0 && config.output.length > 0)) return
    yield {
      code: 'lists-must-be-written', severity: 'error', path: [],
      ...(backend === 'onnxruntime' ? { serverText: `model '${modelName}' must list its inputs and outputs in config.pbtxt because the server runs with --disable-auto-complete-config` } : {}),
      message: say('This server does not complete configs (--disable-auto-complete-config): input and output must both be written.',
        '该服务器不会自动补全配置（--disable-auto-complete-config）：必须写明 input 和 output。'),
    }
  },
}

const BACKENDS_OWN: ConfigRule = {
  codes: ['identity-tensor-name', 'identity-pairs', 'identity-type', 'identity-shape', 'parameter-not-a-number', 'bfloat16-tensor', 'repeat-config'],
  * check(view) {
    for (const problem of distinct(view, backendProblems)) {
      yield { code: problem.code, severity: 'error', path: problem.path, serverText: problem.text, ...said(view, problem) }
    }
  },
}

function* backendProblems(config: ModelConfig): Generator<ConfigProblem> {
  if (config.backend === 'identity') yield* identityConfigProblems(config)
  if (config.backend === 'repeat') yield* repeatConfigProblems(config)
  if (config.backend !== 'onnxruntime') return
  yield* bfloat16Problems(config)
  yield* sessionParameterProblems(config)
}

function said(view: ConfigView, problem: ConfigProblem): Pick<Finding, 'message' | 'fixes'> {
  switch (problem.code) {
    case 'identity-tensor-name': return tensorName(view, problem)
    case 'identity-pairs': return {
      message: say(`The identity backend gives each input INPUT<n> back as OUTPUT<n>: inputs and outputs must be pairs (${fact(problem, 'inputs')} and ${fact(problem, 'outputs')}).`,
        `identity 后端把每个输入 INPUT<n> 原样返回为 OUTPUT<n>：输入和输出必须成对（现有 ${fact(problem, 'inputs')} 个和 ${fact(problem, 'outputs')} 个）。`),
      fixes: pairsOf(view),
    }
    case 'identity-type': return {
      message: say(`The identity backend copies '${fact(problem, 'input')}' to '${fact(problem, 'output')}': their types must be equal.`, `identity 后端把 '${fact(problem, 'input')}' 复制到 '${fact(problem, 'output')}'：两者类型必须相同。`),
      fixes: [preferredFix(`Set ${fact(problem, 'type')}`, `设为 ${fact(problem, 'type')}`, view.edit.setField(problem.path, fact(problem, 'type')))],
    }
    case 'identity-shape': return {
      message: say(`The identity backend copies '${fact(problem, 'input')}' to '${fact(problem, 'output')}': their dims must be equal.`, `identity 后端把 '${fact(problem, 'input')}' 复制到 '${fact(problem, 'output')}'：两者 dims 必须相同。`),
      fixes: [preferredFix(`Set dims: [ ${fact(problem, 'dims')} ]`, `设为 dims: [ ${fact(problem, 'dims')} ]`, view.edit.setField(problem.path, fact(problem, 'dims').split(', ').map(Number)))],
    }
    case 'bfloat16-tensor': return {
      message: say(`'${fact(problem, 'tensor')}' is BF16, which this backend cannot pass on: export the model with FP16 or FP32.`, `'${fact(problem, 'tensor')}' 是 BF16，该后端无法传递：请把模型导出为 FP16 或 FP32。`),
    }
    case 'repeat-config': return {
      message: say('The repeat backend takes IN [n], DELAY [n] and WAIT [1] (the last two TYPE_UINT32) and answers each element of IN with OUT [1], of the type of IN, and IDX [1], TYPE_UINT32; it is decoupled and does not batch.',
        'repeat 后端的输入为 IN [n]、DELAY [n]、WAIT [1]（后两个为 TYPE_UINT32），对 IN 的每个元素返回 OUT [1]（类型同 IN）和 IDX [1]（TYPE_UINT32）；它是解耦模型，且不做批处理。'),
      fixes: repeatFixes(view, problem),
    }
    default: return {
      message: say(`'${fact(problem, 'key')}' is a number from 0 on, not "${fact(problem, 'value')}".`, `'${fact(problem, 'key')}' 应为不小于 0 的数，不能是 "${fact(problem, 'value')}"。`),
      fixes: [otherFix('Remove the parameter', '删除该参数', view.edit.removeMapEntry(['parameters'], fact(problem, 'key')))],
    }
  }
}

/** What is no question of the tensors. */
function repeatFixes(view: ConfigView, problem: ConfigProblem): ConfigFix[] {
  switch (fact(problem, 'field')) {
    case 'max_batch_size': return [preferredFix('Remove max_batch_size', '删除 max_batch_size', view.edit.removeField(problem.path))]
    case 'model_transaction_policy': return [preferredFix('Make it decoupled', '设为解耦', view.edit.setField(['model_transaction_policy'], { decoupled: true }))]
    default: return []
  }
}

/** By place, where that name is free. */
function tensorName(view: ConfigView, problem: ConfigProblem): Pick<Finding, 'message' | 'fixes'> {
  const [role, index] = problem.path
  const name = `${fact(problem, 'prefix')}${String(index)}`
  const isFree = view.config?.[role === 'output' ? 'output' : 'input'].every((tensor) => tensor.name !== name) ?? false
  return {
    message: say(`Tensors of the identity backend are named ${fact(problem, 'prefix')}<n>, not '${fact(problem, 'name')}'.`, `identity 后端的张量名称为 ${fact(problem, 'prefix')}<n>，不能是 '${fact(problem, 'name')}'。`),
    fixes: isFree ? [preferredFix(`Rename to '${name}'`, `改名为 '${name}'`, view.edit.setField(problem.path, name))] : [],
  }
}

const madePairs = new WeakMap<ConfigView, ConfigFix[]>()

/** The same repair for every output that is missing or too many. */
function pairsOf(view: ConfigView): ConfigFix[] {
  const made = madePairs.get(view) ?? pairs(view)
  madePairs.set(view, made)
  return made
}

/** Tensors added or removed one by one; a config of more was not written by hand. */
const MOST_CHANGES = 64

/** Outputs become those of the inputs; where there are none, inputs those of the outputs. */
function pairs(view: ConfigView): ConfigFix[] {
  const { config } = view
  if (config === null) return []
  const [from, to] = config.input.length === 0 ? ['output', 'input'] as const : ['input', 'output'] as const
  const nameOf = (name: string): string => name.replace(from.toUpperCase(), to.toUpperCase())
  if (config[from].some(({ name }) => nameOf(name) === name)) return [] // names come first
  const wanted = new Set(config[from].map(({ name }) => nameOf(name)))
  const there = new Set<string>()
  const surplus = config[to].flatMap(({ name }, index) => (wanted.has(name) && there.size < there.add(name).size ? [] : [index]))
  const missing = config[from].filter(({ name }) => !there.has(nameOf(name)))
  const tensors = missing.map(({ name, data_type: type, dims }) => ({ name: nameOf(name), data_type: type, dims: [...dims] }))
  if (config[to].length > 0 && surplus.length + missing.length > MOST_CHANGES) return []
  const steps: EditStep[] = config[to].length === 0 ? [(edit) => edit.setField([to], tensors)] : [
    ...surplus.toReversed().map((index): EditStep => (edit) => edit.removeItem([to], index)),
    ...tensors.map((tensor): EditStep => (edit) => edit.insertItem([to], Number.MAX_SAFE_INTEGER, tensor)),
  ]
  const edits = editsInTurn(view, steps)
  return edits.length === 0 ? [] : [preferredFix(`Make ${to} match ${from}`, `使 ${to} 与 ${from} 一致`, edits)]
}

export const LOADER_RULES: readonly ConfigRule[] = [EXECUTABLE, COMPLETION_OFF, BACKENDS_OWN]
