import type { ServerSample } from '../contract/statistics.ts'

/**
 * The samples of the last while, oldest first. They are kept as text, a fifth of what they take as objects: most of a sample are sparse counts, each an object of its own,
 * and an hour of a server with dozens of models has a hundred thousand of them.
 */
export class SampleHistory {
  readonly #capacity: number
  readonly #kept: { readonly time: number; readonly text: string }[] = []

  /** @param capacity samples kept at most */
  constructor(capacity: number) { this.#capacity = capacity }

  add(sample: ServerSample): void {
    this.#kept.push({ time: sample.time, text: JSON.stringify(sample) })
    if (this.#kept.length > this.#capacity) this.#kept.shift()
  }

  /** @param from milliseconds since the epoch; samples of a later time are meant */
  after(from: number): ServerSample[] {
    return this.#kept.filter(({ time }) => time > from).map(({ text }) => JSON.parse(text) as ServerSample)
  }
}
