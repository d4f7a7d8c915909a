/** Content-Encoding of requests and responses: gzip and deflate (zlib format), protocol 6.7. Runs on Node's zlib threads. */
import { promisify } from 'node:util'
import { finished } from 'node:stream/promises'
import { createDeflate, createGzip, deflate, gzip } from 'node:zlib'
import { releaseMemory } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import { type AnswerPiece, printInTurns } from './json-answer.ts'

export type Encoding = 'gzip' | 'deflate'

/** Answers of few and small pieces are compressed in one go. Bytes. */
const COMPRESSED_AT_ONCE = 131_072
const FEW_PIECES = 8

const gzipAsync = promisify(gzip)
const deflateAsync = promisify(deflate)

export class UnsupportedEncodingError extends ServerError {
  constructor() { super('UNSUPPORTED', 'Unsupported compression type') }
}

/** @throws UnsupportedEncodingError (501) */
export function requestEncoding(header: string | undefined): Encoding | undefined {
  switch (header) {
    case undefined: case '': case 'identity': return undefined
    case 'gzip': case 'deflate': return header
    default: throw new UnsupportedEncodingError()
  }
}

export interface CompressedPieces {
  readonly pieces: readonly Uint8Array[]
  /** Bytes of the pieces. */
  readonly byteLength: number
  /** Bytes of what they stand for. */
  readonly plainLength: number
}

/** Compresses an answer: the whole of a small one at once, a large one piece by piece, as its parts are printed. */
export async function compress(pieces: readonly AnswerPiece[], encoding: Encoding): Promise<CompressedPieces> {
  if (pieces.every((piece) => typeof piece !== 'function' && piece.length <= COMPRESSED_AT_ONCE) && pieces.length < FEW_PIECES) {
    const plain = Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece as Uint8Array)))
    const body = await (encoding === 'gzip' ? gzipAsync(plain) : deflateAsync(plain))
    return { pieces: [body], byteLength: body.length, plainLength: plain.length }
  }
  const compressed: Buffer[] = []
  let byteLength = 0
  let plainLength = 0
  const stream = encoding === 'gzip' ? createGzip() : createDeflate()
  stream.on('data', (piece: Buffer) => {
    compressed.push(piece)
    byteLength += piece.length
  })
  const ended = finished(stream)
  for await (const [text, piece] of printInTurns(pieces)) {
    plainLength += text.length
    await Promise.race([ended, new Promise<void>((resolve) => { stream.write(text, () => { resolve() }) })])
    if (typeof piece === 'function') releaseMemory(text)
  }
  stream.end()
  await ended
  return { pieces: compressed, byteLength, plainLength }
}

/** The encoding with the highest weight in `Accept-Encoding`; the first wins on ties; unknown names are ignored. */
export function acceptedEncoding(header: string | undefined): Encoding | undefined {
  if (header === undefined) return undefined
  let best: string | undefined
  let bestWeight = 0
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';')
    const encoding = name.trim()
    if (encoding !== 'gzip' && encoding !== 'deflate' && encoding !== 'identity') continue
    const quality = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('q='))
    const weight = quality === undefined ? 1 : Number(quality.slice(2))
    if (weight > bestWeight) { best = encoding; bestWeight = weight }
  }
  return best === 'gzip' || best === 'deflate' ? best : undefined
}
