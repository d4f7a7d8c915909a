import type { ModelConfig } from '../../contract/model-config.ts'
import { ServerError } from '../../server-error.ts'
import { readVisibleDevices } from '../../telemetry/visible-devices.ts'

/** The parameter of a model that names its cards, as for the backends of Ascend NPUs. */
export const CARDS_PARAMETER = 'device_ids'
/** Which cards CANN shows a process; it numbers those from 0. */
const VISIBLE_VARIABLE = 'ASCEND_RT_VISIBLE_DEVICES'

/**
 * Cards for the instances of a model whose config names some: each instance is told one, so that no model.py names its own. The numbers are those that CANN counts in the
 * process of the model (after `ASCEND_RT_VISIBLE_DEVICES`), as everywhere else in this server.
 */
export class CardAssignment {
  readonly #cards: readonly number[]
  readonly #byInstance = new Map<string, number>()

  private constructor(cards: readonly number[]) { this.#cards = cards }

  /** @returns null: the config names none. @throws ServerError INVALID_ARG that names the parameter */
  static read(config: ModelConfig, environment: NodeJS.ProcessEnv): CardAssignment | null {
    const text = config.parameters[CARDS_PARAMETER]?.string_value ?? ''
    if (text === '') return null
    const refuse = (what: string): ServerError => new ServerError('INVALID_ARG', `parameter ${CARDS_PARAMETER} of model '${config.name}' ${what}`)
    const entries = text.split(',').map((entry) => entry.trim())
    if (!entries.every((entry) => /^\d{1,5}$/.test(entry))) throw refuse(`is a list of card numbers such as "2" or "2,3", not "${text}"`)
    const cards = entries.map(Number)
    const twice = cards.find((card, index) => cards.indexOf(card) !== index)
    if (twice !== undefined) throw refuse(`names card ${twice} twice: "${text}"`)
    const visible = readVisibleDevices(environment[VISIBLE_VARIABLE], null)
    const hidden = visible === null ? undefined : cards.find((card) => card >= visible.logicalIds.length)
    if (visible !== null && hidden !== undefined) {
      throw refuse(`names card ${hidden}, and ${VISIBLE_VARIABLE}=${visible.value} leaves ${visible.logicalIds.length} (numbered from 0). Change one of them; npu-console doctor lists the cards`)
    }
    return new CardAssignment(cards)
  }

  /** The card of an instance: the one with the fewest instances of this model, and the same again for one that is started again. */
  cardOf(instance: string): number {
    const known = this.#byInstance.get(instance)
    if (known !== undefined) return known
    const load = (card: number): number => [...this.#byInstance.values()].filter((other) => other === card).length
    const card = this.#cards.reduce((best, other) => (load(other) < load(best) ? other : best))
    this.#byInstance.set(instance, card)
    return card
  }
}
