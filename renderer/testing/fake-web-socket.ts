/** A test double of WebSocket: the test plays the server through `open`, `receive`, `drop`, and reads what was sent. */
import { decodeConsoleMessage, encodeConsoleMessage } from '../../server-core/contract/console-codec.ts'
import type { ClientMessage, ServerMessage } from '../../server-core/contract/console-api.ts'

export class FakeWebSocket extends EventTarget {
  binaryType = 'blob'
  readonly address: string
  readonly frames: (string | Uint8Array)[] = []

  constructor(address: string) {
    super()
    this.address = address
  }

  send(frame: string | Uint8Array): void {
    this.frames.push(frame)
  }

  close(): void {
    this.drop()
  }

  get sent(): ClientMessage[] {
    return this.frames.map((frame) => decodeConsoleMessage(frame) as ClientMessage)
  }

  open(): void {
    this.dispatchEvent(new Event('open'))
  }

  drop(): void {
    this.dispatchEvent(new Event('close'))
  }

  receive(message: ServerMessage): void {
    const frame = encodeConsoleMessage(message)
    this.dispatchEvent(new MessageEvent('message', { data: typeof frame === 'string' ? frame : frame.buffer }))
  }

  /** Answers the last command of this name. */
  answer(name: ClientMessage['name'], value: unknown): void {
    const command = this.sent.findLast((message) => message.name === name)
    if (!command) throw new Error(`${name} was not sent`)
    this.receive({ type: 'result', id: command.id, ok: true, value })
  }
}
