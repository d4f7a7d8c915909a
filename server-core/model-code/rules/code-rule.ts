/** What a rule about a model.py is: it looks at one text and yields findings, each with what repairs it. Rules are pure and run in the window too. */
import type { ConfigFix, DiagnosticSeverity, LocalizedText, TextEdit } from '../../contract/config-language.ts'
import type { CodeContext } from '../../contract/model-code.ts'
import type { PythonFunction, PythonNode, PythonSource } from '../python-source.ts'

/** Nothing is known but the text. */
export const EMPTY_CODE_CONTEXT: CodeContext = { versionFiles: null, modelFiles: null, isDecoupled: null }

export interface CodeFinding {
  /** Kebab-case; one of the rule's `codes`. */
  readonly code: string
  readonly severity: DiagnosticSeverity
  readonly start: number
  readonly end: number
  /** The cause and the next step, one sentence each. */
  readonly message: LocalizedText
  /** The server's literal text where a load or a request would fail with one. */
  readonly serverText?: string
  readonly fixes?: readonly ConfigFix[]
}

export interface CodeRule {
  readonly codes: readonly string[]
  check(source: PythonSource, context: CodeContext): Iterable<CodeFinding>
}

export const MODEL_CLASS = 'TritonPythonModel'
export const UTILS_MODULE = 'triton_python_backend_utils'

export function say(en: string, zh: string): LocalizedText {
  return { en, 'zh-CN': zh }
}

/** A fix that may be applied without asking. */
export function preferredFix(en: string, zh: string, edits: readonly TextEdit[]): ConfigFix {
  return { title: say(en, zh), edits, isPreferred: true }
}

/** A fix that decides something for the user. */
export function otherFix(en: string, zh: string, edits: readonly TextEdit[]): ConfigFix {
  return { title: say(en, zh), edits, isPreferred: false }
}

export function replaceNode(node: PythonNode, text: string): TextEdit {
  return { offset: node.from, length: node.to - node.from, text }
}

/** A method of the model's class; null: there is no such class or method. */
export function modelMethod(source: PythonSource, name: string): PythonFunction | null {
  return source.classNamed(MODEL_CLASS)?.methods.findLast((method) => method.name === name) ?? null
}

/** The name of `args` where the node lies in the model's `initialize(self, args)`; null elsewhere. */
export function argsNameAt(source: PythonSource, node: PythonNode): string | null {
  const initialize = modelMethod(source, 'initialize')
  if (initialize === null || node.from < initialize.body.from || node.to > initialize.body.to) return null
  // A lambda or a function inside may have another `args`.
  return source.functionAround(node)?.node.from === initialize.node.from ? initialize.parameters.positional[1]?.name ?? null : null
}

/** The name that `triton_python_backend_utils` goes by in this file; null: it is not imported as a module. */
export function utilsName(source: PythonSource): string | null {
  return [...source.imports].find(([, module]) => module === UTILS_MODULE)?.[0] ?? null
}

/** The edits that make `import <statement>` part of the file: after the last import of its head, else after docstring and comments. */
export function importEdits(source: PythonSource, statement: string): TextEdit[] {
  const { text, lineEnd } = source
  let after: number | null = null
  let isFirst = true
  for (let node = source.root.firstChild; node !== null; node = node.nextSibling) {
    const isDocstring = isFirst && node.name === 'ExpressionStatement' && node.firstChild?.name === 'String'
    if (node.name !== 'Comment') isFirst = false
    if (node.name === 'ImportStatement' || isDocstring) after = source.lineEndAt(node.to)
    else if (node.name !== 'Comment') break
    // A line such as `# -*- coding` has to stay first.
    else if (after === null && /^#(!|.*coding)/.test(text.slice(node.from, node.to))) after = source.lineEndAt(node.to)
  }
  if (after !== null) return [{ offset: after, length: 0, text: `${lineEnd}${statement}` }]
  const start = text.startsWith('\uFEFF') ? 1 : 0
  return [{ offset: start, length: 0, text: `${statement}${lineEnd}` }]
}
