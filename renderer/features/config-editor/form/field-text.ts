/** Words of a field in the current language: human label, help, and texts that come in both languages. */
import { useTranslation } from 'react-i18next'
import type { LocalizedText } from '../../../../server-core/contract/config-language.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { docAtPath } from '../../../../server-core/model-config/field-docs.ts'
import { localized } from '../../../lib/localized-text.ts'
import { KNOWN_PARAMETERS } from '../known-parameters.ts'

export interface FieldText {
  label(path: ConfigPath): string
  /** Meaning, default and who uses it; '' where nothing is known. */
  help(path: ConfigPath): string
  /** What the search looks at beside the name. */
  words(path: ConfigPath): string
  local(text: LocalizedText): string
}

export function useFieldText(): FieldText {
  const { t, i18n } = useTranslation('config-form')
  const label = (path: ConfigPath): string => {
    const names = path.filter((step) => typeof step === 'string').filter((name) => name !== 'value')
    const name = names.at(-1) ?? ''
    const owner = names.at(-2)
    if (owner !== undefined && i18n.exists(`config-form:label.${owner}-${name}`)) return t(`label.${owner}-${name}`)
    return i18n.exists(`config-form:label.${name}`) ? t(`label.${name}`) : name
  }
  const help = (path: ConfigPath): string => {
    const [top, entry] = path
    if (top === 'parameters' && typeof entry === 'object') {
      const known = KNOWN_PARAMETERS.find(({ key }) => key === entry.key || key.replace(/^(graph|session)\./, '') === entry.key.replace(/^(graph|session)\./, ''))
      if (known !== undefined) return localized(known.meaning)
    }
    const doc = docAtPath(path)
    return doc === null ? '' : t('help', { meaning: localized(doc.meaning), default: localized(doc.default), usedBy: localized(doc.usedBy) })
  }
  const words = (path: ConfigPath): string => {
    const doc = docAtPath(path)
    return `${label(path)} ${doc === null ? '' : localized(doc.meaning)}`
  }
  return { label, help, words, local: localized }
}
