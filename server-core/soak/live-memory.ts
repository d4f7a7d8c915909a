import { once } from 'node:events'
import { WebSocket } from 'ws'

/** Flags for Node, with which a process can be asked by `LiveMemory`. */
export const INSPECTABLE = '--inspect=127.0.0.1:0'

/** What a process still holds after a collection, asked of V8's inspector: what it merely has not given back yet does not count. */
export class LiveMemory implements Disposable {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void }>()
  #lastId = 0

  /**
   * @param output what a process started with `INSPECTABLE` wrote so far
   * @throws Error where it does not say where its inspector listens
   */
  static async connect(output: string): Promise<LiveMemory> {
    const url = /Debugger listening on (ws:\/\/\S+)/.exec(output)?.[1]
    if (url === undefined) throw new Error(`the process does not say where its inspector listens: start it with ${INSPECTABLE}. It wrote:\n${output}`)
    const socket = new WebSocket(url)
    await once(socket, 'open')
    return new LiveMemory(socket)
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer) => {
      const { id, result, error } = JSON.parse(data.toString('utf8')) as { id?: number; result?: unknown; error?: { message: string } }
      const waiting = id === undefined ? undefined : this.#waiting.get(id)
      if (id === undefined || waiting === undefined) return
      this.#waiting.delete(id)
      if (error === undefined) waiting.resolve(result)
      else waiting.reject(new Error(`the inspector refused: ${error.message}`))
    })
    const lost = () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the inspector is gone, and the process with it'))
      this.#waiting.clear()
    }
    socket.on('error', lost)
    socket.on('close', lost)
  }

  /** @returns bytes of objects and of the memory of buffers, after a collection of both generations */
  async read(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage')
    const { usedSize, backingStorageSize } = await this.#call('Runtime.getHeapUsage') as { usedSize: number; backingStorageSize: number }
    return usedSize + backingStorageSize
  }

  [Symbol.dispose](): void { this.#socket.close() }

  #call(method: string): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#socket.send(JSON.stringify({ id, method }))
    })
  }
}
