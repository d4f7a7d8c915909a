/** First in, first out, both ends O(1) (amortised): an array whose consumed front is cut off now and then. */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number { return this.#items.length - this.#head }

  get first(): T | undefined { return this.#items[this.#head] }

  push(item: T): void { this.#items.push(item) }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length || this.#head * 2 > this.#items.length + 1024) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Takes out those that are not wanted; the others stay in order. O(length). */
  keep(isWanted: (item: T) => boolean): void {
    this.#items = (this.#items.slice(this.#head) as T[]).filter(isWanted)
    this.#head = 0
  }

  takeAll(): T[] {
    const all = this.#items.slice(this.#head) as T[]
    this.#items = []
    this.#head = 0
    return all
  }
}
