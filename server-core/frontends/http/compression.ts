/** Content-Encoding of requests and responses: gzip and deflate (zlib format), protocol 6.7. Runs on Node's zlib threads. */
import { promisify } from 'node:util'
import { deflate, gunzip, gzip, inflate, constants } from 'node:zlib'
import { ServerError } from '../../server-error.ts'

export type Encoding = 'gzip' | 'deflate'

const gzipAsync = promisify(gzip)
const deflateAsync = promisify(deflate)
const gunzipAsync = promisify(gunzip)
const inflateAsync = promisify(inflate)

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

/**
 * The bytes a compressed body stands for; a broken stream stands for none, as in Triton.
 * @throws ServerError INVALID_ARG when they are more than `limit`.
 */
export async function decompress(body: Buffer, encoding: Encoding, limit: number): Promise<Buffer> {
  const options = { maxOutputLength: limit, finishFlush: constants.Z_SYNC_FLUSH }
  try {
    return await (encoding === 'gzip' ? gunzipAsync(body, options) : inflateAsync(body, options))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ServerError('INVALID_ARG', `Decompressed data size exceeds the maximum allowed value of ${limit} bytes. Use --http-max-input-size to increase the limit.`, { cause: error })
    }
    return Buffer.alloc(0)
  }
}

export function compress(pieces: readonly Uint8Array[], encoding: Encoding): Promise<Buffer> {
  const body = Buffer.concat(pieces)
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
