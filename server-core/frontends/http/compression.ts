/** Content-Encoding of requests and responses: gzip and deflate (zlib format), protocol 6.7. Runs on Node's zlib threads. */
import { promisify } from 'node:util'
import { deflate, gzip } from 'node:zlib'
import { ServerError } from '../../server-error.ts'

export type Encoding = 'gzip' | 'deflate'

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

/** @param pieces bytes, or ASCII */
export function compress(pieces: readonly (string | Uint8Array)[], encoding: Encoding): Promise<Buffer> {
  const body = Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)))
  return encoding === 'gzip' ? gzipAsync(body) : deflateAsync(body)
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
