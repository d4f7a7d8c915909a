/** Renders into jsdom with texts and theme, as the window does. */
import { FluentProvider } from '@fluentui/react-components'
import i18next from 'i18next'
import { act } from 'react'
import type { ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { initReactI18next } from 'react-i18next'
import { resources } from '../i18n.ts'
import type { Language } from '../preferences.ts'
import { themes } from '../theme/theme.ts'

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })
// jsdom draws nothing: lists that measure themselves get a height, media queries an answer.
Object.defineProperty(Element.prototype, 'clientHeight', { configurable: true, get: () => 600 })
Object.defineProperty(Element.prototype, 'clientWidth', { configurable: true, get: () => 900 })
window.matchMedia ??= (query: string) => Object.assign(new EventTarget(), { matches: query.includes('min-width'), media: query, onchange: null, addListener: () => {}, removeListener: () => {} })
Element.prototype.scrollTo ??= () => {}
Element.prototype.scrollIntoView ??= () => {}

export interface Rendered {
  readonly container: HTMLElement
  unmount(): Promise<void>
}

export async function render(content: ReactNode, language: Language = 'en'): Promise<Rendered> {
  if (!i18next.isInitialized) {
    await i18next.use(initReactI18next).init({ resources, lng: language, fallbackLng: false, defaultNS: 'common', ns: Object.keys(resources.en), interpolation: { escapeValue: false } })
  }
  await i18next.changeLanguage(language)
  const container = document.createElement('div')
  document.body.append(container)
  const root = createRoot(container)
  await act(async () => root.render(<FluentProvider theme={themes.light}>{content}</FluentProvider>))
  return {
    container,
    unmount: async () => {
      await act(async () => root.unmount())
      container.remove()
    },
  }
}

/** Presses a key where the focus is. */
export async function press(key: string): Promise<void> {
  await act(async () => {
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
  })
}
