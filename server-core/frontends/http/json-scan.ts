/** Reading JSON text byte by byte: the parts that both the syntax check and the readers use. Except for `skipSpace` the text must be checked. */

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const MINUS = 0x2d
export const DOT = 0x2e
export const ZERO = 0x30
export const NINE = 0x39
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at
    at++
  }
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

/** Offset after the closing quote; the text was checked. */
export function stringEnd(bytes: Uint8Array, at: number): number {
  let offset = at + 1
  for (;;) {
    const byte = bytes[offset++]
    if (byte === QUOTE) return offset
    if (byte === BACKSLASH) offset++
  }
}

/** Offset after a number or word; the text was checked. */
export function scalarEnd(bytes: Uint8Array, at: number): number {
  let offset = at
  for (;;) {
    const byte = bytes[offset]
    if (byte === undefined || byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT || byte <= 0x20) return offset
    offset++
  }
}

/** The byte that `\<escape>` stands for; 0: no such escape. */
export function simpleEscape(escape: number): number {
  switch (escape) {
    case QUOTE: case BACKSLASH: case 0x2f: return escape
    case 0x62: return 0x08
    case 0x66: return 0x0c
    case 0x6e: return 0x0a
    case 0x72: return 0x0d
    case 0x74: return 0x09
    default: return 0
  }
}

export function hex4(bytes: Uint8Array, at: number): number {
  let code = 0
  for (let i = at; i < at + 4; i++) {
    const byte = bytes[i] ?? 0
    const digit = byte >= ZERO && byte <= NINE ? byte - ZERO : byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : byte >= 0x41 && byte <= 0x46 ? byte - 0x37 : -1
    if (digit < 0) return -1
    code = code * 16 + digit
  }
  return code
}
