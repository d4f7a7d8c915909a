import { createHash } from 'node:crypto'
import type { ParameterValue, Tensor } from '../contract/inference.ts'

/** What is kept of a response: all but the id, which is that of the request that asks. */
export interface CachedResponse {
  readonly outputs: readonly Tensor[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
}

/** 'exists': another request with the same inputs was answered first. 'tooLarge': larger than the whole cache. 'closed': the model is gone. */
export type InsertResult = 'inserted' | 'exists' | 'tooLarge' | 'closed'

interface Entry {
  readonly owner: ModelResponseCache
  readonly response: CachedResponse
  readonly byteSize: number
}

/** What an entry and each of its tensors take beside their own bytes (key, map entry, objects), as an estimate for V8. */
const ENTRY_OVERHEAD_BYTES = 512
const TENSOR_OVERHEAD_BYTES = 256
const BYTES_PER_DIM = 8

/**
 * The response cache of the server (`--cache-config=local,size=<bytes>`): one budget shared by all models, the entry that was not asked for
 * the longest leaves first. Entries are copies, and so is what a lookup answers: nobody's later change to a buffer reaches the cache.
 */
export class ResponseCache {
  readonly byteSize: number
  #usedBytes = 0
  /** The one that leaves first comes first. */
  readonly #entries = new Map<string, Entry>()

  constructor(byteSize: number) { this.byteSize = byteSize }

  get usedBytes(): number { return this.#usedBytes }
  get entryCount(): number { return this.#entries.size }

  /** The part of one loaded model version. */
  open(model: string, version: string): ModelResponseCache { return new ModelResponseCache(this, model, version) }

  lookup(key: string): CachedResponse | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return copyOf(entry.response)
  }

  insert(key: string, response: CachedResponse, owner: ModelResponseCache): InsertResult {
    if (this.#entries.has(key)) return 'exists'
    const byteSize = sizeOf(key, response)
    if (byteSize > this.byteSize) return 'tooLarge'
    for (const [oldest, entry] of this.#entries) {
      if (this.#usedBytes + byteSize <= this.byteSize) break
      this.#remove(oldest, entry)
    }
    this.#entries.set(key, { owner, response: copyOf(response), byteSize })
    this.#usedBytes += byteSize
    return 'inserted'
  }

  removeAllOf(owner: ModelResponseCache): void {
    for (const [key, entry] of this.#entries) if (entry.owner === owner) this.#remove(key, entry)
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#usedBytes -= entry.byteSize
  }
}

let openedCount = 0

/**
 * The response cache as one loaded version sees it. A reload is another one: what the version before answered is not served any more,
 * other than in Triton, whose key is the same before and after.
 */
export class ModelResponseCache {
  readonly #cache: ResponseCache
  readonly #prefix: string
  #isClosed = false

  constructor(cache: ResponseCache, model: string, version: string) {
    this.#cache = cache
    this.#prefix = `${++openedCount}\0${model}\0${version}\0`
  }

  /** Model, version, and names and bytes of the inputs in the order of their names; not types, shapes, parameters, id or requested outputs. */
  keyOf(inputs: readonly Tensor[]): string {
    const hash = createHash('sha256').update(this.#prefix)
    for (const { name, data } of [...inputs].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      hash.update(`${Buffer.byteLength(name)}:${data.byteLength}:${name}`).update(data)
    }
    return hash.digest('hex')
  }

  lookup(key: string): CachedResponse | null { return this.#isClosed ? null : this.#cache.lookup(key) }

  insert(key: string, response: CachedResponse): InsertResult { return this.#isClosed ? 'closed' : this.#cache.insert(key, response, this) }

  /** The version ends: its entries leave. */
  close(): void {
    this.#isClosed = true
    this.#cache.removeAllOf(this)
  }
}

function copyOf({ outputs, parameters }: CachedResponse): CachedResponse {
  return {
    outputs: outputs.map(({ name, datatype, shape, data }) => ({ name, datatype, shape: [...shape], data: new Uint8Array(data) })),
    parameters: { ...parameters },
  }
}

function sizeOf(key: string, { outputs, parameters }: CachedResponse): number {
  const tensors = outputs.reduce((sum, { name, shape, data }) => sum + TENSOR_OVERHEAD_BYTES + 2 * name.length + BYTES_PER_DIM * shape.length + data.byteLength, 0)
  const others = Object.entries(parameters).reduce((sum, [name, value]) => sum + TENSOR_OVERHEAD_BYTES + 2 * (name.length + String(value).length), 0)
  return ENTRY_OVERHEAD_BYTES + key.length + tensors + others
}
