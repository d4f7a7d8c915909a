/** Texts that come from the config language in both languages, in the one that is shown. */
import i18next from 'i18next'
import type { LocalizedText } from '../../server-core/contract/config-language.ts'

export function localized(text: LocalizedText): string {
  return i18next.language === 'zh-CN' ? text['zh-CN'] : text.en
}
