import type { ModelConfig, ModelInput } from '../contract/model-config.ts'
import type { InflightRequest } from './inflight-request.ts'

/** A key that two requests must share to run in one batch. */
export type ShapeRule = (request: InflightRequest) => string

type Demand = 'content' | 'shape' | 'presence'

/**
 * The shape rule of a model: shape tensors must have equal content; inputs with variable dims and without `allow_ragged_batch` equal
 * shapes (the batch dimension aside); where any input is optional, the set of present inputs must be equal. Null: any two requests fit.
 */
export function shapeRuleOf(config: ModelConfig): ShapeRule | null {
  const hasOptional = config.input.some((input) => input.optional)
  const demands = new Map<string, { readonly index: number; readonly demand: Demand }>()
  for (const [index, input] of config.input.entries()) {
    const demand = demandOf(input) ?? (hasOptional ? 'presence' : null)
    if (demand !== null) demands.set(input.name, { index, demand })
  }
  if (demands.size === 0) return null
  const first = config.max_batch_size > 0 ? 1 : 0
  return (request) => {
    const parts: string[] = []
    for (const { name, shape, data } of request.inputs) {
      const known = demands.get(name)
      if (known === undefined) continue
      let part = `${known.index}`
      if (known.demand !== 'presence') part += `:${shape.slice(first).join(',')}`
      if (known.demand === 'content') part += `=${Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')}`
      parts.push(part)
    }
    return parts.length > 1 ? parts.sort().join(';') : parts.join()
  }
}

function demandOf(input: ModelInput): Demand | null {
  if (input.is_shape_tensor) return 'content'
  return input.dims.includes(-1) && !input.allow_ragged_batch ? 'shape' : null
}
