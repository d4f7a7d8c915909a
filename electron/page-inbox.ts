/**
 * What main tells the page, kept until the page listens: a page that has just been loaded (or reloaded) gets the latest state, and the
 * actions that were asked for while it was not there.
 */
import type { IpcMain } from 'electron'
import { isTrustedSender } from './desktop-api.ts'
import { LISTENING_CHANNEL } from './ipc-channels.ts'

export class PageInbox {
  readonly #send: (channel: string, value: unknown) => void
  readonly #latest = new Map<string, unknown>()
  readonly #waiting = new Map<string, unknown[]>()
  readonly #listening = new Set<string>()

  constructor(send: (channel: string, value: unknown) => void) {
    this.#send = send
  }

  /** A state: only the last one counts. */
  setLatest(channel: string, value: unknown): void {
    this.#latest.set(channel, value)
    if (this.#listening.has(channel)) this.#send(channel, value)
  }

  /** An action: every one counts, once. */
  post(channel: string, value: unknown): void {
    if (this.#listening.has(channel)) {
      this.#send(channel, value)
      return
    }
    const waiting = this.#waiting.get(channel) ?? []
    this.#waiting.set(channel, [...waiting, value])
  }

  /** A listener was added in the page. */
  pageListens(channel: string): void {
    this.#listening.add(channel)
    if (this.#latest.has(channel)) this.#send(channel, this.#latest.get(channel))
    for (const value of this.#waiting.get(channel) ?? []) this.#send(channel, value)
    this.#waiting.delete(channel)
  }

  /** The page is gone or another one is there: nobody listens until it says so. */
  pageReplaced(): void {
    this.#listening.clear()
  }

  listen(ipcMain: IpcMain): void {
    ipcMain.on(LISTENING_CHANNEL, (event, channel: unknown) => {
      if (isTrustedSender(event) && typeof channel === 'string') this.pageListens(channel)
    })
  }
}
