/** What both protocols say about a change of the log settings (protocol 11.2). */
import { LOG_FORMATS, type LogFormat } from '../logger.ts'
import type { ErrorKind } from '../contract/errors.ts'
import { ServerError } from '../server-error.ts'

export function logFileIsFixed(): ServerError { return new ServerError('UNSUPPORTED', 'log file location can not be updated through network protocol') }

/** @param name as the protocol spells it in its text @throws ServerError */
export function logFormatNamed(text: string, name: string, kind: ErrorKind): LogFormat {
  const format = LOG_FORMATS.find((known) => known === text)
  if (format === undefined) throw new ServerError(kind, `invalid argument for ${name}, got: ${text}`)
  return format
}
