/** `/v2/logging` (protocol 11.2). */
import type { LogSettings } from '../../logger.ts'
import { logFileIsFixed, logFormatNamed } from '../log-settings.ts'
import { type Endpoint, requiredJson } from './endpoints.ts'
import type { JsonDocument } from './json-document.ts'

const MEMBERS = ['log_file', 'log_info', 'log_warning', 'log_error', 'log_verbose_level', 'log_format']

/** Both methods answer the settings that hold now. A body with an error in it changes nothing. */
export const logging: Endpoint['run'] = async (exchange, environment) => {
  exchange.errorContentType = 'application/json'
  const { logs } = environment.services
  if (exchange.request.method === 'POST') logs.change(changeIn(await requiredJson(exchange, environment)))
  const { file, isInfoOn, isWarningOn, isErrorOn, verboseLevel, format } = logs.settings
  exchange.replyJson({ log_file: file, log_info: isInfoOn, log_warning: isWarningOn, log_error: isErrorOn, log_verbose_level: verboseLevel, log_format: format })
}

/** null and members that are none of these mean nothing. @throws ServerError */
function changeIn(document: JsonDocument): Partial<LogSettings> {
  const [fileAt, infoAt, warningAt, errorAt, verboseAt, formatAt] = document.findAll(document.root, MEMBERS).map((at) => (at < 0 || document.kind(at) === 'null' ? undefined : at))
  if (fileAt !== undefined) throw logFileIsFixed()
  return {
    ...(infoAt === undefined ? {} : { isInfoOn: document.asBoolean(infoAt) }),
    ...(warningAt === undefined ? {} : { isWarningOn: document.asBoolean(warningAt) }),
    ...(errorAt === undefined ? {} : { isErrorOn: document.asBoolean(errorAt) }),
    ...(verboseAt === undefined ? {} : { verboseLevel: Number(document.asUnsigned(verboseAt)) }),
    ...(formatAt === undefined ? {} : { format: logFormatNamed(document.asString(formatAt), '--log_format', 'UNAVAILABLE') }),
  }
}
