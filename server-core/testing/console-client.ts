/** A window's side of the console's socket, for tests: commands and their answers. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { decodeConsoleMessage, encodeConsoleMessage } from '../contract/console-codec.ts'
import type { CommandArguments, CommandResult, ConsoleCommandName, ServerMessage } from '../contract/console-api.ts'

export class ConsoleClient {
  readonly #socket: WebSocket
  #nextId = 1

  private constructor(socket: WebSocket) { this.#socket = socket }

  /** @param token `--console-token` of the server */
  static async open(port: number, token: string): Promise<ConsoleClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/console?token=${token}`)
    await once(socket, 'open')
    return new ConsoleClient(socket)
  }

  /** @throws Error with the server's text */
  async command<K extends ConsoleCommandName>(name: K, args?: CommandArguments<K>): Promise<CommandResult<K>> {
    const id = this.#nextId++
    const answered = new Promise<ServerMessage & { readonly type: 'result' }>((resolve, reject) => {
      const lose = () => { reject(new Error(`the socket was closed before ${name} was answered`)) }
      this.#socket.once('close', lose)
      const listen = (data: Buffer, isBinary: boolean) => {
        const message = decodeConsoleMessage(isBinary ? data : data.toString('utf8')) as ServerMessage
        if (message.type !== 'result' || message.id !== id) return
        this.#socket.off('message', listen).off('close', lose)
        resolve(message)
      }
      this.#socket.on('message', listen)
    })
    this.#socket.send(encodeConsoleMessage({ type: 'command', id, name, args }))
    const result = await answered
    if (!result.ok) throw new Error(result.error.message)
    return result.value as CommandResult<K>
  }

  close(): void { this.#socket.close() }
}
