/** BYTES tensors: Triton's raw form (4-byte little-endian length before each element) and the strings ONNX Runtime wants. */

/** @returns the elements as strings; bytes that are not UTF-8 become U+FFFD, since ONNX Runtime's strings are UTF-8 here */
export function decodeStrings(data: ArrayBuffer): string[] {
  const view = new DataView(data)
  const decoder = new TextDecoder()
  const strings: string[] = []
  for (let position = 0; position < view.byteLength;) {
    const length = view.getUint32(position, true)
    strings.push(decoder.decode(new Uint8Array(data, position + 4, length)))
    position += 4 + length
  }
  return strings
}

export function encodeStrings(strings: readonly string[]): ArrayBuffer {
  const encoder = new TextEncoder()
  const encoded = strings.map((text) => encoder.encode(text))
  const bytes = new Uint8Array(encoded.reduce((sum, element) => sum + 4 + element.byteLength, 0))
  const view = new DataView(bytes.buffer)
  let position = 0
  for (const element of encoded) {
    view.setUint32(position, element.byteLength, true)
    bytes.set(element, position + 4)
    position += 4 + element.byteLength
  }
  return bytes.buffer
}

/** Byte offset after `count` elements, starting at `start`. */
export function skipStrings(data: Uint8Array, start: number, count: number): number {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let position = start
  for (let element = 0; element < count; element++) position += 4 + view.getUint32(position, true)
  return position
}
