/** `--grpc-header-forward-pattern`: metadata of a call as parameters of its requests (protocol 6.8 and 9.3). */
import type { IncomingHttpHeaders } from 'node:http2'
import type { InferenceRequest } from '../../contract/inference.ts'
import { ServerError } from '../../server-error.ts'

export type ForwardedHeaders = Readonly<Record<string, string>>

const RESERVED_KEYS = new Set(['sequence_id', 'sequence_start', 'sequence_end', 'priority', 'timeout', 'headers', 'binary_data_output'])
/** What HTTP/2 and gRPC say for themselves. */
const OF_THE_TRANSPORT = /^(?::|grpc-|content-type$|te$)/

const NONE: ForwardedHeaders = Object.freeze({})

/**
 * @param pattern matched anywhere in a key; null: nothing is forwarded
 * @throws ServerError INVALID_ARG for a key that is Triton's own
 */
export function forwardedHeaders(headers: IncomingHttpHeaders, pattern: RegExp | null): ForwardedHeaders {
  if (pattern === null) return NONE
  const forwarded = Object.create(null) as Record<string, string>
  for (const [key, value] of Object.entries(headers)) {
    if (value === undefined || OF_THE_TRANSPORT.test(key) || !pattern.test(key)) continue
    if (RESERVED_KEYS.has(key) || key.startsWith('triton_')) throw new ServerError('INVALID_ARG', `Header '${key}' is reserved for Triton usage and cannot be forwarded.`)
    forwarded[key] = Array.isArray(value) ? value.join(', ') : value
  }
  return forwarded
}

/** The request with the forwarded ones among its parameters. */
export function withForwarded(request: InferenceRequest, forwarded: ForwardedHeaders): InferenceRequest {
  return forwarded === NONE ? request : { ...request, parameters: { ...request.parameters, ...forwarded } }
}
