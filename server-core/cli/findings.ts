/** How findings about configs and code are told on the command line: one line each, or JSON. */
import type { ConfigDiagnostic, LocalizedText } from '../contract/config-language.ts'
import type { ServerError } from '../server-error.ts'
import type { ConfigLanguage } from './config-explain.ts'
import { UsageError } from './usage-error.ts'

/** What was looked at. */
export type FindingSubject = 'config' | 'model.py'

export interface FileFinding {
  readonly file: string
  readonly diagnostic: ConfigDiagnostic
}

const SUBJECTS: Readonly<Record<FindingSubject, LocalizedText>> = { config: { en: 'config', 'zh-CN': '个配置' }, 'model.py': { en: 'model.py', 'zh-CN': '个 model.py' } }

/**
 * Prints all findings and, where it is no JSON, a summary.
 * @returns the exit code: 1 where one is an error
 */
export function printFindings(found: readonly FileFinding[], { what, files, applied, isJson, language, print }: {
  readonly what: FindingSubject
  /** How many were looked at. */
  readonly files: number
  /** How many fixes were applied. */
  readonly applied: number
  readonly isJson: boolean
  readonly language: ConfigLanguage
  readonly print: (text: string) => void
}): number {
  if (isJson) print(JSON.stringify(found.map(({ file, diagnostic }) => jsonFinding(file, diagnostic, language)), null, 2))
  else {
    for (const { file, diagnostic } of found) print(findingText(file, diagnostic, language))
    print(summary(found.map(({ diagnostic }) => diagnostic), what, files, applied, language))
  }
  return found.some(({ diagnostic }) => diagnostic.severity === 'error') ? 1 : 0
}

/** A file that cannot be read is a finding about it; the others are checked all the same. */
export function unreadable({ message }: ServerError): ConfigDiagnostic {
  return {
    code: 'file-not-read', severity: 'error', offset: 0, length: 0, line: 1, column: 1, endLine: 1, endColumn: 1, fixes: [],
    message: { en: message, 'zh-CN': `无法读取该文件：${message}` },
  }
}

const SEVERITIES: Readonly<Record<ConfigDiagnostic['severity'], LocalizedText>> = {
  error: { en: 'error', 'zh-CN': '错误' }, warning: { en: 'warning', 'zh-CN': '警告' }, info: { en: 'info', 'zh-CN': '提示' }, hint: { en: 'hint', 'zh-CN': '建议' },
}

function jsonFinding(file: string, diagnostic: ConfigDiagnostic, language: ConfigLanguage): object {
  const { line, column, endLine, endColumn, severity, code, message, fixes } = diagnostic
  return {
    file, line, column, endLine, endColumn, severity, code, message: message[language],
    fixes: fixes.map(({ title, edits }) => ({ title: title[language], edits })),
  }
}

function findingText(file: string, { line, column, severity, code, message, serverText, fixes }: ConfigDiagnostic, language: ConfigLanguage): string {
  const lines = [`${file}:${line}:${column}: ${SEVERITIES[severity][language]}: ${message[language]} [${code}]`]
  if (serverText !== undefined && serverText !== message[language]) lines.push(`    ${language === 'en' ? 'the server says' : '服务器报错'}: ${serverText}`)
  for (const { title, isPreferred } of fixes) lines.push(`    ${language === 'en' ? 'fix' : '修复'}${isPreferred ? ' (--fix)' : ''}: ${title[language]}`)
  return lines.join('\n')
}

function summary(diagnostics: readonly ConfigDiagnostic[], what: FindingSubject, files: number, applied: number, language: ConfigLanguage): string {
  const count = (severity: ConfigDiagnostic['severity']): number => diagnostics.filter((diagnostic) => diagnostic.severity === severity).length
  const [errors, warnings, others] = [count('error'), count('warning'), count('info') + count('hint')]
  if (language === 'zh-CN') return `${files} ${SUBJECTS[what]['zh-CN']}：${errors} 个错误，${warnings} 个警告，${others} 个提示${applied > 0 ? `；已修复 ${applied} 处` : ''}`
  const plural = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`
  return `${plural(files, SUBJECTS[what].en)}: ${plural(errors, 'error')}, ${plural(warnings, 'warning')}, ${plural(others, 'hint')}${applied > 0 ? `; ${plural(applied, 'fix').replace('fixs', 'fixes')} applied` : ''}`
}

/** `--language`, else the locale's. @throws UsageError for another one */
export function languageOf(given: string | boolean | undefined, environment: NodeJS.ProcessEnv): ConfigLanguage {
  if (typeof given === 'string') {
    if (/^zh([-_]cn|[-_]hans)?$/i.test(given)) return 'zh-CN'
    if (/^en([-_]\w+)?$/i.test(given)) return 'en'
    throw new UsageError(`--language is en or zh-CN, not '${given}'`)
  }
  const locale = [environment['LC_ALL'], environment['LC_MESSAGES'], environment['LANG']].find((value) => value !== undefined && value !== '') ?? ''
  return /^zh/i.test(locale) ? 'zh-CN' : 'en'
}
