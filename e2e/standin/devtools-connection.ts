/** A small DevTools protocol client: one socket to the browser, flat sessions to its targets. */
import { WebSocket } from 'ws'

export type Parameters = Readonly<Record<string, unknown>>
export type EventListener = (parameters: Record<string, unknown>) => void

interface Reply {
  readonly id?: number
  readonly sessionId?: string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

interface Pending {
  readonly method: string
  resolve(result: Record<string, unknown>): void
  reject(error: Error): void
}

export class DevtoolsConnection {
  private readonly socket: WebSocket
  private readonly pending = new Map<number, Pending>()
  private readonly listeners = new Map<string, EventListener[]>()
  private nextId = 1

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer) => { this.received(JSON.parse(data.toString()) as Reply) })
    socket.on('close', () => { this.closed() })
  }

  static open(url: string): Promise<DevtoolsConnection> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 })
      const connection = new DevtoolsConnection(socket)
      socket.once('open', () => { resolve(connection) })
      socket.once('error', reject)
    })
  }

  send(method: string, params: Parameters = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const id = this.nextId++
    return new Promise((resolve, reject) => {
      this.pending.set(id, { method, resolve, reject })
      this.socket.send(JSON.stringify({ id, method, params, sessionId }))
    })
  }

  /** Events of one session, or of the browser where `sessionId` is undefined. */
  on(method: string, sessionId: string | undefined, listener: EventListener): void {
    const key = `${sessionId ?? ''} ${method}`
    this.listeners.set(key, [...this.listeners.get(key) ?? [], listener])
  }

  close(): void {
    this.socket.close()
  }

  private received(reply: Reply): void {
    if (reply.id === undefined) {
      for (const listener of this.listeners.get(`${reply.sessionId ?? ''} ${reply.method ?? ''}`) ?? []) listener(reply.params ?? {})
      return
    }
    const pending = this.pending.get(reply.id)
    this.pending.delete(reply.id)
    if (reply.error) pending?.reject(new Error(`${pending.method}: ${reply.error.message}`))
    else pending?.resolve(reply.result ?? {})
  }

  private closed(): void {
    for (const { method, reject } of this.pending.values()) reject(new Error(`${method}: the browser is gone`))
    this.pending.clear()
  }
}
