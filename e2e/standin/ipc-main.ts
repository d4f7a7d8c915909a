/** `ipcMain`: what pages ask and tell. */
import { EventEmitter } from 'node:events'

export interface IpcEvent {
  readonly sender: object
  readonly senderFrame: { readonly url: string; readonly parent: null }
}

type Handler = (event: IpcEvent, ...args: unknown[]) => unknown

export class IpcMain extends EventEmitter {
  private readonly handlers = new Map<string, Handler>()

  handle(channel: string, handler: Handler): void {
    if (this.handlers.has(channel)) throw new Error(`Attempted to register a second handler for '${channel}'`)
    this.handlers.set(channel, handler)
  }

  removeHandler(channel: string): void { this.handlers.delete(channel) }

  /** Rejects with the words that Electron puts around a handler's error. */
  async invoke(channel: string, event: IpcEvent, args: readonly unknown[]): Promise<unknown> {
    const handler = this.handlers.get(channel)
    if (handler === undefined) throw new Error(`Error invoking remote method '${channel}': Error: No handler registered for '${channel}'`)
    try {
      return await handler(event, ...args)
    } catch (error) {
      throw new Error(`Error invoking remote method '${channel}': ${String(error)}`, { cause: error })
    }
  }
}
