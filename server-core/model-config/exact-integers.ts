/**
 * 64-bit fields are numbers in `ModelConfig`, which is exact up to 2^53. For the rare value beyond (`18446744073709551615` for "never"),
 * the digits travel beside the rounded number: under a symbol key on the message that holds the field, so that a spread copy keeps them
 * and JSON.stringify does not see them. A stale entry (the number was changed since) is ignored.
 */
import { narrowInteger } from './pbtxt-literals.ts'

const EXACT_INTEGERS = Symbol('exact integers')

interface WithExactIntegers {
  [EXACT_INTEGERS]?: Readonly<Record<string, bigint>>
}

function key(field: string, index: number | undefined): string {
  return index === undefined ? field : `${field}[${index}]`
}

/** The number to store in `field` of `message`; remembers the digits where the number would lose some. */
export function rememberInteger(message: object, field: string, value: bigint | number, index?: number): number {
  if (typeof value === 'number') return value
  const narrow = narrowInteger(value)
  if (typeof narrow === 'number') return narrow
  const holder = message as WithExactIntegers
  holder[EXACT_INTEGERS] = { ...holder[EXACT_INTEGERS], [key(field, index)]: value }
  return Number(value)
}

/** All digits of an integer field whose stored number is `value`. */
export function exactInteger(message: object, field: string, value: number, index?: number): string {
  const exact = (message as WithExactIntegers)[EXACT_INTEGERS]?.[key(field, index)]
  if (exact !== undefined && Number(exact) === value) return exact.toString()
  return Number.isInteger(value) ? BigInt(value).toString() : String(value)
}
