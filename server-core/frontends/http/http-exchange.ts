/** One request and its answer. Knows how replies look on the wire; endpoints say what is in them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ERROR_KINDS } from '../../contract/errors.ts'
import { releaseMemory } from '../../release-memory.ts'
import type { ServerError } from '../../server-error.ts'
import { type AnswerPiece, printInTurns } from './json-answer.ts'
import { jsonString } from './json-writer.ts'
import type { BodyCollector } from './request-body.ts'
import type { Route } from './routes.ts'

export type ContentType = 'text/plain' | 'application/json' | 'application/octet-stream'

/**
 * Node joins a head and a Latin-1 text into one string and writes it without allocating; pieces of bytes cost a vector of buffers and a request object
 * a write. Beyond what its stack buffer takes (16 KiB with the head) the copy would cost more.
 */
const SMALL_BODY_BYTES = 8192

export class HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly route: Route
  /** Triton's library sends text/plain until the endpoint has set a type. */
  errorContentType: ContentType = 'text/plain'
  /** Its body while that arrives. */
  upload: BodyCollector | null = null
  /** Called when the client is gone before its answer was written whole. */
  onGone: (() => void) | null = null

  constructor(request: IncomingMessage, response: ServerResponse, route: Route) {
    this.request = request
    this.response = response
    this.route = route
  }

  /** A header's value; undefined where it was not sent. */
  header(name: string): string | undefined {
    const value = this.request.headers[name]
    return typeof value === 'string' ? value : value?.[0]
  }

  /** Every header as it was sent: names in their case, values as Latin-1 bytes. */
  * rawHeaders(): Generator<readonly [name: string, value: string]> {
    const { rawHeaders } = this.request
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) yield [rawHeaders[i] as string, rawHeaders[i + 1] as string]
  }

  replyEmpty(status: number, contentType: ContentType): void {
    this.response.writeHead(status, ['Content-Type', contentType, 'Content-Length', '0'])
    this.response.end()
  }

  replyJson(value: unknown): void {
    this.replyJsonText(JSON.stringify(value))
  }

  replyJsonText(text: string): void {
    this.#reply(200, 'application/json', text)
  }

  /** An error of the protocol itself (404, 405, 403). */
  replyRefusal(status: number, message: string): void {
    this.#reply(status, 'text/plain', errorBody(message))
  }

  replyError(error: ServerError): void {
    this.#reply(ERROR_KINDS[error.kind].httpStatus, this.errorContentType, errorBody(error.message))
  }

  /**
   * Large pieces are written one after another in one system call where possible, never joined; small ones leave as one text together with the head.
   * @param pieces bytes, or ASCII
   */
  replyPieces(headers: string[], pieces: readonly (string | Uint8Array)[], byteLength: number): void {
    const { response } = this
    headers.push('Content-Length', String(byteLength))
    response.writeHead(200, headers)
    if (byteLength <= SMALL_BODY_BYTES) { response.end(latin1Of(pieces), 'latin1'); return }
    if (pieces.length === 1) { response.end(pieces[0], 'latin1'); return }
    response.cork()
    for (const piece of pieces) response.write(piece, 'latin1')
    response.end()
  }

  /**
   * As `replyPieces`, where pieces are printed when they are written: the next when the system has taken what was before it. Nothing is written to a client
   * that is gone.
   */
  async replyPrinting(headers: string[], pieces: readonly AnswerPiece[], byteLength: number): Promise<void> {
    const { response } = this
    if (response.destroyed) return
    headers.push('Content-Length', String(byteLength))
    response.writeHead(200, headers)
    await writePrinting(response, pieces)
    if (!response.destroyed) response.end()
  }

  #reply(status: number, contentType: ContentType, text: string): void {
    if (this.response.headersSent || this.response.destroyed) return
    this.response.writeHead(status, ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(text))])
    this.response.end(text)
  }
}

/** Writes pieces that are printed for it, the next when the system has taken what was before it. Stops where the client is gone. */
export async function writePrinting(response: ServerResponse, pieces: readonly AnswerPiece[]): Promise<void> {
  for await (const [text, piece] of printInTurns(pieces)) {
    if (response.destroyed) return
    const isTaken = typeof piece === 'function' ? response.write(text, () => { releaseMemory(text) }) : response.write(text)
    if (!isTaken) await untilDrained(response)
  }
}

/** The client has read what was written, or is gone. */
export function untilDrained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) { resolve(); return }
    const proceed = () => {
      response.removeListener('drain', proceed)
      response.removeListener('close', proceed)
      resolve()
    }
    response.once('drain', proceed)
    response.once('close', proceed)
  })
}

/** Bytes as the text that Latin-1 makes of them, which is written as these bytes again. */
function latin1Of(pieces: readonly (string | Uint8Array)[]): string {
  let text = ''
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece
    // A copy: the memory of a small array is made only when somebody asks for it, which costs more.
    else text += (Buffer.isBuffer(piece) ? piece : Buffer.from(piece)).toString('latin1')
  }
  return text
}

export function errorBody(message: string): string {
  return `{"error":${jsonString(message)}}`
}
