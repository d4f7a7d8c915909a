import { describe, expect, it } from 'vitest'
import { steadyNanoseconds, systemClock } from './clock.ts'

const wait = (nanoseconds: number) => new Promise<number>((resolve) => {
  const started = steadyNanoseconds()
  systemClock.after(nanoseconds, () => { resolve(steadyNanoseconds() - started) })
})

describe('systemClock.after', () => {
  it.each([0, 50_000, 900_000, 2_500_000])('calls after at least %i ns', async (nanoseconds) => {
    expect(await wait(nanoseconds)).toBeGreaterThanOrEqual(nanoseconds)
  })

  it('does not call what was called off', async () => {
    let calls = 0
    for (const nanoseconds of [0, 50_000, 1_500_000]) systemClock.after(nanoseconds, () => { calls++ })()
    await wait(4_000_000)
    expect(calls).toBe(0)
  })
})
