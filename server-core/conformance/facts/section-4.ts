/** Section 4 of the protocol: paths, methods, restricted APIs. */
import { type Fact, rule, text } from '../fact.ts'

export const SECTION_4 = {
  '4/not-found': text('Not Found'),
  '4/method-not-allowed': text('Method Not Allowed'),
  '4/query-ignored': rule('query strings are ignored'),
  '4/no-percent-decoding': rule('names are any characters but /, not percent-decoded'),
  '4/version-digits': rule('a version that is not digits is 404'),
  '4/version-too-large': text("failed to get model version from specified version string '<s>' (details: stol), version should be an integral value > 0"),
  '4/slashes': rule('trailing and doubled slashes are 404'),
  '4/case': rule('another letter case is 404'),
  '4/methods': rule('HEAD, PUT, DELETE, OPTIONS on a known path are 405'),
  '4/stats-of-all': rule('/v2/models/stats is the statistics of all models, not a model'),
  '4/trace-with-version': rule('trace/setting with a version is 404'),
  '4/restricted-http': text("This API is restricted, expecting header '<header>'"),
  '4/restricted-before-method': rule('the restriction is checked before the method'),
  '4/restricted-categories': rule('every category can be restricted: health, metadata, inference, shared-memory, model-config, model-repository, statistics, trace, logging'),
  '4/restricted-passes': rule('the right header opens the API'),
  '4/restricted-grpc': text("This protocol is restricted, expecting header '<header>'"),
} as const satisfies Record<`4/${string}`, Fact>
