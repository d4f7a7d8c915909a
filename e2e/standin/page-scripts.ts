/**
 * What runs inside the page: the preload in an isolated world of its own, and the main world's half of contextBridge. Both worlds share
 * the DOM only, so calls cross as DOM events, whose details Chromium clones. The two functions below are sent as source text: they may
 * use nothing from outside themselves.
 */

export const ISOLATED_WORLD = 'Electron Isolated Context'
/** Function that only the isolated world has: takes a JSON message for main. */
export const BINDING = '__standinToMain'
/** Function in the isolated world that takes a JSON message from main. */
export const RECEIVER = '__standinFromMain'

export type MessageToMain =
  | { readonly kind: 'invoke'; readonly id: number; readonly channel: string; readonly args: readonly unknown[] }
  | { readonly kind: 'send'; readonly channel: string; readonly args: readonly unknown[] }
  /** window.open(), which is always denied. */
  | { readonly kind: 'open'; readonly url: string }

export type MessageFromMain =
  | { readonly kind: 'reply'; readonly id: number; readonly value?: unknown; readonly error?: string }
  | { readonly kind: 'event'; readonly channel: string; readonly args: readonly unknown[] }

/** Scripts for the start of every document, main world first. */
export function mainWorldScript(): string {
  return `if (window === window.top) (${mainWorld.toString()})();`
}

export function isolatedWorldScript(preloadSource: string): string {
  return `if (window === window.top) (${isolatedWorld.toString()})(${JSON.stringify(BINDING)}, ${JSON.stringify(RECEIVER)}, function (require, module, exports) {\n${preloadSource}\n});`
}

type Wire = { readonly fn: number } | { readonly promise: number } | { readonly error: string } | { readonly value: unknown }

function mainWorld(): void {
  const functions: ((...args: unknown[]) => unknown)[] = []
  const promises = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()

  function toWire(value: unknown): Wire {
    if (typeof value !== 'function') return { value }
    functions.push(value as (...args: unknown[]) => unknown)
    return { fn: functions.length - 1 }
  }

  function fromWire(wire: Wire): unknown {
    if ('fn' in wire) return Object.freeze((...args: unknown[]) => call(wire.fn, args))
    if ('promise' in wire) return new Promise((resolve, reject) => { promises.set(wire.promise, { resolve, reject }) })
    if ('error' in wire) throw new Error(wire.error)
    return wire.value
  }

  /** The isolated world answers while the event is dispatched. */
  function call(fn: number, args: unknown[]): unknown {
    let answer: Wire = { error: 'The preload did not answer.' }
    const take = (event: Event) => { answer = (event as CustomEvent<Wire>).detail }
    document.addEventListener('standin:answer', take, { once: true })
    document.dispatchEvent(new CustomEvent('standin:call', { detail: { fn, args: args.map(toWire) } }))
    document.removeEventListener('standin:answer', take)
    return fromWire(answer)
  }

  document.addEventListener('standin:expose', (event) => {
    const { key, api } = (event as CustomEvent<{ key: string; api: Record<string, Wire> }>).detail
    const exposed = Object.fromEntries(Object.entries(api).map(([name, wire]) => [name, fromWire(wire)]))
    Object.defineProperty(window, key, { value: Object.freeze(exposed), writable: false, configurable: false, enumerable: true })
  })
  document.addEventListener('standin:settle', (event) => {
    const { promise, outcome } = (event as CustomEvent<{ promise: number; outcome: Wire }>).detail
    const waiting = promises.get(promise)
    promises.delete(promise)
    if ('error' in outcome) waiting?.reject(new Error(outcome.error))
    else waiting?.resolve(fromWire(outcome))
  })
  document.addEventListener('standin:callback', (event) => {
    const { fn, args } = (event as CustomEvent<{ fn: number; args: Wire[] }>).detail
    functions[fn]?.(...args.map(fromWire))
  })
  window.open = (url) => {
    document.dispatchEvent(new CustomEvent('standin:open', { detail: new URL(String(url ?? 'about:blank'), document.baseURI).href }))
    return null
  }
  document.dispatchEvent(new CustomEvent('standin:hello'))
}

