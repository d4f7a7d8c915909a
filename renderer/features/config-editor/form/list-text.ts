/** Lists as one line of text, as a config writes them: `[ 3, 48, -1 ]`. */
import type { ScalarType } from '../../../../server-core/model-config/config-schema.ts'

export type ListReading<Value> = { readonly values: readonly Value[] } | { readonly problem: 'not-a-number' | 'not-whole' | 'out-of-range' | 'not-a-bool'; readonly part: string }

const RANGES: Readonly<Partial<Record<ScalarType, readonly [bigint, bigint]>>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n], uint32: [0n, 2n ** 32n - 1n], int64: [-(2n ** 63n), 2n ** 63n - 1n], uint64: [0n, 2n ** 64n - 1n],
}

/** Least and greatest number of an integer type; undefined for the others. */
export function rangeOf(scalar: ScalarType): readonly [bigint, bigint] | undefined {
  return RANGES[scalar]
}

export function formatList(values: readonly unknown[]): string {
  return values.length === 0 ? '[ ]' : `[ ${values.join(', ')} ]`
}

/** Brackets may be left out; commas (also full-width ones) and spaces part the items. */
export function listParts(text: string): readonly string[] {
  return text.replace(/^\s*[[【]|[\]】]\s*$/g, '').split(/[\s,，;；]+/).filter((part) => part !== '')
}

/** One number of a type: whole and in range for integers. Beyond 2^53 it is a bigint. */
export function readNumber(text: string, scalar: ScalarType): ListReading<number | bigint> {
  if (scalar === 'float' || scalar === 'double') {
    const value = Number(text)
    return text !== '' && Number.isFinite(value) ? { values: [value] } : { problem: 'not-a-number', part: text }
  }
  if (!/^[+-]?\d+$/.test(text)) return { problem: Number.isFinite(Number(text)) && text !== '' ? 'not-whole' : 'not-a-number', part: text }
  const value = BigInt(text.replace(/^\+/, ''))
  const range = RANGES[scalar]
  if (range !== undefined && (value < range[0] || value > range[1])) return { problem: 'out-of-range', part: text }
  return { values: [Number.isSafeInteger(Number(value)) ? Number(value) : value] }
}

export function readNumberList(text: string, scalar: ScalarType): ListReading<number | bigint> {
  const values: (number | bigint)[] = []
  for (const part of listParts(text)) {
    const reading = readNumber(part, scalar)
    if ('problem' in reading) return reading
    values.push(...reading.values)
  }
  return { values }
}

export function readBooleanList(text: string): ListReading<boolean> {
  const parts = listParts(text)
  const wrong = parts.find((part) => part !== 'true' && part !== 'false')
  return wrong === undefined ? { values: parts.map((part) => part === 'true') } : { problem: 'not-a-bool', part: wrong }
}
