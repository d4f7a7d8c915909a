import { expect, test } from 'vitest'
import { soakServer } from './server-soak.ts'

/** A short run with a fixed seed; `npm run soak` runs ten minutes with a new one each time and watches memory. */
const SECONDS = process.env['CI'] === undefined ? 10 : 60

test('no request is lost, doubled or wrong through load, cancellation, reloads, unloads and deaths of threads', { timeout: 240_000 }, async () => {
  const { endings, reloads, unloads, deaths } = await soakServer(SECONDS, 20261129)
  expect(endings['answered']).toBeGreaterThan(100)
  expect(reloads + unloads + deaths).toBeGreaterThan(0)
})
