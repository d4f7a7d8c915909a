import type { ModelConfig } from '../contract/model-config.ts'
import type { InflightRequest } from './inflight-request.ts'

/** A key that two requests must share to run in one batch. */
export type ShapeRule = (request: InflightRequest) => string

/**
 * The shape rule of a model: inputs with variable dims and without `allow_ragged_batch` must have equal shapes (the batch dimension
 * aside); where any input is optional the set of present inputs must be equal. Null: any two requests fit.
 */
export function shapeRuleOf(config: ModelConfig): ShapeRule | null {
  const enforced = new Set(config.input.filter((input) => input.dims.includes(-1) && !input.allow_ragged_batch).map((input) => input.name))
  const hasOptional = config.input.some((input) => input.optional)
  if (enforced.size === 0 && !hasOptional) return null
  const first = config.max_batch_size > 0 ? 1 : 0
  return (request) => {
    const parts: string[] = []
    for (const input of request.inputs) {
      if (enforced.has(input.name)) parts.push(`${input.name}:${input.shape.slice(first).join(',')}`)
      else if (hasOptional) parts.push(input.name)
    }
    return parts.length > 1 ? parts.sort().join(';') : parts.join()
  }
}
