/** One load or unload of a model that waits for its turn or runs. */
export interface ModelOperation {
  readonly kind: 'load' | 'unload'
  /** Aborted when a newer operation was asked for: what this one builds is not wanted any more. */
  readonly outdated: AbortSignal
}

interface OpenOperation extends ModelOperation { readonly abort: AbortController }

/** Runs the operations of each model one after another, in the order asked for; different models do not wait for each other. */
export class ModelOperations {
  readonly #tails = new Map<string, Promise<unknown>>()
  readonly #open = new Map<string, Set<OpenOperation>>()
  /** Work on all models at once that runs or waits; what is asked for later waits for it. Never rejects. */
  #gate: Promise<void> | null = null

  /** `outdatesOthers`: loads of the same model that did not finish yet are out-dated by this operation. */
  run<T>(model: string, kind: ModelOperation['kind'], outdatesOthers: boolean, work: (operation: ModelOperation) => Promise<T>): Promise<T> {
    const open = this.#open.get(model) ?? new Set<OpenOperation>()
    this.#open.set(model, open)
    if (outdatesOthers) for (const other of open) other.abort.abort()
    const abort = new AbortController()
    const operation: OpenOperation = { kind, abort, outdated: abort.signal }
    open.add(operation)
    const previous = Promise.all([this.#tails.get(model), this.#gate])
    const result = previous.then(() => work(operation)).finally(() => {
      open.delete(operation)
      if (open.size > 0) return
      this.#open.delete(model)
      this.#tails.delete(model)
    })
    this.#tails.set(model, result.catch(() => {}))
    return result
  }

  /** Runs work that concerns all models: after every operation asked for before it (their loads are out-dated), before every later one. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    this.outdateAll()
    const result = Promise.all([this.#gate, ...this.#tails.values()]).then(work)
    const gate = result.then(() => {}, () => {})
    this.#gate = gate
    try {
      return await result
    } finally {
      if (this.#gate === gate) this.#gate = null
    }
  }

  /** Out-dates every load that did not finish, and waits for all operations. */
  async finishAll(): Promise<void> {
    this.outdateAll()
    while (this.#tails.size > 0 || this.#gate !== null) await Promise.all([this.#gate, ...this.#tails.values()])
  }

  /** Out-dates every load that did not finish, and waits for none. */
  outdateAll(): void {
    for (const open of this.#open.values()) for (const operation of open) operation.abort.abort()
  }
}
