/** Inputs and outputs against the model file; and, where the file is not known, the batch axis written twice. */
import type { ConfigFix } from '../../contract/config-language.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../../contract/model-config.ts'
import { completionProblems, configDimsOf, configTypeOf, plainDims, scheduledInputs, signatureProblems } from '../signature-problems.ts'
import type { SignatureProblem, SignatureTensor, TensorRole, TensorSignature } from '../signature-problems.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn, listSteps } from './edits-in-turn.ts'
import type { EditStep } from './edits-in-turn.ts'
import { backendOf, isEnsemble, listText, namesText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const KIND_ZH: Readonly<Record<TensorRole, string>> = { input: '输入', output: '输出' }

/** Backends that run the ONNX file of the version directory. */
const RUNS_ONNX = new Set(['onnxruntime', 'npu_ge'])

/** Nobody reads more; working out their repairs would take long. */
const MOST_FINDINGS = 500
/** Characters read for repairs in one check. */
const MOST_WORK = 10_000_000
/** Names looked at for a likely one. */
const MOST_CANDIDATES = 200

/** What all findings about one config and its file share. */
interface Comparison {
  readonly view: ConfigView
  /** Completed and named. */
  readonly config: ModelConfig
  readonly signature: TensorSignature
  /** Tensors of the file that the config does not list. */
  readonly unclaimed: Readonly<Record<TensorRole, readonly SignatureTensor[]>>
  /** The same repair for every tensor, made when the first one asks. */
  readonly noBatching: () => ConfigFix
}

function compare(view: ConfigView, config: ModelConfig, signature: TensorSignature): Comparison {
  let fix: ConfigFix | undefined
  return {
    view, config, signature, unclaimed: { input: unclaimed(config, signature, 'input'), output: unclaimed(config, signature, 'output') },
    noBatching: () => (fix ??= noBatching(view, config, signature)),
  }
}

const AGAINST_FILE: ConfigRule = {
  codes: [
    'tensor-not-in-model', 'tensor-type-differs', 'tensor-type-unsupported', 'tensor-missing', 'tensor-twice', 'scheduled-input-not-in-model', 'dims-contain-batch', 'dims-differ',
    'fixed-batch-dim', 'model-cannot-batch', 'optional-while-batching', 'ragged-input-shape', 'output-not-offered',
  ],
  * check(view) {
    const { config, context } = view
    if (config === null || isEnsemble(config)) return
    const backend = backendOf(view)
    if (!RUNS_ONNX.has(backend)) return
    // What is not written and not completed either is refused for that alone (judgement-loader.ts).
    if (context.isAutoCompleteOff === true && (config.input.length === 0 || config.output.length === 0)) return
    for (const { config: completed, signature } of view.completions) {
      if (signature !== null) yield* againstFile(view, config, completed, signature, backend === 'onnxruntime')
    }
  },
}

function* againstFile(view: ConfigView, config: ModelConfig, completed: ModelConfig, signature: TensorSignature, isOnnxRuntime: boolean): Generator<Finding> {
  const named: ModelConfig = { ...config, name: view.modelName }
  const [cannotComplete] = isOnnxRuntime ? completionProblems(named, signature) : []
  const comparison = compare(view, cannotComplete === undefined ? completed : named, signature)
  const problems = cannotComplete === undefined ? signatureProblems(completed, signature) : [cannotComplete]
  // Working out a repair may read the whole text again.
  const most = Math.max(10, Math.min(MOST_FINDINGS, Math.floor(MOST_WORK / view.text.length)))
  let count = 0
  for (const problem of problems) {
    if (++count > most) break
    for (const { serverText, ...finding } of found(comparison, problem)) {
      const fixes = (finding.fixes ?? []).filter(({ edits }) => edits.length > 0)
      yield { ...finding, fixes, ...(isOnnxRuntime && serverText !== undefined ? { serverText } : {}) }
    }
  }
  yield* outputsNotOffered(view, config, signature)
}

/** Names of the file that the config does not list. */
function unclaimed(config: ModelConfig, signature: TensorSignature, role: TensorRole): SignatureTensor[] {
  const listed = new Set(config[role].map(({ name }) => name))
  if (role === 'input') for (const name of scheduledInputs(config)) listed.add(name)
  return signature[`${role}s`].filter(({ name }) => !listed.has(name))
}

function* found(comparison: Comparison, problem: SignatureProblem): Generator<Finding> {
  const { view, config } = comparison
  const { serverText } = problem
  switch (problem.kind) {
    case 'cannot-batch':
      yield {
        code: 'model-cannot-batch', severity: 'error', path: ['max_batch_size'], serverText,
        message: say('The model file has a fixed first dimension, so it cannot run batches: max_batch_size must be 0.', '模型文件的第一维是固定的，不能组批：max_batch_size 必须为 0。'),
        fixes: [comparison.noBatching()],
      }
      return
    case 'tensor-count': yield* countFindings(comparison, problem.role, serverText); return
    case 'optional-while-batching':
      yield {
        code: 'optional-while-batching', severity: 'error', path: [problem.role, problem.index, 'optional'], serverText,
        message: say('An optional input is possible only while max_batch_size is 0.', '只有 max_batch_size 为 0 时，输入才能是可选的。'),
        fixes: [preferredFix('Make the input required', '改为必需输入', view.edit.removeField([problem.role, problem.index, 'optional']))],
      }
      return
    case 'unknown-tensor': yield unknownTensor(comparison, problem.role, problem.index, serverText); return
    case 'no-type':
    case 'type': yield typeFinding(view, config, problem); return
    case 'fixed-batch-dim': {
      const shape = listText(problem.found.dims)
      yield {
        code: 'fixed-batch-dim', severity: 'error', path: [problem.role, problem.index, 'dims'], serverText,
        message: say(
          `max_batch_size is ${config.max_batch_size}, but '${problem.found.name}' has the fixed shape ${shape} in the model file: its first dimension cannot be the batch.`,
          `max_batch_size 为 ${config.max_batch_size}，但模型文件中 '${problem.found.name}' 的形状固定为 ${shape}：第一维不能作为批次维。`),
        fixes: [comparison.noBatching()],
      }
      return
    }
    case 'ragged-shape':
      yield {
        code: 'ragged-input-shape', severity: 'error', path: ['input', problem.index, 'allow_ragged_batch'], serverText,
        message: say(
          `A ragged batch of '${problem.found.name}' is one flat tensor, but the model file wants the shape ${listText(problem.found.dims)}.`,
          `'${problem.found.name}' 的不等长批次是一个一维张量，但模型文件要求形状 ${listText(problem.found.dims)}。`),
        fixes: [preferredFix('Batch equal shapes only', '只对形状相同的请求组批', view.edit.removeField(['input', problem.index, 'allow_ragged_batch']))],
      }
      return
    case 'shape': yield shapeFinding(view, config, problem)
  }
}

/** No batching, and every tensor in its full shape. */
function noBatching(view: ConfigView, config: ModelConfig, signature: TensorSignature): ConfigFix {
  const steps: EditStep[] = [(edit) => edit.removeField(['max_batch_size'])]
  if (config.dynamic_batching !== undefined) steps.push((edit) => edit.removeField(['dynamic_batching']))
  for (const role of ['input', 'output'] as const) {
    const byName = new Map(signature[`${role}s`].map((tensor) => [tensor.name, tensor]))
    for (const [index, tensor] of (view.config?.[role] ?? []).entries()) {
      const inFile = byName.get(tensor.name)
      if (inFile?.hasShape === true) steps.push(...takeShape(role, index, tensor, inFile, 0))
    }
  }
  return preferredFix('Turn batching off and write the full shapes', '关闭组批并写出完整形状', editsInTurn(view, steps))
}

/** Gives a tensor the dims of the file. */
function takeShape(role: TensorRole, index: number, tensor: ModelInput | ModelOutput, inFile: SignatureTensor, maxBatchSize: number): EditStep[] {
  const { dims, reshape } = configDimsOf(inFile, maxBatchSize)
  const path = [role, index, 'dims']
  // One item more or less is a small edit; a whole list is worked out item by item.
  const steps: EditStep[] = []
  if (tensor.dims.length > 1 && dims.join() === tensor.dims.slice(1).join()) steps.push((edit) => edit.removeItem(path, 0))
  else if (dims.length > 1 && dims.slice(1).join() === tensor.dims.join()) steps.push((edit) => edit.insertItem(path, 0, dims[0] ?? -1))
  else steps.push(...listSteps(path, tensor.dims, dims))
  if (reshape !== undefined) steps.push((edit) => edit.setField([role, index, 'reshape'], { shape: [...reshape.shape] }))
  else if (tensor.reshape !== undefined) steps.push((edit) => edit.removeField([role, index, 'reshape']))
  return steps
}

function* countFindings({ view, config, signature, unclaimed: free }: Comparison, role: TensorRole, serverText: string): Generator<Finding> {
  const missing = free[role]
  const inFile = new Set(signature[`${role}s`].map((tensor) => tensor.name))
  const names = config[role].map(({ name }) => name)
  const seen = new Set<string>()
  const twice = names.findIndex((name) => seen.size === seen.add(name).size)
  if (twice >= 0) {
    const name = names[twice] ?? ''
    yield {
      code: 'tensor-twice', severity: 'error', path: [role, twice], serverText,
      message: say(`The ${role} '${name}' is listed twice.`, `${KIND_ZH[role]} '${name}' 重复列出。`),
      fixes: [preferredFix('Remove the second one', '删除重复项', view.edit.removeItem([role], twice))],
    }
  }
  const scheduled = role === 'input' ? scheduledInputs(config) : []
  const strange = scheduled.filter((name) => seen.has(name) || !inFile.has(name))
  if (strange.length > 0) {
    yield {
      code: 'scheduled-input-not-in-model', severity: 'error', path: [config.sequence_batching === undefined ? 'batch_input' : 'sequence_batching'], serverText,
      message: say(`${namesText(strange, 'en')}: the scheduler feeds these inputs, so the model file must have them, and input must not list them.`,
        `${namesText(strange, 'zh-CN')}：这些输入由调度器提供，模型文件中必须有，input 中不能再列出。`),
    }
  }
  // What is listed under a wrong name is reported as that.
  const wrongNames = names.filter((name) => !inFile.has(name))
  for (const tensor of missing.slice(wrongNames.length, wrongNames.length + MOST_FINDINGS)) {
    yield {
      code: 'tensor-missing', severity: 'error', path: [role], serverText,
      message: say(`The model file needs the ${role} '${tensor.name}' (${tensor.elementType} ${listText(tensor.dims)}), which is not listed.`,
        `模型文件需要${KIND_ZH[role]} '${tensor.name}'（${tensor.elementType} ${listText(tensor.dims)}），但没有列出。`),
      fixes: [preferredFix(`Add '${tensor.name}'`, `添加 '${tensor.name}'`,
        view.edit.insertItem([role], view.config?.[role].length ?? 0, tensorValue(tensor, config.max_batch_size)))],
    }
  }
}

/** An entry of `input` or `output` for a tensor of the file. */
export function tensorValue(tensor: SignatureTensor, maxBatchSize: number): { name: string; data_type: string; dims: number[]; reshape?: { shape: number[] } } {
  const { dims, reshape } = configDimsOf(tensor, maxBatchSize)
  return { name: tensor.name, data_type: configTypeOf(tensor), dims, ...(reshape === undefined ? {} : { reshape: { shape: [...reshape.shape] } }) }
}

function unknownTensor({ view, config, signature, unclaimed: free }: Comparison, role: TensorRole, index: number, serverText: string): Finding {
  const name = config[role][index]?.name ?? ''
  const names = free[role].slice(0, MOST_CANDIDATES).map((tensor) => tensor.name)
  const near = didYouMean(name, names) ?? (names.length === 1 ? names[0] : undefined)
  const rename = (to: string): ReturnType<ConfigView['edit']['setField']> => view.edit.setField([role, index, 'name'], to)
  const allowed = signature[`${role}s`].map((tensor) => tensor.name)
  const fixes = near !== undefined
    ? [preferredFix(`Rename to '${near}'`, `改名为 '${near}'`, rename(near))]
    : names.length === 0
      ? [preferredFix(`Remove '${name}'`, `删除 '${name}'`, view.edit.removeItem([role], index))]
      : names.slice(0, 5).map((to) => otherFix(`Rename to '${to}'`, `改名为 '${to}'`, rename(to)))
  const hint = near === undefined ? { en: ` It has ${namesText(allowed, 'en')}.`, zh: `文件中有 ${namesText(allowed, 'zh-CN')}。` } : { en: ` Did you mean '${near}'?`, zh: `是否指 '${near}'？` }
  return {
    code: 'tensor-not-in-model', severity: 'error', path: [role, index, 'name'], serverText, fixes,
    message: say(`The model file has no ${role} '${name}'.${hint.en}`, `模型文件没有${KIND_ZH[role]} '${name}'。${hint.zh}`),
  }
}

function typeFinding(view: ConfigView, config: ModelConfig, problem: Extract<SignatureProblem, { kind: 'no-type' | 'type' | 'fixed-batch-dim' | 'shape' | 'ragged-shape' }>): Finding {
  const { role, index, found: inFile, serverText } = problem
  const type = configTypeOf(inFile)
  const path = [role, index, 'data_type']
  if (type === 'TYPE_INVALID') {
    return {
      code: 'tensor-type-unsupported', severity: 'error', path, serverText,
      message: say(`The model file gives '${inFile.name}' the element type ${inFile.elementType}, which cannot be served: export the model with another type.`,
        `模型文件中 '${inFile.name}' 的元素类型是 ${inFile.elementType}，无法提供服务：请用其他类型导出模型。`),
    }
  }
  const written = config[role][index]?.data_type ?? 'TYPE_INVALID'
  const said = written === 'TYPE_INVALID' ? { en: 'has no data_type', zh: '没有 data_type' } : { en: `is ${written}`, zh: `是 ${written}` }
  return {
    code: 'tensor-type-differs', severity: 'error', path, serverText,
    message: say(`'${inFile.name}' ${said.en} here and ${type} in the model file.`, `'${inFile.name}' 在这里${said.zh}，在模型文件中是 ${type}。`),
    fixes: [preferredFix(`Set ${type}`, `设为 ${type}`, view.edit.setField(path, type))],
  }
}

function shapeFinding(view: ConfigView, config: ModelConfig, problem: Extract<SignatureProblem, { kind: 'no-type' | 'type' | 'fixed-batch-dim' | 'shape' | 'ragged-shape' }>): Finding {
  const { role, index, found: inFile, serverText } = problem
  const tensor = config[role][index]
  const dims = tensor?.dims ?? []
  const shape = plainDims(inFile)
  const path = [role, index, 'dims']
  const target = configDimsOf(inFile, config.max_batch_size)
  const wanted = `${listText(target.dims)}${target.reshape === undefined ? '' : ' reshape { shape: [ ] }'}`
  // Where the batch size is the completion's, an empty reshape needs it written out.
  const completes = target.reshape !== undefined && view.config?.max_batch_size === 0
  const edits = tensor === undefined ? [] : editsInTurn(view, [
    ...takeShape(role, index, tensor, inFile, config.max_batch_size),
    (edit) => (completes ? edit.setField(['max_batch_size'], config.max_batch_size) : []),
  ])
  const isSame = dims.join() === target.dims.join()
  const restFits = shape.slice(1).every((dim, position) => dim === -1 || dim === dims[position + 1] || dims[position + 1] === -1)
  if (config.max_batch_size > 0 && tensor?.reshape === undefined && dims.length === shape.length && restFits && !isSame) {
    return {
      code: 'dims-contain-batch', severity: 'error', path, serverText,
      message: batchTwice(dims, `The model file has ${listText(inFile.dims)}.`, `模型文件是 ${listText(inFile.dims)}。`),
      fixes: [preferredFix(`Drop the leading ${dims[0] ?? -1}: dims ${wanted}`, `去掉开头的 ${dims[0] ?? -1}：dims ${wanted}`, edits)],
    }
  }
  const batch = config.max_batch_size > 0 ? { en: ' after the batch dimension', zh: '（不含批次维）' } : { en: '', zh: '' }
  const written = `${listText(dims)}${tensor?.reshape === undefined ? '' : ` reshape { shape: ${listText(tensor.reshape.shape)} }`}`
  return {
    code: 'dims-differ', severity: 'error', path, serverText,
    message: say(`'${inFile.name}' is ${written} here, but ${wanted}${batch.en} in the model file.`,
      `'${inFile.name}' 在这里是 ${written}，在模型文件中是 ${wanted}${batch.zh}。`),
    fixes: [preferredFix(`Set dims ${wanted}`, `设为 dims ${wanted}`, edits)],
  }
}

function batchTwice(dims: readonly number[], en: string, zh: string): Finding['message'] {
  const full = `[${[-1, ...dims].join(',')}]`
  return say(`dims must not contain the batch dimension when max_batch_size > 0. The full shape would be ${full}. ${en} Drop the leading ${dims[0] ?? -1}?`,
    `max_batch_size > 0 时 dims 不能包含批次维，否则完整形状会是 ${full}。${zh}是否去掉开头的 ${dims[0] ?? -1}？`)
}

function* outputsNotOffered(view: ConfigView, config: ModelConfig, signature: TensorSignature): Generator<Finding> {
  if (config.output.length === 0) return
  const missing = unclaimed(config, signature, 'output')
  const inFile = new Set(signature.outputs.map((tensor) => tensor.name))
  const isRenamed = config.output.some(({ name }) => !inFile.has(name))
  if (missing.length === 0 || isRenamed) return
  const names = missing.map(({ name }) => name)
  yield {
    code: 'output-not-offered', severity: 'hint', path: ['output'],
    message: say(`The model file also has the output ${namesText(names, 'en')}; clients cannot ask for what is not listed.`,
      `模型文件还有输出 ${namesText(names, 'zh-CN')}；未列出的输出，客户端无法请求。`),
    fixes: missing.slice(0, 5).map((tensor) => otherFix(`Add '${tensor.name}'`, `添加 '${tensor.name}'`,
      view.edit.insertItem(['output'], config.output.length, tensorValue(tensor, config.max_batch_size)))),
  }
}

/** Where the file is not known: every tensor starts with -1 and has nothing else variable, which is how the batch looks when written into dims. */
const BATCH_WRITTEN_TWICE: ConfigRule = {
  codes: ['dims-may-contain-batch'],
  * check(view) {
    const { config } = view
    if (config === null || config.max_batch_size === 0 || isEnsemble(config) || view.completions.some(({ signature }) => signature !== null)) return
    const tensors = [...config.input, ...config.output]
    const looksWhole = ({ dims, reshape }: ModelInput | ModelOutput): boolean =>
      reshape === undefined && dims.length >= 2 && dims[0] === -1 && !dims.slice(1).includes(-1)
    if (tensors.length === 0 || !tensors.every(looksWhole)) return
    for (const role of ['input', 'output'] as const) {
      for (const [index, { dims }] of config[role].slice(0, MOST_FINDINGS).entries()) {
        yield {
          code: 'dims-may-contain-batch', severity: 'warning', path: [role, index, 'dims'],
          message: batchTwice(dims, 'It loads, but clients that send one batch dimension are refused.', '可以加载，但只带一个批次维的请求会被拒绝。'),
          fixes: [otherFix(`Drop the leading -1: dims ${listText(dims.slice(1))}`, `去掉开头的 -1：dims ${listText(dims.slice(1))}`,
            view.edit.removeItem([role, index, 'dims'], 0))],
        }
      }
    }
  },
}

export const TENSOR_RULES: readonly ConfigRule[] = [AGAINST_FILE, BATCH_WRITTEN_TWICE]
