/** A small HTTP client for tests: whole answers as bytes, and a raw connection for what no client library would send. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
}

export interface HttpCall {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** One kept-alive connection, so a test sees whether it survives. */
export class HttpClient {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  /** Local ports used so far: one as long as the connection was kept. */
  readonly localPorts = new Set<number>()

  constructor(port: number) { this.#port = port }

  send(call: HttpCall): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const body = call.body === undefined ? undefined : Buffer.from(call.body)
      const headers = body === undefined ? { ...call.headers } : { 'content-length': String(body.length), ...call.headers }
      const request = httpRequest({
        host: '127.0.0.1', port: this.#port, agent: this.#agent, path: call.path, headers,
        method: call.method ?? (body === undefined ? 'GET' : 'POST'),
      }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => { chunks.push(chunk) })
        response.on('error', reject)
        response.on('end', () => {
          const answer = Buffer.concat(chunks)
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer, text: answer.toString() })
        })
      })
      request.on('socket', (socket) => {
        const note = () => { if (socket.localPort !== undefined) this.localPorts.add(socket.localPort) }
        if (socket.connecting) socket.once('connect', note)
        else note()
      })
      request.on('error', reject)
      request.end(body)
    })
  }

  close(): void { this.#agent.destroy() }
}

/** Bytes to the port, and everything that comes back until `isDone` says enough or the server closes. */
export class RawConnection {
  readonly socket: Socket
  received = Buffer.alloc(0)
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.setNoDelay(true)
    this.socket.on('data', (chunk) => { this.received = Buffer.concat([this.received, chunk]); this.#wake?.() })
    this.socket.on('error', () => { this.#wake?.() })
    this.socket.on('close', () => { this.#isClosed = true; this.#wake?.() })
  }

  write(data: string | Uint8Array): void { this.socket.write(data) }

  /** @returns what arrived; ends early when the server closes the connection */
  async until(isDone: (received: Buffer) => boolean): Promise<Buffer> {
    while (!isDone(this.received) && !this.#isClosed) await new Promise<void>((resolve) => { this.#wake = resolve })
    return this.received
  }

  /** Everything until the server closes the connection. */
  untilClosed(): Promise<Buffer> { return this.until(() => false) }

  close(): void { this.socket.destroy() }
}
