/** Lets answers leave in the order in which their requests came (`preserve_ordering`), whichever instance is faster. */
export class ResponseOrder {
  #first: Turn | null = null
  #last: Turn | null = null
  #isDelivering = false

  /**
   * Takes the next place. The function returned hands in an answer of that place: it is delivered as soon as the place is the first one;
   * with the last answer the place is given up. An answer may be handed in while another is being delivered.
   */
  take(): (deliver: () => void, isLast: boolean) => void {
    const turn: Turn = { answers: [], isOver: false, next: null }
    if (this.#last === null) this.#first = turn
    else this.#last.next = turn
    this.#last = turn
    return (deliver, isLast) => {
      turn.answers.push(deliver)
      turn.isOver ||= isLast
      this.#deliver()
    }
  }

  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    try {
      for (let turn = this.#first; turn !== null; turn = this.#first) {
        // What a delivery hands in comes behind, and is seen by the loop.
        for (let deliver = turn.answers.shift(); deliver !== undefined; deliver = turn.answers.shift()) deliver()
        if (!turn.isOver) break
        this.#first = turn.next
        if (this.#first === null) this.#last = null
      }
    } finally {
      this.#isDelivering = false
    }
  }
}

interface Turn {
  readonly answers: (() => void)[]
  isOver: boolean
  next: Turn | null
}
