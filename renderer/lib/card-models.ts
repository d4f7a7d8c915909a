/** What the models say about one card: who computes on it, and what failed there. Pure. */
import { devicesOf, type ModelSummary } from '../../server-core/contract/repository.ts'
import { explainNpuFault, type NpuFaultExplanation } from '../../server-core/contract/npu-fault.ts'

export interface ModelOnCard {
  readonly model: string
  /** That run there now. */
  readonly instances: number
}

/** Models with running instances on the card, by name. @param device the card as the process numbers it; null: it is hidden from the process */
export function modelsOnCard(models: readonly ModelSummary[] | null, device: number | null): readonly ModelOnCard[] {
  return (models ?? []).map((model) => ({
    model: model.name,
    instances: model.versions.flatMap(({ instances }) => instances).filter(({ report, state }) => device !== null && devicesOf(report).includes(device) && state === 'READY').length,
  })).filter(({ instances }) => instances > 0).sort((a, b) => (a.model < b.model ? -1 : 1))
}

export interface CardTrouble {
  readonly explanation: NpuFaultExplanation
  /** Names of the models that it keeps from running. */
  readonly models: readonly string[]
  /** Instances of them are tried again for as long as the card is at fault. */
  readonly isRetried: boolean
  /** The server's words, of the first of them. */
  readonly text: string
}

/** Faults that keep instances and models of this card from running, each once. @param device as in `modelsOnCard`: the texts of backends number the cards so */
export function troublesOfCard(models: readonly ModelSummary[] | null, device: number | null): readonly CardTrouble[] {
  const found = new Map<string, { explanation: NpuFaultExplanation; models: Set<string>; isRetried: boolean; text: string }>()
  for (const model of device === null ? [] : models ?? []) {
    const instances = model.versions.flatMap((version) => version.instances)
    const texts = [...instances.filter(({ reason }) => reason !== '').map(({ reason, report, restart }) => ({ reason, reported: report?.device, isRetried: restart?.limit === null })), { reason: model.reason, reported: undefined, isRetried: false }]
    for (const { reason, reported, isRetried } of texts) {
      const explanation = explainNpuFault(reason)
      if (explanation === null || (explanation.card ?? reported) !== device) continue
      const known = found.get(explanation.fault)
      if (known === undefined) {
        found.set(explanation.fault, { explanation, models: new Set([model.name]), isRetried, text: reason })
        continue
      }
      known.models.add(model.name)
      known.isRetried ||= isRetried
    }
  }
  return [...found.values()].map((trouble) => ({ ...trouble, models: [...trouble.models].sort() }))
}
