/** What validation finds: Triton's text, and where in the config it comes from. The loader throws the first one, the editor shows all. */
import type { ErrorKind } from '../contract/errors.ts'
import { ServerError } from '../server-error.ts'
import type { ConfigPath } from './config-path.ts'

export interface ConfigProblem {
  /** Stable kebab-case name of the check. */
  readonly code: string
  /** The literal text of the failing load. */
  readonly text: string
  readonly path: ConfigPath
  /** INVALID_ARG unless given. */
  readonly kind?: ErrorKind
  /** What the text is about, for messages in other words: names, numbers. */
  readonly facts?: Readonly<Record<string, string | number>>
}

/** @throws ServerError the first problem */
export function refuseFirst(problems: Iterable<ConfigProblem>): void {
  for (const { kind, text } of problems) throw new ServerError(kind ?? 'INVALID_ARG', text)
}
