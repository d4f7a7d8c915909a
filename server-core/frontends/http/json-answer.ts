/** The JSON part of an answer, whose length the head says: a large one is printed to know that, and what is not kept of it again when it is written. */
import { setImmediate as turn } from 'node:timers/promises'
import { releaseMemory } from '../../release-memory.ts'
import type { JsonPiece } from './json-writer.ts'

/** Bytes, text that is ASCII, or what prints bytes, the same each time. */
export type AnswerPiece = string | Uint8Array | (() => Buffer)

/** So much text is kept from the first printing. Bytes. */
const KEPT_BYTES = 4 * 2 ** 20
/** Others have their turn after so much work. Milliseconds. */
const TURN_MILLISECONDS = 10

export interface MeasuredJson {
  readonly pieces: readonly (string | JsonPiece)[]
  /** Bytes. */
  readonly length: number
  /** No piece is printed when it is written. */
  readonly isPrinted: boolean
}

/** @returns at once where nothing is printed later */
export function measureJson(pieces: readonly (string | JsonPiece)[]): MeasuredJson | Promise<MeasuredJson> {
  let length = 0
  for (const piece of pieces) {
    if (typeof piece === 'function') return measurePrinting(pieces)
    length += piece.length
  }
  return { pieces, length, isPrinted: true }
}

async function measurePrinting(pieces: readonly (string | JsonPiece)[]): Promise<MeasuredJson> {
  const measured: (string | JsonPiece)[] = []
  let length = 0
  for await (const [text, piece] of printInTurns(pieces)) {
    length += text.length
    if (length <= KEPT_BYTES && typeof piece === 'function') measured.push(Buffer.from(text.buffer, text.byteOffset, text.byteLength))
    else {
      measured.push(piece)
      if (typeof piece === 'function') releaseMemory(text)
    }
  }
  return { pieces: measured, length, isPrinted: length <= KEPT_BYTES }
}

/** Prints piece after piece, and lets others have their turn in between. */
export async function * printInTurns<Piece extends AnswerPiece>(pieces: readonly Piece[]): AsyncGenerator<readonly [text: Uint8Array, piece: Piece]> {
  let began = performance.now()
  for (const piece of pieces) {
    yield [typeof piece === 'function' ? piece() : typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, piece]
    if (performance.now() - began < TURN_MILLISECONDS) continue
    await turn()
    began = performance.now()
  }
}
