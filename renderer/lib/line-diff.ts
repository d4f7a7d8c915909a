/** Which lines two texts share: Myers' algorithm on lines. */

/** Lines `aStart..aEnd` of the one text stand in place of `bStart..bEnd` of the other; half-open, 0-based, either may be empty. */
export interface LineChange {
  readonly aStart: number
  readonly aEnd: number
  readonly bStart: number
  readonly bEnd: number
}

/** Beyond this many differing lines the middle is one change: exactness there helps nobody and costs quadratic time. */
const MAXIMUM_DISTANCE = 600

/** Lines with their ends, so that joining them gives the text. */
export function splitLines(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []
}

/** The changes that lead from `a` to `b`, in order. */
export function diffLines(a: readonly string[], b: readonly string[]): LineChange[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const pairs = commonLines(a.slice(start, a.length - end), b.slice(start, b.length - end))
  const changes: LineChange[] = []
  let [aAt, bAt] = [start, start]
  for (const [aIndex, bIndex] of [...pairs.map(([x, y]) => [x + start, y + start] as const), [a.length - end, b.length - end] as const]) {
    if (aIndex > aAt || bIndex > bAt) changes.push({ aStart: aAt, aEnd: aIndex, bStart: bAt, bEnd: bIndex })
    ;[aAt, bAt] = [aIndex + 1, bIndex + 1]
  }
  return changes
}

/** Positions of the lines of a longest common subsequence. */
function commonLines(a: readonly string[], b: readonly string[]): [number, number][] {
  const limit = Math.min(a.length + b.length, MAXIMUM_DISTANCE)
  const furthest = new Map<number, number>([[1, 0]])
  const trace: Map<number, number>[] = []
  for (let distance = 0; distance <= limit; distance++) {
    trace.push(new Map(furthest))
    for (let k = -distance; k <= distance; k += 2) {
      const goesDown = k === -distance || (k !== distance && (furthest.get(k - 1) ?? 0) < (furthest.get(k + 1) ?? 0))
      let x = goesDown ? furthest.get(k + 1) ?? 0 : (furthest.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      furthest.set(k, x)
      if (x >= a.length && x - k >= b.length) return backtrack(trace, a.length, b.length)
    }
  }
  return []
}

function backtrack(trace: readonly Map<number, number>[], aLength: number, bLength: number): [number, number][] {
  const pairs: [number, number][] = []
  let [x, y] = [aLength, bLength]
  for (let distance = trace.length - 1; distance >= 0; distance--) {
    const furthest = trace[distance] ?? new Map<number, number>()
    const k = x - y
    const goesDown = k === -distance || (k !== distance && (furthest.get(k - 1) ?? 0) < (furthest.get(k + 1) ?? 0))
    const previousK = goesDown ? k + 1 : k - 1
    const previousX = furthest.get(previousK) ?? 0
    const previousY = previousX - previousK
    while (x > Math.max(0, previousX) && y > Math.max(0, previousY) && distance >= 0) {
      if (distance > 0 && x === (goesDown ? previousX : previousX + 1)) break
      pairs.push([--x, --y])
    }
    if (distance > 0) [x, y] = [previousX, previousY]
  }
  return pairs.reverse()
}
