/** Words of a field in the current language: human label, help, and texts that come in both languages. */
import { useTranslation } from 'react-i18next'
import type { LocalizedText } from '../../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'

export interface FieldText {
  label(path: ConfigPath): string
  /** '' where nothing is known. */
  help(path: ConfigPath): string
  /** What the search looks at beside the name. */
  words(path: ConfigPath): string
  local(text: LocalizedText): string
}

export function useFieldText(): FieldText {
  const { t, i18n } = useTranslation('config-form')
  const language = i18n.language === 'zh-CN' ? 'zh-CN' : 'en'
  const label = (path: ConfigPath): string => {
    const names = path.filter((step) => typeof step === 'string').filter((name) => name !== 'value')
    const name = names.at(-1) ?? ''
    const owner = names.at(-2)
    if (owner !== undefined && i18n.exists(`config-form:label.${owner}-${name}`)) return t(`label.${owner}-${name}`)
    return i18n.exists(`config-form:label.${name}`) ? t(`label.${name}`) : name
  }
  const help = (): string => ''
  return { label, help, words: (path) => label(path), local: (text) => text[language] }
}
