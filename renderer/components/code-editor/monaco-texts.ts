/** Monaco's own words (find, peek, rename) in the window's language. English is built in; Chinese is the translation that comes with Monaco. */
import type { Language } from '../../preferences.ts'
import { usePreferences } from '../../preferences.ts'

/** Where Monaco looks its words up, each time they are shown; undefined: English. */
const words = globalThis as { _VSCODE_NLS_MESSAGES?: readonly string[] | undefined }

let chinese: readonly string[] | undefined
let isFollowing = false

async function show(language: Language): Promise<void> {
  if (language === 'zh-CN' && chinese === undefined) {
    await import('monaco-editor/nls/lang/zh-cn')
    chinese = words._VSCODE_NLS_MESSAGES
  }
  words._VSCODE_NLS_MESSAGES = usePreferences.getState().language === 'zh-CN' ? chinese : undefined
}

/** Call before Monaco is loaded: some words are looked up then, and stay. */
export async function followLanguage(): Promise<void> {
  if (!isFollowing) {
    isFollowing = true
    usePreferences.subscribe(({ language }, before) => { if (language !== before.language) void show(language) })
  }
  await show(usePreferences.getState().language)
}
