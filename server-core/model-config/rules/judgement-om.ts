/** A config of `npu_om` against its .om file: tensors, and dims and batch sizes against the shapes that the file was compiled for. */
import type { ConfigFix, OmFile } from '../../contract/config-language.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../../contract/model-config.ts'
import { configTypeOf } from '../signature-problems.ts'
import type { SignatureTensor, TensorRole, TensorSignature } from '../signature-problems.ts'
import { didYouMean } from './did-you-mean.ts'
import { chosenVersions, toSignature } from './file-signature.ts'
import { backendOf, listText, namesText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const ROLE_ZH: Readonly<Record<TensorRole, string>> = { input: '输入', output: '输出' }
/** Gears in a message. */
const MOST_SHOWN = 8

const AGAINST_OM: ConfigRule = {
  codes: ['om-tensor-not-in-model', 'om-tensor-type-differs', 'om-dims-differ', 'om-dims-fit-no-gear', 'om-batch-over-gears'],
  * check(view) {
    const { config, context } = view
    if (config === null || backendOf(view) !== 'npu_om') return
    const [file] = chosenVersions(view.normalized ?? config, context).flatMap(({ om }) => (om === undefined ? [] : [om]))
    if (file === undefined) return
    const signature = toSignature(file)
    yield* tensorFindings(view, config, signature, 'input')
    yield* tensorFindings(view, config, signature, 'output')
    yield* batchFindings(view, config, file)
    yield* gearFindings(view, config, file)
  },
}

function* tensorFindings(view: ConfigView, config: ModelConfig, signature: TensorSignature, role: TensorRole): Generator<Finding> {
  const known = signature[`${role}s`]
  for (const [index, tensor] of config[role].entries()) {
    const found = known.find(({ name }) => name === tensor.name)
    if (found === undefined) {
      const names = known.map(({ name }) => name)
      const near = didYouMean(tensor.name, names)
      yield {
        code: 'om-tensor-not-in-model', severity: 'error', path: [role, index, 'name'],
        message: say(`The .om file has no ${role} '${tensor.name}'. It has ${namesText(names, 'en')}.`, `.om 文件没有${ROLE_ZH[role]} '${tensor.name}'。它有 ${namesText(names, 'zh-CN')}。`),
        fixes: near === undefined ? [] : [preferredFix(`Rename to '${near}'`, `改名为 '${near}'`, view.edit.setField([role, index, 'name'], near))],
      }
      continue
    }
    const type = configTypeOf(found)
    if (type !== 'TYPE_INVALID' && tensor.data_type !== type) {
      yield {
        code: 'om-tensor-type-differs', severity: 'error', path: [role, index, 'data_type'],
        message: say(`'${tensor.name}' is ${type} in the .om file, not ${tensor.data_type}.`, `'${tensor.name}' 在 .om 文件中是 ${type}，不是 ${tensor.data_type}。`),
        fixes: [preferredFix(`Set ${type}`, `设为 ${type}`, view.edit.setField([role, index, 'data_type'], type))],
      }
    }
    yield* dimFindings(view, config, tensor, found, role, index)
  }
}

/** The whole shape that requests have, -1 where they may differ. */
function wholeDims(config: ModelConfig, tensor: ModelInput | ModelOutput): number[] {
  return [...(config.max_batch_size > 0 ? [-1] : []), ...(tensor.reshape?.shape ?? tensor.dims)]
}

function* dimFindings(view: ConfigView, config: ModelConfig, tensor: ModelInput | ModelOutput, found: SignatureTensor, role: TensorRole, index: number): Generator<Finding> {
  const dims = wholeDims(config, tensor)
  const inFile = found.dims.map(Number)
  const isBatch = (axis: number): boolean => config.max_batch_size > 0 && axis === 0
  // An open dim of an output is looser than the file, and right: responses say what they are.
  const fits = dims.length === inFile.length && dims.every((dim, axis) => isBatch(axis) || dim === inFile[axis] || inFile[axis] === -1 || (role === 'output' && dim === -1))
  if (fits) return
  const wanted = inFile.slice(config.max_batch_size > 0 ? 1 : 0)
  const canFix = tensor.reshape === undefined && wanted.length > 0
  yield {
    code: 'om-dims-differ', severity: 'error', path: [role, index, 'dims'],
    message: say(`'${tensor.name}' is ${listText(inFile)} in the .om file; with ${config.max_batch_size > 0 ? 'the batch before them ' : ''}the dims ${listText(tensor.dims)} do not fit.`,
      `'${tensor.name}' 在 .om 文件中是 ${listText(inFile)}；dims ${listText(tensor.dims)}${config.max_batch_size > 0 ? '（前面加上批次维）' : ''}不相符。`),
    fixes: canFix ? [preferredFix(`Set dims ${listText(wanted)}`, `设为 dims ${listText(wanted)}`, view.edit.setField([role, index, 'dims'], wanted))] : [],
  }
}

/** A batch larger than the largest compiled one fits no run. */
function* batchFindings(view: ConfigView, config: ModelConfig, file: OmFile): Generator<Finding> {
  const rows = file.inputs.map(({ shape }) => Number(shape[0] ?? 0))
  const compiled = file.graph === 'static' && rows.every((row) => row === rows[0]) ? rows[0] : file.batchSizes?.at(-1)
  const isSingle = file.graph === 'gears' && file.batchSizes === null && rows.every((row) => row > 0) ? Math.min(...rows) : undefined
  const largest = compiled ?? isSingle
  if (largest === undefined || largest < 1 || config.max_batch_size <= largest) return
  yield {
    code: 'om-batch-over-gears', severity: 'error', path: ['max_batch_size'],
    message: say(`The .om file takes at most a batch of ${largest}; a batch of ${config.max_batch_size} fits none of its shapes. Compile it with larger ones, or lower max_batch_size.`,
      `.om 文件最多支持批次 ${largest}；批次 ${config.max_batch_size} 不适合它的任何形状。请用更大的档位编译，或减小 max_batch_size。`),
    fixes: [preferredFix(`Set max_batch_size: ${largest}`, `设为 max_batch_size: ${largest}`, view.edit.setField(['max_batch_size'], largest))],
  }
}

/** Fixed dims of the inputs, together, against each gear. What is smaller than a gear may be padded to it. */
function* gearFindings(view: ConfigView, config: ModelConfig, file: OmFile): Generator<Finding> {
  if (file.gears.length === 0) return
  const asked = file.inputs.map(({ name }) => config.input.find((input) => input.name === name))
  const holds = (shapes: readonly (readonly number[])[]): boolean => asked.every((input, index) => {
    const dims = input === undefined ? [] : wholeDims(config, input)
    const shape = shapes[index] ?? []
    return input === undefined || dims.length !== shape.length || dims.every((dim, axis) => dim === -1 || dim <= (shape[axis] ?? 0))
  })
  if (file.gears.some(({ inputs }) => holds(inputs))) return
  const index = config.input.findIndex(({ name, dims }) => file.inputs.some((input) => input.name === name && input.shape.includes(-1)) && dims.some((dim) => dim > 0))
  const name = config.input[index]?.name ?? ''
  const open = file.inputs.find((input) => input.name === name)?.shape.slice(config.max_batch_size > 0 ? 1 : 0) ?? []
  const shown = file.gears.slice(0, MOST_SHOWN).map(({ text }) => text).join('; ')
  const more = file.gears.length - MOST_SHOWN
  const fixes: ConfigFix[] = config.input[index]?.reshape !== undefined || open.length === 0 ? []
    : [otherFix(`Leave open what the gears leave open: dims ${listText(open)}`, `按档位放开可变维：dims ${listText(open)}`, view.edit.setField(['input', index, 'dims'], open.map(Number)))]
  yield {
    code: 'om-dims-fit-no-gear', severity: 'error', path: ['input', Math.max(0, index), 'dims'], fixes,
    message: say(`No gear of the .om file holds these dims. Its gears are ${shown}${more > 0 ? ` and ${more} more` : ''}. Change the dims, or compile a gear for them.`,
      `.om 文件没有能容纳这些 dims 的档位。现有档位：${shown}${more > 0 ? ` 等 ${file.gears.length} 个` : ''}。请修改 dims，或为其编译一个档位。`),
  }
}

export const OM_RULES: readonly ConfigRule[] = [AGAINST_OM]
