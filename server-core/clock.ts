/** Time as the core sees it: one steady clock and timers, so that schedulers can be tested with a clock that a test moves by hand. */
export interface Clock {
  /** Steady-clock nanoseconds: the same scale in every thread of the process. */
  now(): number
  /** Milliseconds since the epoch. */
  wallMilliseconds(): number
  /** Calls once after at least `nanoseconds`; returns a function that calls it off. */
  after(nanoseconds: number, callback: () => void): () => void
}

const NANOSECONDS_PER_MILLISECOND = 1e6

/** Nanoseconds of the steady clock (CLOCK_MONOTONIC), comparable between threads. */
export function steadyNanoseconds(): number {
  return Number(process.hrtime.bigint())
}

/**
 * The real clock. Node's timers count whole milliseconds; a wait below one millisecond (queue delays of 100 microseconds are common)
 * turns the event loop until the time has come, which keeps input and output going.
 */
export const systemClock: Clock = {
  now: steadyNanoseconds,
  wallMilliseconds: Date.now,
  after(nanoseconds, callback) {
    const due = steadyNanoseconds() + nanoseconds
    let cancelled = false
    let timer: NodeJS.Timeout | undefined
    let immediate: NodeJS.Immediate | undefined
    const wait = () => {
      if (cancelled) return
      const remaining = due - steadyNanoseconds()
      if (remaining <= 0) callback()
      else if (remaining >= NANOSECONDS_PER_MILLISECOND) timer = setTimeout(wait, Math.min(Math.floor(remaining / NANOSECONDS_PER_MILLISECOND), 0x7fffffff))
      else immediate = setImmediate(wait)
    }
    if (nanoseconds <= 0) immediate = setImmediate(wait)
    else wait()
    return () => {
      cancelled = true
      clearTimeout(timer)
      clearImmediate(immediate)
    }
  },
}
