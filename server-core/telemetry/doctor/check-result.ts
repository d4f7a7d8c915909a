import type { LocalizedText } from '../../contract/config-language.ts'
import type { ServerRestart } from '../../contract/console-api.ts'
import type { DoctorCheck, DoctorCheckId, DoctorFix, DoctorVerdict } from '../../contract/devices.ts'

/** Both languages side by side, Chinese second. */
export function text(en: string, zh: string): LocalizedText {
  return { en, 'zh-CN': zh }
}

/** Names in a row, as each language separates them. */
export function list(names: readonly string[]): LocalizedText {
  return text(names.join(', '), names.join('、'))
}

export function check(id: DoctorCheckId, verdict: DoctorVerdict, title: LocalizedText, detail: LocalizedText, fix: DoctorFix | null = null): DoctorCheck {
  return { id, verdict, title, detail, fix }
}

/** @param command null: it is nothing to type. @param restart what a restart of the engine does about it */
export function fix(en: string, zh: string, command: string | null = null, restart: ServerRestart | null = null): DoctorFix {
  return { text: text(en, zh), command, restart }
}
