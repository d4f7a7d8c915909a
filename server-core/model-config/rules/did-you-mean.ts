/** The name that was probably meant. Pure. */

/** Edit distance with swaps of neighbours, given up beyond `limit`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_none, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1
      let best = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + cost)
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) best = Math.min(best, (beforeLast[column - 2] ?? 0) + 1)
      current.push(best)
    }
    if (Math.min(...current) > limit && Math.min(...last) > limit) return limit + 1
    beforeLast = last
    last = current
  }
  return last[b.length] ?? limit + 1
}

/** The candidate nearest to `name`, letters' case and `-` or `_` apart first; undefined where none is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  const longest = 200
  if (name.length > longest) return undefined
  const plain = (text: string): string => text.toLowerCase().replace(/(?<=[-_. ])(us|usec|micros)$/, 'microseconds').replaceAll(/[-_. ]/g, '')
  const wanted = plain(name)
  // Of one or two letters nothing but the case may differ: 'A' does not mean 'B'.
  const limit = wanted.length < 3 ? 0 : Math.max(1, Math.floor(wanted.length / 3))
  let best: { candidate: string; away: number } | undefined
  for (const candidate of candidates) {
    if (candidate === name || candidate.length > longest) continue
    const away = distance(wanted, plain(candidate), limit)
    if (away <= limit && away < (best?.away ?? Infinity)) best = { candidate, away }
  }
  return best?.candidate
}
