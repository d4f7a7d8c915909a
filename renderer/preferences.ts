/** Language and theme: chosen or the system's, applied live, remembered in the desktop's settings or in the browser. */
import { create } from 'zustand'
import type { DesktopSettings } from '../server-core/contract/console-api.ts'
import { desktopApi } from './lib/desktop-api.ts'
import type { ThemeName } from './theme/tokens.ts'

export type Language = 'zh-CN' | 'en'
export type LanguageChoice = DesktopSettings['language']
export type ThemeChoice = DesktopSettings['theme']

export const LANGUAGES: readonly Language[] = ['zh-CN', 'en']
export const THEME_CHOICES: readonly ThemeChoice[] = ['system', 'light', 'dark', 'contrast']

interface Preferences {
  readonly languageChoice: LanguageChoice
  readonly themeChoice: ThemeChoice
  /** What the choice comes to on this system. */
  readonly language: Language
  readonly theme: ThemeName
}

const STORAGE_KEY = 'npu-console.preferences'

function systemLanguage(): Language {
  return (navigator.languages[0] ?? navigator.language).toLowerCase().startsWith('zh') ? 'zh-CN' : 'en'
}

function matches(query: string): boolean {
  return typeof window.matchMedia === 'function' && window.matchMedia(query).matches
}

function systemTheme(): ThemeName {
  if (matches('(forced-colors: active)') || matches('(prefers-contrast: more)')) return 'contrast'
  return matches('(prefers-color-scheme: dark)') ? 'dark' : 'light'
}

function resolved(languageChoice: LanguageChoice, themeChoice: ThemeChoice): Preferences {
  return {
    languageChoice, themeChoice,
    language: languageChoice === 'system' ? systemLanguage() : languageChoice,
    theme: themeChoice === 'system' ? systemTheme() : themeChoice,
  }
}

export const usePreferences = create<Preferences>()(() => resolved('system', 'system'))

interface Stored { language: LanguageChoice; theme: ThemeChoice }

function readBrowserStorage(): Stored {
  try {
    const value = JSON.parse(window.localStorage.getItem(STORAGE_KEY) ?? '{}') as Record<string, unknown>
    const language = value['language']
    const theme = value['theme']
    return {
      language: language === 'zh-CN' || language === 'en' ? language : 'system',
      theme: THEME_CHOICES.find((choice) => choice === theme) ?? 'system',
    }
  } catch {
    // Storage is blocked or holds something foreign: the system's language and theme are a sound start.
    return { language: 'system', theme: 'system' }
  }
}

/** Reads what was remembered and follows the system's changes. Resolves when the first paint can be right. */
export async function loadPreferences(): Promise<void> {
  const stored: Stored = await (desktopApi()?.settings() ?? readBrowserStorage())
  usePreferences.setState(resolved(stored.language, stored.theme))
  const refresh = () => usePreferences.setState((state) => resolved(state.languageChoice, state.themeChoice))
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']) {
    if (typeof window.matchMedia === 'function') window.matchMedia(query).addEventListener('change', refresh)
  }
  window.addEventListener('languagechange', refresh)
}

async function remember(): Promise<void> {
  const { languageChoice, themeChoice } = usePreferences.getState()
  const desktop = desktopApi()
  if (desktop) {
    await desktop.changeSettings({ language: languageChoice, theme: themeChoice })
    return
  }
  try {
    window.localStorage.setItem(STORAGE_KEY, JSON.stringify({ language: languageChoice, theme: themeChoice }))
  } catch {
    // A browser that forbids storage keeps the choice for this visit only.
  }
}

export function chooseLanguage(languageChoice: LanguageChoice): void {
  usePreferences.setState((state) => resolved(languageChoice, state.themeChoice))
  void remember()
}

export function chooseTheme(themeChoice: ThemeChoice): void {
  usePreferences.setState((state) => resolved(state.languageChoice, themeChoice))
  void remember()
}
