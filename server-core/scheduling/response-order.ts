/** Lets answers leave in the order in which their requests came (`preserve_ordering`), whichever instance is faster. */
export class ResponseOrder {
  #first: Turn | null = null
  #last: Turn | null = null

  /** Takes the next place. The function returned hands in the answer; it is delivered when all before it were. */
  take(): (deliver: () => void) => void {
    const turn: Turn = { deliver: null, next: null }
    if (this.#last === null) this.#first = turn
    else this.#last.next = turn
    this.#last = turn
    return (deliver) => {
      turn.deliver = deliver
      while (this.#first?.deliver) {
        const ready = this.#first
        this.#first = ready.next
        if (this.#first === null) this.#last = null
        ready.deliver?.()
      }
    }
  }
}

interface Turn { deliver: (() => void) | null; next: Turn | null }
