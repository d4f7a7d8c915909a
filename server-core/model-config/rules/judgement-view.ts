/** Small questions that several rules of judgement ask about a config. Pure. */
import type { ConfigContext } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigPath } from '../config-path.ts'
import type { ConfigView } from './rule.ts'

/** Backends that this product has or will have on machines with the right hardware; missing here, they are no mistake. */
export const OWN_BACKENDS: readonly string[] = ['identity', 'onnxruntime', 'python', 'npu_ge', 'npu_om']

/** The backend that will serve the model, as far as that is known: ''. */
export function backendOf(view: ConfigView): string {
  return view.normalized?.backend ?? view.config?.backend ?? ''
}

export function isNpuBackend(backend: string): boolean {
  return backend === 'npu_ge' || backend === 'npu_om'
}

export function isEnsemble(config: ModelConfig): boolean {
  return config.platform === 'ensemble' || config.ensemble_scheduling !== undefined
}

type ModelContext = ConfigContext['models'][string]

/** A model of the repository; undefined: there is none of that name, or the repository is not known. */
export function modelNamed(context: ConfigContext, name: string): ModelContext | undefined {
  return Object.hasOwn(context.models, name) ? context.models[name] : undefined
}

/** A model whose config says nothing (it cannot be read, or is completed only when it loads) cannot be judged. */
export function isJudged(model: ModelContext | undefined): model is ModelContext {
  return model !== undefined && (model.config.input.length > 0 || model.config.output.length > 0)
}

/** Was the model's folder looked at? It holds at least its config. */
export function isFolderKnown({ context }: ConfigView): boolean {
  return context.modelName !== null && Object.keys(context.files).length > 0
}

/** `[ -1, 3 ]` */
export function listText(values: readonly (number | string)[]): string {
  return values.length === 0 ? '[ ]' : `[ ${values.join(', ')} ]`
}

/** Names for a sentence: `'a', 'b' and 3 more`. */
export function namesText(names: readonly string[], language: 'en' | 'zh-CN'): string {
  const shown = names.slice(0, 8).map((name) => `'${name}'`).join(language === 'en' ? ', ' : '、')
  const rest = names.length - 8
  if (rest <= 0) return shown
  return language === 'en' ? `${shown} and ${rest} more` : `${shown} 等 ${names.length} 个`
}

/** Where a parameter's value stands. */
export function parameterPath(key: string): ConfigPath {
  return ['parameters', { key }, 'value', 'string_value']
}
