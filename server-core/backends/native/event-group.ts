/** The other end of native/addon/event_group.cc: groups of events as numbers and values. */
import { EVENT, type FlatTensors, type FourTimes, type HostEvent } from './host-events.ts'

/** @param count of the numbers that are meant */
export function readEvents(numbers: Float64Array, count: number, values: readonly unknown[]): HostEvent[] {
  const reader = new EventReader(numbers, values)
  const events: HostEvent[] = []
  while (reader.position < count) events.push(reader.event())
  return events
}

class EventReader {
  position = 0
  readonly #numbers: Float64Array
  readonly #values: readonly unknown[]
  /** Small data of all tensors. */
  readonly #pool: ArrayBuffer | null
  #nextValue = 1

  constructor(numbers: Float64Array, values: readonly unknown[]) {
    this.#numbers = numbers
    this.#values = values
    this.#pool = values[0] as ArrayBuffer | null
  }

  event(): HostEvent {
    const kind = this.#number()
    // It came whole.
    if (kind === 0) return this.#value() as HostEvent
    const token = this.#number()
    if (kind === EVENT.response) return { kind, token, flags: this.#number(), isEmpty: this.#number() === 1, tensors: this.#tensors(), parameters: [] }
    if (kind === EVENT.requestReleased) {
      const flags = this.#number()
      const hasTimes = this.#number() === 1
      const times = this.#times()
      const tensors = this.#tensors()
      return hasTimes ? { kind, token, flags, tensors, times } : { kind, token, flags, tensors }
    }
    if (kind === EVENT.batchStatistics) return { kind, token, batchSize: this.#number(), times: this.#times() }
    if (kind === EVENT.batchExecuted) return { kind, token }
    throw new Error(`an event of kind ${kind} is not sent as numbers: addon and server are of different versions, build both (npm run build)`)
  }

  #number(): number { return this.#numbers[this.position++] ?? NaN }
  #value(): unknown { return this.#values[this.#nextValue++] }
  #times(): FourTimes { return [this.#number(), this.#number(), this.#number(), this.#number()] }

  #data(): Uint8Array {
    const offset = this.#number()
    return offset < 0 || this.#pool === null ? this.#value() as Uint8Array : new Uint8Array(this.#pool, offset, this.#number())
  }

  #tensors(): FlatTensors {
    const flat: FlatTensors = []
    for (let left = this.#number(); left > 0; left--) {
      const datatype = this.#number()
      const shape: number[] = []
      for (let dims = this.#number(); dims > 0; dims--) shape.push(this.#number())
      flat.push(this.#value() as string, datatype, shape, this.#data())
    }
    return flat
  }
}
