import { expect, test } from 'vitest'
import { fuzzConfigs } from './config-fuzz.ts'

/** A short run with a fixed seed; `npm run soak` runs ten minutes with a new one each time. */
test('mutated configs never crash the language, lose a byte, or edit outside the text', { timeout: 120_000 }, () => {
  expect(fuzzConfigs(20, 20261129).count).toBeGreaterThan(50)
})
