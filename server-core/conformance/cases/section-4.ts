/** Section 4 of the protocol: paths, methods, restricted APIs. */
import { expect } from 'vitest'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'

function path(facts: HttpCase['facts'], target: string, status: number, more: Partial<HttpCase> & { readonly method?: string } = {}): HttpCase {
  const { method, ...rest } = more
  return { facts, name: `${method ?? 'GET'} ${target}`, transport: 'http', call: { path: target, ...(method === undefined ? {} : { method }) }, status, ...rest }
}

/** One call of each category. */
const CATEGORIES: readonly (readonly [target: string, method: 'GET' | 'POST'])[] = [
  ['/v2/health/live', 'GET'], ['/v2/models/plain/ready', 'GET'], ['/v2', 'GET'], ['/v2/models/plain', 'GET'], ['/v2/models/plain/infer', 'POST'], ['/v2/models/plain/generate', 'POST'],
  ['/v2/systemsharedmemory/status', 'GET'], ['/v2/cudasharedmemory/status', 'GET'], ['/v2/models/plain/config', 'GET'], ['/v2/repository/index', 'POST'], ['/v2/repository/models/plain/load', 'POST'],
  ['/v2/models/stats', 'GET'], ['/v2/trace/setting', 'GET'], ['/v2/logging', 'GET'],
]

export const SECTION_4_CASES: readonly ConformanceCase[] = [
  ...['/', '/v2/nope', '/v2/models', '/v3', '/v2/models/plain/nope', '/v2/repository/models/plain/nope', '/v2/health', '/v2/systemsharedmemory', '/v2/models/plain/versions', '/v2/models/plain/infer/x']
    .map((target) => path(['4/not-found'], target, 404, { error: 'Not Found' })),
  path(['4/method-not-allowed'], '/v2/models/plain/infer', 405, { error: 'Method Not Allowed' }),
  ...['PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) => path(['4/method-not-allowed', '4/methods'], '/v2', 405, { method, error: 'Method Not Allowed' })),
  path(['4/methods'], '/v2/health/live', 405, { method: 'HEAD' }),
  path(['4/query-ignored'], '/v2/models/plain/ready?a=/b', 200),
  path(['4/no-percent-decoding'], '/v2/models/pl%61in', 404, { error: "Request for unknown model: 'pl%61in' is not found" }),
  path(['4/version-digits'], '/v2/models/plain/versions/abc', 404, { error: 'Not Found' }),
  path(['4/version-digits'], '/v2/models/plain/versions/-1', 404, { error: 'Not Found' }),
  path(['4/version-too-large'], '/v2/models/plain/versions/9223372036854775808', 400),
  ...['/v2/', '/v2//models/plain', '/v2/models/plain/', '/v2/models/plain/versions/1/', '/v2/health/live/'].map((target) => path(['4/slashes'], target, 404, { error: 'Not Found' })),
  path(['4/case'], '/V2', 404, { error: 'Not Found' }),
  path(['4/case'], '/v2/Models/plain', 404, { error: 'Not Found' }),
  path(['4/stats-of-all'], '/v2/models/stats', 200, { body: /^\{"model_stats":\[/ }),
  path(['4/trace-with-version'], '/v2/models/plain/versions/1/trace/setting', 404, { error: 'Not Found' }),
  path(['4/restricted-before-method', '4/restricted-http'], '/v2/models/plain/infer', 403, { method: 'DELETE', server: 'restricted', error: "This API is restricted, expecting header 'key'", headers: { 'content-type': 'text/plain' } }),
  ...CATEGORIES.map(([target, method]) => path(['4/restricted-categories', '4/restricted-http'], target, 403, { method, server: 'restricted', error: "This API is restricted, expecting header 'key'" })),
  {
    facts: ['4/restricted-passes', '4/restricted-http'], name: 'the right value, a wrong one', transport: 'http', server: 'restricted',
    async run(conversation) {
      const status = async (value: string) => (await conversation.http({ path: '/v2', headers: { key: value } })).status
      expect([await status('secret'), await status('Secret')]).toEqual([200, 403])
    },
  },
  { facts: ['4/restricted-grpc'], name: 'without the header', transport: 'grpc', server: 'restricted', method: 'ModelInfer', request: { model_name: 'plain' }, error: ['UNAVAILABLE', "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"] },
]
