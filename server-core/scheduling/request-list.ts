import type { InflightRequest } from './inflight-request.ts'

/** A first-in first-out list threaded through the requests themselves: append, remove from anywhere and take are O(1). */
export class RequestList {
  head: InflightRequest | null = null
  tail: InflightRequest | null = null
  size = 0

  append(request: InflightRequest): void {
    request.list = this
    request.previous = this.tail
    request.next = null
    if (this.tail === null) this.head = request
    else this.tail.next = request
    this.tail = request
    this.size++
  }

  remove(request: InflightRequest): void {
    if (request.list !== this) throw new Error('request is not in this list')
    if (request.previous === null) this.head = request.next
    else request.previous.next = request.next
    if (request.next === null) this.tail = request.previous
    else request.next.previous = request.previous
    request.list = null
    request.previous = null
    request.next = null
    this.size--
  }
}
