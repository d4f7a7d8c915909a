import { expect, test } from 'vitest'
import { soakServer } from './server-soak.ts'

/** A short run with a fixed seed; `npm run soak` runs ten minutes with a new one each time and watches memory. */
test('no request is lost, doubled or wrong through load, cancellation, reloads, unloads and deaths of threads', { timeout: 120_000 }, async () => {
  const { endings, reloads, unloads, deaths } = await soakServer(10, 20261129)
  expect(endings['answered']).toBeGreaterThan(100)
  expect(reloads + unloads + deaths).toBeGreaterThan(0)
})
