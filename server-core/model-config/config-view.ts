/** What rules look at: one config, parsed, typed and normalised once for all of them. */
import type { ConfigContext } from '../contract/config-language.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { completedBatchSize, completeFromSignature } from './auto-complete.ts'
import { messageFromTree } from './config-message.ts'
import { markedSpan } from './config-path.ts'
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import { firstInNameOrder, inferBackend } from './infer-backend.ts'
import type { VersionEntry } from './infer-backend.ts'
import { normalizeModelConfig } from './normalize.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import { fileSignatures } from './rules/file-signature.ts'
import { viewEdits } from './rules/rule.ts'
import type { Completion, ConfigView } from './rules/rule.ts'

/** The model's name where neither config nor directory has one. */
export const NAMELESS = 'model'

export function createConfigView(text: string, context: ConfigContext): ConfigView {
  const { tree, errors } = parsePbtxt(text)
  const config = errors.length > 0 ? null : messageFromTree(tree.root, MODEL_CONFIG_SCHEMA) as unknown as ModelConfig
  const modelName = config !== null && config.name !== '' ? config.name : (context.modelName ?? NAMELESS)
  const normalized = config === null ? null : normalizedOrNull(config, modelName, context)
  return {
    text, tree, errors, config, context, modelName, normalized,
    completions: normalized === null ? [] : completionsOf(normalized, context),
    spanOf: (path) => markedSpan(tree, path),
    edit: viewEdits(tree),
  }
}

/** Entries of the first version directory in name order, as backend inference looks at them. */
export function firstVersionEntries(context: ConfigContext): VersionEntry[] {
  return (firstInNameOrder(context.versions)?.files ?? []).map((name) => ({ name: name.replace(/\/$/, ''), isDirectory: name.endsWith('/') || name === 'model.savedmodel' }))
}

function completionsOf(config: ModelConfig, context: ConfigContext): Completion[] {
  const signatures = fileSignatures(config, context)
  const defaultMaxBatchSize = completedBatchSize(config)
  if (defaultMaxBatchSize === null || context.isAutoCompleteOff === true || signatures.length === 0) {
    return signatures.length === 0 ? [{ config, signature: null }] : signatures.map((signature) => ({ config, signature }))
  }
  return signatures.map((signature) => {
    const completed = completeFromSignature(config, signature, { defaultMaxBatchSize })
    return { config: completed === config ? config : normalizeModelConfig(completed), signature }
  })
}

function normalizedOrNull(config: ModelConfig, modelName: string, context: ConfigContext): ModelConfig | null {
  try {
    return normalizeModelConfig(inferBackend(config, modelName, firstVersionEntries(context)))
  } catch {
    return null // no backend can be told: a rule of its own says so
  }
}