function isolatedWorld(binding: string, receiver: string, preload: (require: (name: string) => unknown, module: object, exports: object) => void): void {
  type Callback = (...args: unknown[]) => unknown
  const world = globalThis as unknown as Record<string, (message: string) => void>
  const functions: Callback[] = []
  const replies = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  const listeners = new Map<string, Callback[]>()
  const exposures: { key: string; api: Record<string, Wire> }[] = []
  let nextId = 1

  function toWire(value: unknown): Wire {
    if (typeof value === 'function') {
      functions.push(value as Callback)
      return { fn: functions.length - 1 }
    }
    if (value instanceof Promise) {
      const promise = nextId++
      const settle = (outcome: Wire) => { document.dispatchEvent(new CustomEvent('standin:settle', { detail: { promise, outcome } })) }
      value.then((result) => { settle(toWire(result)) }, (error: unknown) => { settle({ error: error instanceof Error ? error.message : String(error) }) })
      return { promise }
    }
    return { value }
  }

  function fromWire(wire: Wire): unknown {
    if ('fn' in wire) return (...args: unknown[]) => { document.dispatchEvent(new CustomEvent('standin:callback', { detail: { fn: wire.fn, args: args.map(toWire) } })) }
    return 'value' in wire ? wire.value : undefined
  }

  document.addEventListener('standin:call', (event) => {
    const { fn, args } = (event as CustomEvent<{ fn: number; args: Wire[] }>).detail
    let answer: Wire
    try {
      answer = toWire(functions[fn]?.(...args.map(fromWire)))
    } catch (error) {
      answer = { error: error instanceof Error ? error.message : String(error) }
    }
    document.dispatchEvent(new CustomEvent('standin:answer', { detail: answer }))
  })
  const expose = (exposure: { key: string; api: Record<string, Wire> }) => { document.dispatchEvent(new CustomEvent('standin:expose', { detail: exposure })) }
  // Whichever world starts first: the main world's greeting finds what was exposed before it listened.
  document.addEventListener('standin:hello', () => { exposures.forEach(expose) })

  const post = (message: object) => { world[binding]?.(JSON.stringify(message)) }
  document.addEventListener('standin:open', (event) => { post({ kind: 'open', url: (event as CustomEvent<string>).detail }) })
  world[receiver] = (text) => {
    const message = JSON.parse(text) as { kind: string; id: number; channel: string; value: unknown; error?: string; args: unknown[] }
    if (message.kind === 'event') {
      for (const listener of [...listeners.get(message.channel) ?? []]) listener({ sender: null }, ...message.args)
      return
    }
    const reply = replies.get(message.id)
    replies.delete(message.id)
    if (message.error !== undefined) reply?.reject(new Error(message.error))
    else reply?.resolve(message.value)
  }

  const electron = {
    ipcRenderer: {
      invoke: (channel: string, ...args: unknown[]) => new Promise((resolve, reject) => {
        const id = nextId++
        replies.set(id, { resolve, reject })
        post({ kind: 'invoke', id, channel, args })
      }),
      send: (channel: string, ...args: unknown[]) => { post({ kind: 'send', channel, args }) },
      on: (channel: string, listener: Callback) => { listeners.set(channel, [...listeners.get(channel) ?? [], listener]) },
      removeListener: (channel: string, listener: Callback) => {
        listeners.set(channel, (listeners.get(channel) ?? []).filter((entry) => entry !== listener))
      },
    },
    webUtils: {
      // Chromium tells no page where a file lies: a test says it on the root element, as JSON from file name to path. Otherwise '', as for
      // a file that a page made.
      getPathForFile: (file: File) => (JSON.parse(document.documentElement.dataset['standinPaths'] ?? '{}') as Record<string, string>)[file.name] ?? '',
    },
    contextBridge: {
      exposeInMainWorld: (key: string, api: Record<string, unknown>) => {
        const exposure = { key, api: Object.fromEntries(Object.entries(api).map(([name, value]) => [name, toWire(value)])) }
        exposures.push(exposure)
        expose(exposure)
      },
    },
  }
  const require = (name: string) => {
    if (name === 'electron') return electron
    throw new Error(`A sandboxed preload cannot require '${name}' in the stand-in.`)
  }
  const module = { exports: {} }
  preload(require, module, module.exports)
}
