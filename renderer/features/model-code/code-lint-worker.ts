/** Checks a model.py away from the window's thread. */
import { checkModelCode } from '../../../server-core/model-code/check-model-code.ts'
import type { CodeLintRequest, CodeLintResponse } from './code-lint.ts'

self.addEventListener('message', ({ data }: MessageEvent<CodeLintRequest>) => {
  const response: CodeLintResponse = { revision: data.revision, diagnostics: checkModelCode(data.text, data.context) }
  self.postMessage(response)
})
