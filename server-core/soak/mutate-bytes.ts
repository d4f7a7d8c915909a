/** Mutations of requests for fuzzing: the same ones for the same random numbers. */

const INTERESTING = [
  '{', '}', '[', ']', '"', ',', ':', '\\', '\\u', '-', '1e999', '18446744073709551616', '9223372036854775807', '-1', '0', 'null', 'true', '\0', '\xff', '\xff\xff\xff\xff\x0f', '\r\n', '\n', '/', '%2e', '..',
  '__proto__', 'constructor', 'shared_memory_region', 'binary_data_size', 'A'.repeat(300),
]

/** @param random whole numbers below a limit */
export function mutateBytes(bytes: Buffer, random: (limit: number) => number): Buffer {
  let result = bytes
  for (let round = random(3); round >= 0; round--) {
    const at = random(result.length + 1)
    const to = Math.min(result.length, at + random(12))
    switch (random(5)) {
      case 0: result = Buffer.concat([result.subarray(0, at), result.subarray(to)]); break
      case 1: result = Buffer.concat([result.subarray(0, at), Buffer.from(INTERESTING[random(INTERESTING.length)] ?? '', 'latin1'), result.subarray(at)]); break
      case 2: result = Buffer.concat([result.subarray(0, to), result.subarray(at)]); break
      case 3: result = result.subarray(0, at); break
      default: {
        const changed = Buffer.from(result)
        if (at < changed.length) changed[at] = random(256)
        result = changed
      }
    }
  }
  return result
}

/** Pieces of random sizes, at most `limit` of them. */
export function cut(bytes: Buffer, limit: number, random: (limit: number) => number): Buffer[] {
  const pieces: Buffer[] = []
  let from = 0
  while (from < bytes.length && pieces.length < limit - 1) {
    const to = Math.min(bytes.length, from + 1 + random(Math.max(1, bytes.length)))
    pieces.push(bytes.subarray(from, to))
    from = to
  }
  if (from < bytes.length) pieces.push(bytes.subarray(from))
  return pieces
}
