/** What every field of ModelConfig means, its default and who uses it, in both languages. For hover, completion, form and `config explain`. */
import type { LocalizedText } from '../contract/config-language.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { MODEL_CONFIG_SCHEMA } from './config-schema.ts'
import { FIELD_DOCS } from './field-docs-table.ts'
import type { ConfigPath } from './config-path.ts'

export interface FieldDoc {
  readonly meaning: LocalizedText
  readonly default: LocalizedText
  /** Names of backends, or who else uses it. */
  readonly usedBy: LocalizedText
}

const EVERY_BACKEND: LocalizedText = { en: 'every backend', 'zh-CN': '所有后端' }

const USERS: Readonly<Record<string, LocalizedText>> = {
  core: { en: 'the server itself, whatever the backend', 'zh-CN': '服务器本身，与后端无关' },
  gpu: { en: 'GPU backends; no effect on CPU and NPU', 'zh-CN': 'GPU 后端；对 CPU 与 NPU 无效' },
  tensorrt: { en: 'tensorrt only', 'zh-CN': '仅 tensorrt' },
  tensorflow: { en: 'tensorflow only', 'zh-CN': '仅 tensorflow' },
  ensemble: { en: 'ensembles only', 'zh-CN': '仅集成模型（ensemble）' },
  sequence: { en: 'models with sequence batching, every backend', 'zh-CN': '使用序列批处理的模型，所有后端' },
  batching: { en: 'models with dynamic batching, every backend', 'zh-CN': '使用动态批处理的模型，所有后端' },
  metrics: { en: 'the metrics endpoint', 'zh-CN': '指标端点' },
  agents: { en: 'repository agents', 'zh-CN': '仓库代理' },
}

/** @param message full name (`inference.ModelInput`) or schema of the message that declares the field */
export function fieldDoc(message: string | MessageSchema, field: string): FieldDoc | null {
  const owner = (typeof message === 'string' ? message : message.fullName).replace(/^inference\./, '')
  const entry = FIELD_DOCS[`${owner}.${field}`]
  if (entry === undefined) return null
  const [en, zh, fallback, usedBy] = entry
  return {
    meaning: { en, 'zh-CN': zh },
    default: typeof fallback === 'string' ? { en: fallback, 'zh-CN': fallback } : { en: fallback[0], 'zh-CN': fallback[1] },
    usedBy: usedBy === undefined ? EVERY_BACKEND : (USERS[usedBy] ?? { en: usedBy, 'zh-CN': usedBy }),
  }
}

/** The field that a path names, and the message that declares it; steps into lists and maps are passed over. */
export function schemaAtPath(path: ConfigPath): { readonly message: MessageSchema; readonly field: FieldSchema } | null {
  let message: MessageSchema | null = MODEL_CONFIG_SCHEMA
  let found: { message: MessageSchema; field: FieldSchema } | null = null
  for (const step of path) {
    if (typeof step !== 'string') continue
    const field: FieldSchema | undefined = message?.byName.get(step)
    if (message === null || field === undefined) return null
    found = { message, field }
    message = field.type.kind === 'message' ? field.type.message : null
  }
  return found
}

/** Docs of the field that a path names. */
export function docAtPath(path: ConfigPath): FieldDoc | null {
  const place = schemaAtPath(path)
  return place === null ? null : fieldDoc(place.message, place.field.name)
}
