import { expect, test } from 'vitest'
import { fuzzProtocols } from './protocol-fuzz.ts'

/** A short run with a fixed seed; `npm run soak` runs longer with a new one each time and watches memory. */
const SECONDS = process.env['CI'] === undefined ? 10 : 60

test('mutated HTTP and gRPC requests are all answered and do no harm to others', { timeout: 300_000 }, async () => {
  const { http, grpc, correct, live } = await fuzzProtocols(SECONDS, 20261130)
  expect(correct).toBeGreaterThan(0)
  expect(live.last).toBeGreaterThan(2 ** 20)
  for (const status of ['200', '400', '500']) expect(http[status] ?? 0, `HTTP ${status}`).toBeGreaterThan(0)
  for (const status of ['0', '3', '13']) expect(grpc[status] ?? 0, `gRPC status ${status}`).toBeGreaterThan(0)
})
