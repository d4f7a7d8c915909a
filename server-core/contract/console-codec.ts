/** How console messages become WebSocket frames and back; the layout is described in `console-api.ts`. Used by both sides. */

const BYTES_KEY = '$bytes'
const BIGINT_KEY = '$bigint'

/** A text frame where the message holds no bytes, else one binary frame. */
export function encodeConsoleMessage(message: unknown): string | Uint8Array<ArrayBuffer> {
  const chunks: Uint8Array[] = []
  let offset = 0
  const json = JSON.stringify(message, function (this: unknown, key, value: unknown) {
    if (typeof value === 'bigint') return { [BIGINT_KEY]: value.toString() }
    // Not `value`: Node's buffers, which are bytes too, have been printed by their toJSON by now.
    const bytes = (this as Readonly<Record<string, unknown>>)[key]
    if (bytes instanceof Uint8Array) {
      const reference = { [BYTES_KEY]: [offset, bytes.byteLength] }
      chunks.push(bytes)
      offset += bytes.byteLength
      return reference
    }
    return value
  })
  if (chunks.length === 0) return json
  const head = new TextEncoder().encode(json)
  const frame = new Uint8Array(4 + head.byteLength + offset)
  new DataView(frame.buffer).setUint32(0, head.byteLength, true)
  frame.set(head, 4)
  let position = 4 + head.byteLength
  for (const chunk of chunks) {
    frame.set(chunk, position)
    position += chunk.byteLength
  }
  return frame
}

/**
 * The message of a frame. Byte chunks are views on the frame.
 * @throws Error on a frame that is not of this layout
 */
export function decodeConsoleMessage(frame: string | Uint8Array): unknown {
  if (typeof frame === 'string') return JSON.parse(frame, reviver(new Uint8Array(0)))
  if (frame.byteLength < 4) throw new Error('binary console frame is shorter than its length field')
  const headLength = new DataView(frame.buffer, frame.byteOffset, 4).getUint32(0, true)
  if (4 + headLength > frame.byteLength) throw new Error('binary console frame is shorter than its JSON part')
  const json = new TextDecoder('utf-8', { fatal: true }).decode(frame.subarray(4, 4 + headLength))
  return JSON.parse(json, reviver(frame.subarray(4 + headLength)))
}

function reviver(bytes: Uint8Array): (key: string, value: unknown) => unknown {
  return (_key, value) => {
    if (value === null || typeof value !== 'object') return value
    const entry = value as Record<string, unknown>
    const integer = entry[BIGINT_KEY]
    if (typeof integer === 'string') return BigInt(integer)
    const range = entry[BYTES_KEY]
    if (Array.isArray(range)) {
      const [start, length] = range as [unknown, unknown]
      if (!isIndex(start) || !isIndex(length) || start + length > bytes.byteLength) {
        throw new Error('binary console frame names bytes that it does not hold')
      }
      return bytes.subarray(start, start + length)
    }
    return value
  }
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
