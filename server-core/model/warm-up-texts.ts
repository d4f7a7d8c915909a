/** Texts of warm-up that the load and the editor both say. Pure. */
import type { ModelConfig } from '../contract/model-config.ts'

export function warmUpBatchSizeText(config: Pick<ModelConfig, 'name' | 'max_batch_size'>, sample: string, batchSize: number): string {
  return `warmup sample '${sample}' of model '${config.name}' has batch_size ${batchSize}, max_batch_size is ${config.max_batch_size}`
}
