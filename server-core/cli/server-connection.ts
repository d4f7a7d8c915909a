/** Commands that speak to a running server: this one or any other that knows Triton's HTTP protocol. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text as readAll } from 'node:stream/consumers'
import { ServerError } from '../server-error.ts'

/** Where servers listen unless told otherwise. */
export const DEFAULT_SERVER = 'http://127.0.0.1:8000'

export class ServerConnection {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  /**
   * @param address `http://host:port` with any path before `/v2`, or `host:port`
   * @param headers sent with every call, as `Name:Value`: for APIs that the server restricts
   * @throws ServerError INVALID_ARG
   */
  constructor(address: string, headers: readonly string[] = []) {
    const url = URL.parse(/^https?:\/\//.test(address) ? address : `http://${address}`)
    if (url === null || url.search !== '' || url.hash !== '') throw new ServerError('INVALID_ARG', `--server expects an address like ${DEFAULT_SERVER}, got: ${address}`)
    this.#base = url.href.replace(/\/+$/, '')
    this.#headers = Object.fromEntries(headers.map((header) => {
      const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(header) ?? []
      if (name === undefined || value === undefined) throw new ServerError('INVALID_ARG', `--header expects Name:Value, got: ${header}`)
      return [name, value]
    }))
  }

  /**
   * @param path from `/v2` on
   * @returns the JSON document that the server answers with, null where the answer is empty
   * @throws ServerError with the server's own text, or that says why there is none
   */
  async call(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { status, text } = await this.#send(method, path, body)
    const document = documentIn(text)
    if (status >= 200 && status < 300) {
      if (document === undefined) throw new ServerError('INTERNAL', `${this.#base}${path} answered with something else than JSON: is a Triton-compatible server there?`)
      return document
    }
    const said = typeof document === 'object' && document !== null && 'error' in document && typeof document.error === 'string' ? document.error : null
    if (said === null) throw new ServerError('UNAVAILABLE', `${this.#base}${path} answered with status ${status}: is a Triton-compatible server there?`)
    throw new ServerError(status === 404 ? 'NOT_FOUND' : status < 500 ? 'INVALID_ARG' : 'UNAVAILABLE', said)
  }

  /** Without a limit in time: loads take minutes, and fetch gives up after five. */
  async #send(method: string, path: string, body: object | undefined): Promise<{ readonly status: number; readonly text: string }> {
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    try {
      const send = this.#base.startsWith('https:') ? httpsRequest : httpRequest
      const request = send(`${this.#base}${path}`, {
        method, headers: { ...this.#headers, ...(content === undefined ? {} : { 'content-type': 'application/json', 'content-length': content.length }) },
      })
      request.end(content)
      const [response] = await once(request, 'response') as [IncomingMessage]
      return { status: response.statusCode ?? 0, text: await readAll(response) }
    } catch (cause) {
      throw new ServerError('UNAVAILABLE', `no answer from ${this.#base} (${reasonOf(cause)}): start a server with npu-console serve, or name it with --server=http://HOST:PORT`, { cause })
    }
  }
}

/** @returns undefined where the text is no JSON, null where there is none */
function documentIn(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'there is no host of this name'
  return error instanceof Error && error.message !== '' ? error.message : String(code)
}
