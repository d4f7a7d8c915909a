import { expect, test } from 'vitest'
import { LEAK_BYTES, REQUESTS_A_LIFE, soakPython } from './python-soak.ts'

/** A run over two lives of the leaking model; `npm run soak` runs longer and watches that the server's memory stays level. */
test('a Python model that leaks and one that prints without end cost the server nothing, and a load frees what was leaked', { timeout: 240_000 }, async () => {
  const { requests, loads, leastAfterLoad, mostBeforeLoad, lines, residentFirst, residentEnd } = await soakPython(0)
  expect([requests, loads]).toEqual([4 * REQUESTS_A_LIFE, 2])
  const leaked = LEAK_BYTES * REQUESTS_A_LIFE
  expect(mostBeforeLoad - leastAfterLoad).toBeGreaterThan(0.9 * leaked)
  expect(leastAfterLoad).toBeGreaterThan(2 ** 20)
  expect(residentEnd - residentFirst).toBeLessThan(leaked / 2)
  expect(lines.accounted).toBe(lines.printed)
  expect(lines.kept).toBeLessThan(lines.printed / 4)
})
