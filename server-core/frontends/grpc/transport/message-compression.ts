/** Message compression: gzip and deflate of requests, and of the answers to inference where `--grpc-infer-response-compression-level` asks for it. */
import { deflate, gunzip, gzip, inflate } from 'node:zlib'
import { promisify } from 'node:util'
import { FRAME_PREFIX_BYTES, MAX_MESSAGE_BYTES, type OutgoingMessage } from './message.ts'

export const COMPRESSION_LEVELS = ['none', 'low', 'medium', 'high'] as const
export type CompressionLevel = (typeof COMPRESSION_LEVELS)[number]

export type MessageEncoding = 'gzip' | 'deflate'

/** What this end can read, as its peer is told. */
export const ACCEPTED_ENCODINGS = 'identity, deflate, gzip'

const decompressors = { gzip: promisify(gunzip), deflate: promisify(inflate) }
const compressors = { gzip: promisify(gzip), deflate: promisify(deflate) }

export function isMessageEncoding(name: string): name is MessageEncoding { return name === 'gzip' || name === 'deflate' }

/** @param maxBytes of the message that comes out @throws Error: no stream of that encoding, or larger than that */
export function decompress(bytes: Buffer, encoding: MessageEncoding, maxBytes: number = MAX_MESSAGE_BYTES): Promise<Buffer> {
  return decompressors[encoding](bytes, { maxOutputLength: maxBytes })
}

/** What a message becomes when compressed; null: it would not get smaller. */
export async function compress(message: OutgoingMessage, encoding: MessageEncoding): Promise<OutgoingMessage | null> {
  const [first, ...more] = message.pieces
  if (first === undefined) return null
  const compressed = await compressors[encoding](Buffer.concat([first.subarray(FRAME_PREFIX_BYTES), ...more]))
  if (compressed.byteLength >= message.byteLength) return null
  return { pieces: [Buffer.allocUnsafe(FRAME_PREFIX_BYTES), compressed], byteLength: compressed.byteLength }
}

/**
 * The encoding of a level for a client that reads these (`grpc-accept-encoding`), chosen as tritonserver's library does: of gzip and deflate, as far as the
 * client reads them, low is the first, medium the middle and high the last.
 */
export function encodingForLevel(level: CompressionLevel, acceptEncoding: string): MessageEncoding | null {
  if (level === 'none') return null
  const accepted = new Set(acceptEncoding.split(',').map((name) => name.trim()))
  const known = (['gzip', 'deflate'] as const).filter((name) => accepted.has(name))
  const index = { low: 0, medium: Math.floor(known.length / 2), high: known.length - 1 }[level]
  return known[index] ?? null
}
