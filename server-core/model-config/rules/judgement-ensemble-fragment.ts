/** An ensemble of which only the scheduling is there, copied from a page that shows no more: which blocks are missing, and what they must say. */
import type { ModelConfig, ModelInput, ModelOutput } from '../../contract/model-config.ts'
import { ensembleSteps } from '../validate-ensemble-members.ts'
import { editsInTurn } from './edits-in-turn.ts'
import { isJudged, modelNamed } from './judgement-view.ts'
import { preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView } from './rule.ts'

export const ENSEMBLE_FRAGMENT: ConfigRule = {
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
  const steps = ensembleSteps(config)
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
