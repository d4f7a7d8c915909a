/** One request and its answer. Knows how replies look on the wire; endpoints say what is in them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ERROR_KINDS } from '../../contract/errors.ts'
import type { ServerError } from '../../server-error.ts'
import { jsonString } from './json-writer.ts'
import type { Route } from './routes.ts'

export type ContentType = 'text/plain' | 'application/json' | 'application/octet-stream'

export class HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly route: Route
  /** Triton's library sends text/plain until the endpoint has set a type. */
  errorContentType: ContentType = 'text/plain'

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

  /** The pieces are written one after another in one system call where possible, never joined. */
  replyPieces(headers: string[], pieces: readonly Uint8Array[], byteLength: number): void {
    const { response } = this
    headers.push('Content-Length', String(byteLength))
    response.writeHead(200, headers)
    if (pieces.length === 1) { response.end(pieces[0]); return }
    response.cork()
    for (const piece of pieces) response.write(piece)
    response.end()
  }

  #reply(status: number, contentType: ContentType, text: string): void {
    if (this.response.headersSent || this.response.destroyed) return
    const body = Buffer.from(text)
    this.response.writeHead(status, ['Content-Type', contentType, 'Content-Length', String(body.length)])
    this.response.end(body)
  }
}

export function errorBody(message: string): string {
  return `{"error":${jsonString(message)}}`
}
