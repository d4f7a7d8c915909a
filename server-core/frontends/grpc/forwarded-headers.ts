/** Metadata of a call as parameters of its requests (`--grpc-header-forward-pattern`; protocol 6.8 and 9.3). */
import type { IncomingHttpHeaders } from 'node:http2'
import type { InferenceRequest, ParameterValue } from '../../contract/inference.ts'
import { forwardHeaders } from '../header-forwarding.ts'
import type { LinearPattern } from '../linear-pattern.ts'

export type ForwardedHeaders = Readonly<Record<string, ParameterValue>>

/** What HTTP/2 and gRPC say for themselves. */
const OF_THE_TRANSPORT = /^(?::|grpc-|content-type$|te$)/

const NONE: ForwardedHeaders = Object.freeze({})

/** @param pattern null: nothing is forwarded @throws ServerError INVALID_ARG for a key that is Triton's own */
export function forwardedHeaders(headers: IncomingHttpHeaders, pattern: LinearPattern | null): ForwardedHeaders {
  if (pattern === null) return NONE
  const forwarded = Object.create(null) as Record<string, ParameterValue>
  const metadata = Object.entries(headers).flatMap(([key, value]): [string, string][] =>
    (value === undefined || OF_THE_TRANSPORT.test(key) ? [] : [[key, Array.isArray(value) ? value.join(', ') : value]]))
  forwardHeaders(pattern, metadata, forwarded)
  return forwarded
}

/** The request with the forwarded ones among its parameters. */
export function withForwarded(request: InferenceRequest, forwarded: ForwardedHeaders): InferenceRequest {
  return forwarded === NONE ? request : { ...request, parameters: { ...request.parameters, ...forwarded } }
}
