import type { RequestTrace } from '../../contract/inference.ts'

/** Traces of requests that backend libraries have, and of those that these make: by the number that stands for the trace in the host. */
export class RequestTraces {
  readonly #traces = new Map<number, RequestTrace>()

  begin(id: number, trace: RequestTrace): void { this.#traces.set(id, trace) }

  /** Of a request that a backend makes for one it has. @returns undefined: that one is not traced, or is over */
  child(id: number, parent: number): RequestTrace | undefined {
    const child = this.#traces.get(parent)?.child()
    if (child !== undefined) this.#traces.set(id, child)
    return child
  }

  /** Something that a backend reports by a name of its own. @param nanoseconds of the steady clock */
  activity(id: number, name: string, nanoseconds: number): void { this.#traces.get(id)?.customActivity(name, nanoseconds) }

  end(id: number): void { this.#traces.delete(id) }
}
