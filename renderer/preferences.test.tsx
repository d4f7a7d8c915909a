import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { DesktopApi } from '../server-core/contract/console-api.ts'
import { chooseLanguage, chooseTheme, loadPreferences, usePreferences } from './preferences.ts'

/** A system with this language and these media features. */
function system(language: string, ...features: string[]): void {
  vi.spyOn(navigator, 'languages', 'get').mockReturnValue([language])
  window.matchMedia = (query: string) => Object.assign(new EventTarget(), { matches: features.some((feature) => query.includes(feature)), media: query, onchange: null, addListener: () => {}, removeListener: () => {} })
}

describe('preferences', () => {
  beforeEach(() => {
    localStorage.clear()
    delete window.desktopApi
  })

  it.each([
    ['zh-TW', [], 'zh-CN', 'light'], ['en-GB', ['prefers-color-scheme: dark'], 'en', 'dark'], ['de-DE', ['prefers-contrast: more', 'prefers-color-scheme: dark'], 'en', 'contrast'], ['zh', ['forced-colors: active'], 'zh-CN', 'contrast'],
  ] as const)('takes language and theme of the system (%s, %s)', async (language, features, expectedLanguage, expectedTheme) => {
    system(language, ...features)
    await loadPreferences()
    expect(usePreferences.getState()).toMatchObject({ language: expectedLanguage, theme: expectedTheme, languageChoice: 'system', themeChoice: 'system' })
  })

  it('remembers a choice in the browser and finds it again', async () => {
    system('en')
    chooseLanguage('zh-CN')
    chooseTheme('dark')
    usePreferences.setState({ language: 'en', theme: 'light', languageChoice: 'system', themeChoice: 'system' })
    await loadPreferences()
    expect(usePreferences.getState()).toMatchObject({ language: 'zh-CN', theme: 'dark', languageChoice: 'zh-CN', themeChoice: 'dark' })
  })

  it('starts with the system when the storage holds something foreign', async () => {
    system('en')
    localStorage.setItem('npu-console.preferences', '{"language":"xx","theme":7')
    await loadPreferences()
    expect(usePreferences.getState()).toMatchObject({ language: 'en', languageChoice: 'system', themeChoice: 'system' })
  })

  it("uses the desktop's settings where there is a desktop", async () => {
    system('en')
    const changes: unknown[] = []
    const settings = { language: 'zh-CN', theme: 'contrast', keepServingOnClose: null } as const
    window.desktopApi = { settings: () => Promise.resolve(settings), changeSettings: (change: unknown) => { changes.push(change); return Promise.resolve(settings) } } as unknown as DesktopApi
    await loadPreferences()
    expect(usePreferences.getState()).toMatchObject({ language: 'zh-CN', theme: 'contrast' })
    chooseTheme('light')
    expect(changes).toEqual([{ language: 'zh-CN', theme: 'light' }])
    expect(localStorage.length).toBe(0)
  })
})
