/** config.pbtxt text to a typed `ModelConfig`. */
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { emptyMessage, messageFromTree } from './config-message.ts'
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import { parsePbtxt } from './pbtxt-parser.ts'

/** A config with nothing set. */
export function emptyModelConfig(): ModelConfig {
  return emptyMessage(MODEL_CONFIG_SCHEMA) as unknown as ModelConfig
}

/**
 * @param path named in the error only
 * @throws ServerError INTERNAL `failed to read text proto from <path>`; the message of its cause is what Triton logs:
 *   `Error parsing text-format inference.ModelConfig: <line>:<column>: <text>`, of the first error
 */
export function readModelConfig(text: string, path: string): ModelConfig {
  const { tree, errors } = parsePbtxt(text)
  const [first] = errors
  if (first !== undefined) {
    const cause = new Error(`Error parsing text-format inference.ModelConfig: ${first.line}:${first.column}: ${first.message}`)
    throw new ServerError('INTERNAL', `failed to read text proto from ${path}`, { cause })
  }
  return messageFromTree(tree.root, MODEL_CONFIG_SCHEMA) as unknown as ModelConfig
}
