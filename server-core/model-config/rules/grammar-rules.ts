/** What is no text format at all. */
import { say } from './rule.ts'
import type { ConfigRule } from './rule.ts'

const ANY_ERROR: ConfigRule = {
  codes: ['syntax-error'],
  *check(view) {
    for (const error of view.errors) {
      yield {
        code: 'syntax-error', severity: 'error', span: { start: error.offset, end: error.offset + error.length },
        message: say(error.message, error.message),
        serverText: `Error parsing text-format inference.ModelConfig: ${error.line}:${error.column}: ${error.message}`,
      }
    }
  },
}

export const GRAMMAR_RULES: readonly ConfigRule[] = [ANY_ERROR]
