/** Reads the protobuf wire format where it lies: bytes and nested messages are views of the message they came in. */

/** Bytes that are no message of the protocol. */
export class ProtobufError extends Error {}

export const WIRE_VARINT = 0
export const WIRE_FIXED64 = 1
export const WIRE_BYTES = 2
export const WIRE_FIXED32 = 5
const WIRE_GROUP_START = 3
const WIRE_GROUP_END = 4
const MAX_GROUP_DEPTH = 100

const TWO_32 = 4_294_967_296

export class ProtobufReader {
  at: number
  readonly end: number
  readonly #bytes: Buffer
  /** High half of the last varint, unsigned. */
  #high = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.at = 0
    this.end = bytes.length
  }

  /** The next field as `number << 3 | wire type`; 0 at the end of the message. @throws ProtobufError */
  tag(): number {
    if (this.at >= this.end) return 0
    const tag = this.varint()
    if (this.#high !== 0 || tag >>> 3 === 0) throw new ProtobufError(`no field has the number of the tag at byte ${this.at}`)
    return tag
  }

  /** Low 32 bits, unsigned; `high` has the others. @throws ProtobufError for more than 10 bytes, or when the message ends inside */
  varint(): number {
    const bytes = this.#bytes
    let at = this.at
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= this.end) throw this.#cutOff()
      const byte = bytes[at++] as number
      if (shift < 28) low |= (byte & 0x7f) << shift
      else if (shift === 28) {
        low |= (byte & 0x0f) << 28
        high = (byte & 0x7f) >> 4
      } else if (shift < 63) high |= (byte & 0x7f) << (shift - 32)
      else high |= (byte & 1) << 31
      if (byte < 0x80) {
        this.at = at
        this.#high = high >>> 0
        return low >>> 0
      }
    }
    throw new ProtobufError(`the number at byte ${this.at} has more than 10 bytes`)
  }

  get high(): number { return this.#high }

  /** Any number but 0 is true, as everywhere in protobuf. */
  bool(): boolean { return this.varint() !== 0 || this.#high !== 0 }

  int64(): bigint { return BigInt.asIntN(64, this.uint64()) }

  uint64(): bigint {
    const low = this.varint()
    return (BigInt(this.#high) << 32n) | BigInt(low)
  }

  /** An int64 as a number: exact up to 2^53, beyond that the nearest one. */
  int64Number(): number {
    const low = this.varint()
    return (this.#high | 0) * TWO_32 + low
  }

  double(): number { return this.#bytes.readDoubleLE(this.#take(8)) }

  /** A view of the next length-delimited bytes. */
  bytes(): Buffer {
    const length = this.#length()
    const from = this.#take(length)
    return this.#bytes.subarray(from, from + length)
  }

  text(): string {
    const length = this.#length()
    const from = this.#take(length)
    return length === 0 ? '' : this.#bytes.toString('utf8', from, from + length)
  }

  /** Passes over a field that is not known. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case WIRE_VARINT: this.varint(); return
      case WIRE_FIXED64: this.#take(8); return
      case WIRE_BYTES: this.#take(this.#length()); return
      case WIRE_FIXED32: this.#take(4); return
      case WIRE_GROUP_START: this.#skipGroup(tag, depth); return
      default: throw new ProtobufError(`the tag before byte ${this.at} has no known wire type`)
    }
  }

  #skipGroup(start: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) throw new ProtobufError(`more than ${MAX_GROUP_DEPTH} groups lie inside each other at byte ${this.at}`)
    for (;;) {
      const tag = this.tag()
      if (tag === 0) throw this.#cutOff()
      if ((tag & 7) !== WIRE_GROUP_END) this.skip(tag, depth + 1)
      else if (tag >>> 3 === start >>> 3) return
      else throw new ProtobufError(`a group ends at byte ${this.at} that did not begin`)
    }
  }

  #length(): number {
    const length = this.varint()
    if (this.#high !== 0) throw this.#cutOff()
    return length
  }

  #take(length: number): number {
    const from = this.at
    if (length > this.end - from) throw this.#cutOff()
    this.at = from + length
    return from
  }

  #cutOff(): ProtobufError { return new ProtobufError(`the message ends at byte ${this.end}, inside a field that began before byte ${this.at}`) }
}
