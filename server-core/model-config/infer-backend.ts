/** Which backend serves a model whose config does not say, and the platform and file name that go with it. */
import type { ModelConfig } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'

export interface VersionEntry {
  readonly name: string
  readonly isDirectory: boolean
}

interface BackendRule {
  readonly backend: string
  readonly platform: string
  readonly filename: string
  /** What the entry must be; undefined: either. */
  readonly isDirectory?: boolean
  /** Other names of the platform. */
  readonly aliases?: readonly string[]
}

/** In the order they are tried. The first rule of a backend gives its defaults. */
export const BACKEND_RULES: readonly BackendRule[] = [
  { backend: 'tensorflow', platform: 'tensorflow_savedmodel', filename: 'model.savedmodel', isDirectory: true },
  { backend: 'tensorflow', platform: 'tensorflow_graphdef', filename: 'model.graphdef', isDirectory: false },
  { backend: 'tensorrt', platform: 'tensorrt_plan', filename: 'model.plan', isDirectory: false },
  { backend: 'onnxruntime', platform: 'onnxruntime_onnx', filename: 'model.onnx' },
  { backend: 'openvino', platform: '', filename: 'model.xml', isDirectory: false },
  { backend: 'pytorch', platform: 'pytorch_libtorch', filename: 'model.pt', isDirectory: false, aliases: ['libtorch'] },
  { backend: 'pytorch', platform: 'torch_aoti', filename: 'model.pt2', isDirectory: false },
  { backend: 'python', platform: '', filename: 'model.py', isDirectory: false },
]

/** The version whose files `inferBackend` looks at: the first in name order ("10" comes before "2"). */
export function firstInNameOrder<T extends { readonly version: number }>(versions: readonly T[]): T | undefined {
  return versions.toSorted((a, b) => (String(a.version) < String(b.version) ? -1 : 1))[0]
}

function ownsPlatform(rule: BackendRule, platform: string): boolean {
  return platform !== '' && (rule.platform === platform || rule.aliases?.includes(platform) === true)
}

/**
 * Fills `name` (from the model's directory), `backend`, `platform` and `default_model_filename` where they are empty.
 *
 * @param firstVersionEntries entries of the first version directory in name order; empty where there is none
 * @throws ServerError INVALID_ARG `Invalid model name: Could not determine backend for model ...`
 */
export function inferBackend(config: ModelConfig, modelName: string, firstVersionEntries: readonly VersionEntry[]): ModelConfig {
  const named = config.name === '' ? { ...config, name: modelName } : config
  if (named.platform === 'ensemble') return named

  const rule = findRule(named, firstVersionEntries)
  if (rule !== undefined) {
    return {
      ...named,
      backend: rule.backend,
      platform: named.platform === '' ? rule.platform : named.platform,
      default_model_filename: named.default_model_filename === '' ? rule.filename : named.default_model_filename,
    }
  }
  if (named.backend !== '' || named.platform !== '' || named.default_model_filename !== '') return named
  return inferFromName(named, modelName)
}

function findRule(config: ModelConfig, entries: readonly VersionEntry[]): BackendRule | undefined {
  const { platform, backend, default_model_filename: filename } = config
  const isThere = (rule: BackendRule): boolean =>
    entries.some((entry) => entry.name === rule.filename && (rule.isDirectory === undefined || rule.isDirectory === entry.isDirectory))
  if (backend !== '') {
    const own = BACKEND_RULES.filter((rule) => rule.backend === backend)
    return own.find((rule) => ownsPlatform(rule, platform)) ?? own.find((rule) => rule.filename === filename)
      ?? (platform === '' && filename === '' ? own.find(isThere) : undefined) ?? own[0]
  }
  return BACKEND_RULES.find((rule) =>
    ownsPlatform(rule, platform) || rule.filename === filename || (platform === '' && filename === '' && isThere(rule)))
}

/** `<anything>.<backend>`: everything after the first dot names the backend. */
function inferFromName(config: ModelConfig, modelName: string): ModelConfig {
  const dot = modelName.indexOf('.')
  if (dot < 0) {
    throw new ServerError('INVALID_ARG', `Invalid model name: Could not determine backend for model '${modelName}' with no backend in model `
      + 'configuration. Expected model name of the form \'model.<backend_name>\'.')
  }
  const backend = modelName.slice(dot + 1)
  return { ...config, backend, default_model_filename: `model.${backend}` }
}
