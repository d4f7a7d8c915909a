import type { InflightRequest } from './inflight-request.ts'

/** Requests by deadline, nearest first, then by arrival. Removal by position, so a dequeued request leaves in O(log n). */
export class DeadlineHeap {
  readonly #items: InflightRequest[] = []

  get nearest(): InflightRequest | undefined { return this.#items[0] }

  add(request: InflightRequest): void {
    request.heapIndex = this.#items.length
    this.#items.push(request)
    this.#up(request.heapIndex)
  }

  remove(request: InflightRequest): void {
    const index = request.heapIndex
    if (index < 0) return
    request.heapIndex = -1
    const last = this.#items.pop()
    if (last === undefined || last === request) return
    this.#place(last, index)
    this.#up(index)
    this.#down(last.heapIndex)
  }

  #place(request: InflightRequest, index: number): void {
    this.#items[index] = request
    request.heapIndex = index
  }

  #up(start: number): void {
    const item = this.#items[start]
    if (item === undefined) return
    let index = start
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#items[parentIndex]
      if (parent === undefined || !isSooner(item, parent)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(item, index)
  }

  #down(start: number): void {
    const item = this.#items[start]
    if (item === undefined) return
    let index = start
    for (;;) {
      let childIndex = 2 * index + 1
      let child = this.#items[childIndex]
      const right = this.#items[childIndex + 1]
      if (child !== undefined && right !== undefined && isSooner(right, child)) {
        child = right
        childIndex++
      }
      if (child === undefined || !isSooner(child, item)) break
      this.#place(child, index)
      index = childIndex
    }
    this.#place(item, index)
  }
}

function isSooner(request: InflightRequest, other: InflightRequest): boolean {
  return request.deadline < other.deadline || (request.deadline === other.deadline && request.arrival < other.arrival)
}
