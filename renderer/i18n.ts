/**
 * Texts in both languages, bundled. A namespace is a file: `locales/<language>/<namespace>.json`; dropping a file in is enough. Use
 * `useTranslation('models')` and `t('table.name')`; texts of another namespace as `t('common:retry')`.
 */
import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { LANGUAGES, usePreferences } from './preferences.ts'
import type { Language } from './preferences.ts'
import { fontsFor } from './theme/fonts.ts'

const files = import.meta.glob<Record<string, unknown>>('./locales/*/*.json', { eager: true, import: 'default' })

/** Texts by language, then namespace. */
export const resources: Readonly<Record<Language, Record<string, Record<string, unknown>>>> = { 'zh-CN': {}, en: {} }
for (const [path, texts] of Object.entries(files)) {
  const [, language, namespace] = /\.\/locales\/([^/]+)\/([^/]+)\.json$/.exec(path) ?? []
  if (namespace !== undefined && LANGUAGES.includes(language as Language)) resources[language as Language][namespace] = texts
}

/** Starts i18next and follows the preference from then on; also sets the document's language, so that Han glyphs are the Chinese ones. */
export async function startTranslations(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources, lng: usePreferences.getState().language, fallbackLng: false, defaultNS: 'common', ns: Object.keys(resources.en),
    interpolation: { escapeValue: false }, returnNull: false,
  })
  document.documentElement.lang = i18next.language
  usePreferences.subscribe(({ language }, before) => {
    if (language === before.language) return
    void showIn(language)
  })
}

/** Not before its glyphs are there; a choice made meanwhile wins. */
async function showIn(language: Language): Promise<void> {
  await fontsFor(language)
  if (usePreferences.getState().language !== language) return
  await i18next.changeLanguage(language)
  document.documentElement.lang = language
}
