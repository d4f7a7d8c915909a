/** What a config means and becomes, in words and as a comparison. */
import { basename, dirname } from 'node:path'
import type { ModelConfig } from '../contract/model-config.ts'
import { docAtPath } from '../model-config/field-docs.ts'
import { flattenConfig } from '../model-config/flatten-config.ts'
import type { SetField } from '../model-config/flatten-config.ts'
import { inferBackend } from '../model-config/infer-backend.ts'
import { normalizeInstanceGroups, normalizeModelConfig } from '../model-config/normalize.ts'
import { emptyModelConfig, readModelConfig } from '../model-config/read-config.ts'
import { previewNormalisedConfig } from '../model-repository/preview-normalised-config.ts'
import { toServerError } from '../server-error.ts'
import type { ConfigTarget } from './config-targets.ts'

export type ConfigLanguage = 'en' | 'zh-CN'

interface ReadConfigs {
  /** null: it cannot be parsed. */
  readonly written: ModelConfig | null
  /** As the server uses it; null: it refuses. */
  readonly used: ModelConfig | null
  /** Why one of them is null. */
  readonly error: string | null
}

async function readBoth(target: ConfigTarget): Promise<ReadConfigs> {
  let written: ModelConfig
  try {
    written = target.hash === null ? emptyModelConfig() : readModelConfig(target.text, target.file)
  } catch (error) {
    const { cause, message } = toServerError(error)
    return { written: null, used: null, error: cause instanceof Error ? cause.message : message }
  }
  try {
    return { written, used: await usedConfig(target, written), error: null }
  } catch (error) {
    return { written, used: null, error: toServerError(error).message }
  }
}

async function usedConfig(target: ConfigTarget, written: ModelConfig): Promise<ModelConfig> {
  if (target.modelDirectory === null) {
    const name = written.name === '' ? basename(target.path).replace(/\.pbtxt$/, '') : written.name
    return normalizeInstanceGroups(normalizeModelConfig(inferBackend({ ...written, name }, name, [])), { gpuCount: 0 })
  }
  const { modelDirectory } = target
  const preview = await previewNormalisedConfig({
    text: target.hash === null ? null : target.text, path: target.file, modelName: basename(modelDirectory), modelDirectory, repositoryPath: dirname(modelDirectory),
  })
  if (preview.normalised === null) throw new Error(preview.normaliseError)
  return readModelConfig(preview.normalised, target.file)
}

/** Each field that is written with its meaning, then what the server adds. */
export async function explainConfig(target: ConfigTarget, language: ConfigLanguage): Promise<{ readonly text: string; readonly isReadable: boolean }> {
  const { written, used, error } = await readBoth(target)
  const lines = [`${target.file}`]
  if (written === null) return { text: `${target.file}: ${error ?? ''}`, isReadable: false }
  const own = flattenConfig(written)
  if (own.length === 0) lines.push(language === 'en' ? '  says nothing: everything is left to the server.' : '  没有内容：一切由服务器决定。')
  const told = new Set<string>()
  for (const field of own) lines.push(...explanation(field, told, language))
  if (used === null) {
    lines.push('', `  ${language === 'en' ? 'The server refuses it' : '服务器会拒绝'}: ${error ?? ''}`)
    return { text: lines.join('\n'), isReadable: false }
  }
  const places = new Map(own.map(({ place, value }) => [place, value]))
  const added = flattenConfig(used).filter(({ place, value }) => places.get(place) !== value)
  if (added.length > 0) {
    lines.push('', language === 'en' ? '  The server adds:' : '  服务器补充：')
    for (const field of added) lines.push(...explanation(field, told, language))
  }
  return { text: `${lines.join('\n')}\n`, isReadable: true }
}

/** A field and, the first time that it comes up, its meaning. */
function explanation({ place, path, value }: SetField, told: Set<string>, language: ConfigLanguage): string[] {
  const line = `  ${place}: ${value}`
  const field = path.filter((step) => typeof step === 'string').join('.')
  const doc = told.has(field) ? null : docAtPath(path)
  told.add(field)
  return doc === null ? [line] : [line, `      ${doc.meaning[language]}`]
}

/** `-` for what is only on the left, `+` for what is only on the right, `~` for what differs. Right: another config, or what the server makes of the left. */
export async function diffConfigs(left: ConfigTarget, right: ConfigTarget | null, language: ConfigLanguage): Promise<{ readonly lines: readonly string[]; readonly isReadable: boolean }> {
  const a = await readBoth(left)
  const b = right === null ? null : await readBoth(right)
  const broken = a.written === null ? { target: left, error: a.error } : b !== null && b.written === null ? { target: right ?? left, error: b.error } : null
  if (broken !== null) return { lines: [`${broken.target.file}: ${broken.error ?? ''}`], isReadable: false }
  if (b === null && a.used === null) return { lines: [`${language === 'en' ? 'The server refuses it' : '服务器会拒绝'}: ${a.error ?? ''}`], isReadable: false }
  // Two configs are compared as the server uses them, as long as it uses both.
  const areUsed = b === null || (a.used !== null && b.used !== null)
  const from = b !== null && areUsed ? a.used : a.written
  const to = b === null ? a.used : areUsed ? b.used : b.written
  if (from === null || to === null) return { lines: [], isReadable: false }
  const lines = [...differences(flattenConfig(from), flattenConfig(to))]
  return { lines: lines.length > 0 ? lines : [language === 'en' ? 'no difference' : '没有差异'], isReadable: true }
}

function* differences(left: readonly SetField[], right: readonly SetField[]): Generator<string> {
  const rightValues = new Map(right.map(({ place, value }) => [place, value]))
  const leftPlaces = new Set(left.map(({ place }) => place))
  for (const { place, value } of left) {
    const other = rightValues.get(place)
    if (other === undefined) yield `- ${place}: ${value}`
    else if (other !== value) yield `~ ${place}: ${value} -> ${other}`
  }
  for (const { place, value } of right) if (!leftPlaces.has(place)) yield `+ ${place}: ${value}`
}
