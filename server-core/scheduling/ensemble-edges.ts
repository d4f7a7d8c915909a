/** The picture of a loaded ensemble: its steps and the ways of its tensors. Pure. */
import type { EnsembleEdge, EnsembleGraphStep } from '../contract/ensemble.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { protocolDataType } from '../model/request-validation.ts'
import type { EnsembleMember } from './ensemble-member.ts'
import type { EnsemblePlan } from './ensemble-plan.ts'

/** @param members by step */
export function ensembleGraphSteps(plan: EnsemblePlan, members: readonly EnsembleMember[]): EnsembleGraphStep[] {
  return plan.steps.flatMap((step) => {
    const member = members[step.index]
    return member === undefined ? [] : [{
      step: step.index, modelName: step.modelName, modelVersion: step.modelVersion, servedVersion: member.version, isDecoupled: member.isDecoupled,
      isEnsemble: member.config.ensemble_scheduling !== undefined,
    }]
  })
}

/** In the order of the producers: the request, then the steps. @param members by step */
export function ensembleEdges(config: ModelConfig, plan: EnsemblePlan, members: readonly EnsembleMember[]): EnsembleEdge[] {
  const consumers = consumersOf(config, plan)
  const edgesFrom = (from: EnsembleEdge['from'], tensor: number, declared: ModelInput | ModelOutput | undefined, isBatching: boolean): EnsembleEdge[] => {
    if (declared === undefined) return []
    const shape = isBatching ? [-1, ...declared.dims] : [...declared.dims]
    return (consumers.get(tensor) ?? []).map((to) => ({ tensor: plan.tensorNames[tensor] ?? '', datatype: protocolDataType(declared.data_type), shape, from, to }))
  }
  const own = plan.inputs.flatMap(({ name, tensor }) => edgesFrom({ kind: 'request' }, tensor, config.input.find((input) => input.name === name), plan.isBatching))
  const between = plan.steps.flatMap((step) => step.outputs.flatMap(({ name, tensor }) => {
    const member = members[step.index]?.config
    return edgesFrom({ kind: 'step', step: step.index, output: name }, tensor, member?.output.find((output) => output.name === name), (member?.max_batch_size ?? 0) > 0)
  }))
  return [...own, ...between]
}

function consumersOf(config: ModelConfig, plan: EnsemblePlan): Map<number, EnsembleEdge['to'][]> {
  const consumers = new Map<number, EnsembleEdge['to'][]>()
  const add = (tensor: number, to: EnsembleEdge['to']): void => {
    const known = consumers.get(tensor)
    if (known === undefined) consumers.set(tensor, [to])
    else known.push(to)
  }
  for (const step of plan.steps) for (const { name, tensor } of step.inputs) add(tensor, { kind: 'step', step: step.index, input: name })
  for (const { name } of config.output) add(plan.tensorNames.indexOf(name), { kind: 'response' })
  return consumers
}
