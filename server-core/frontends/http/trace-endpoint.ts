/** `/v2/trace/setting` and `/v2/models/<m>/trace/setting` (protocol 11.1), and the trace of a request that comes over HTTP. */
import { steadyNanoseconds } from '../../clock.ts'
import type { RequestTrace } from '../../contract/inference.ts'
import { countSetting, type TraceChange, traceFileIsFixed, traceLevels, unsignedSetting } from '../../tracing/trace-settings.ts'
import type { Tracer } from '../../tracing/tracer.ts'
import { shownLevels } from '../trace-levels.ts'
import { type Endpoint, requiredJson } from './endpoints.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { JsonDocument } from './json-document.ts'
import { internal } from './parse-errors.ts'

/** Both methods answer the settings that hold now. A body with an error in it changes nothing. */
export const traceSetting: Endpoint['run'] = async (exchange, environment) => {
  exchange.errorContentType = 'application/json'
  const { server, services: { tracer } } = environment
  const { model } = exchange.route
  // Says what is wrong with a name that is no model's.
  if (model !== '') server.isModelReady(model, '')
  if (exchange.request.method === 'POST') tracer.change(model, changeIn(await requiredJson(exchange, environment)))
  const settings = tracer.settings(model)
  exchange.replyJson({
    trace_level: shownLevels(settings), trace_rate: String(settings.rate), trace_count: String(settings.count), log_frequency: String(settings.logFrequency),
    trace_file: tracer.file, trace_mode: 'triton',
  })
}

/** null clears a value. @throws ServerError */
function changeIn(document: JsonDocument): TraceChange {
  const [fileAt = -1, levelAt = -1, rateAt = -1, countAt = -1, frequencyAt = -1] = document.findAll(document.root, ['trace_file', 'trace_level', 'trace_rate', 'trace_count', 'log_frequency'])
  if (fileAt >= 0) throw traceFileIsFixed()
  const value = <T>(at: number, read: (at: number) => T): T | null => (document.kind(at) === 'null' ? null : read(at))
  return {
    ...(levelAt < 0 ? {} : { levels: value(levelAt, (at) => traceLevels(stringsIn(document, at))) }),
    ...(rateAt < 0 ? {} : { rate: value(rateAt, (at) => unsignedSetting('trace_rate', document.asString(at))) }),
    ...(countAt < 0 ? {} : { count: value(countAt, (at) => countSetting(document.asString(at), '')) }),
    ...(frequencyAt < 0 ? {} : { logFrequency: value(frequencyAt, (at) => unsignedSetting('log_frequency', document.asString(at))) }),
  }
}

function stringsIn(document: JsonDocument, arrayAt: number): string[] {
  if (document.kind(arrayAt) !== 'array') throw internal('attempt to access JSON non-array as array')
  const found: string[] = []
  for (let at = document.first(arrayAt); at >= 0; at = document.next(at)) found.push(document.asString(at))
  return found
}

/** The trace of this request, which is written when its connection is done with it; undefined: it is not traced. */
export function traceExchange(exchange: HttpExchange, tracer: Tracer): RequestTrace | undefined {
  const trace = tracer.sample(exchange.route.model)
  if (trace === undefined) return undefined
  trace.timestamp('HTTP_RECV_START', steadyNanoseconds())
  exchange.response.once('close', () => {
    trace.timestamp('HTTP_SEND_END', steadyNanoseconds())
    trace.end()
  })
  return trace
}
