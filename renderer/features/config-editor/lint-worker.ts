/** Checks a config away from the window's thread. One request at a time; the context is sent once and kept. */
import type { ConfigContext } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { checkConfig } from '../../../server-core/model-config/check-config.ts'
import type { LintRequest, LintResponse } from './lint-client.ts'

let context: ConfigContext = EMPTY_CONFIG_CONTEXT

self.addEventListener('message', ({ data }: MessageEvent<LintRequest>) => {
  if (data.context !== undefined) context = data.context
  const response: LintResponse = { version: data.version, diagnostics: checkConfig(data.text, context) }
  self.postMessage(response)
})
