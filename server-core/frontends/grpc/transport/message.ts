/** Messages as the transport takes them: the five bytes before each on the wire are its own. */

/** One byte that says whether the message is compressed, four for its length (big-endian). */
export const FRAME_PREFIX_BYTES = 5

/** Both ways, as Triton's: 2 GiB - 1. */
export const MAX_MESSAGE_BYTES = 2_147_483_647

/** One message to be sent. */
export interface OutgoingMessage {
  /** The bytes in order. The first piece begins with FRAME_PREFIX_BYTES bytes that the transport fills. */
  readonly pieces: readonly Uint8Array[]
  /** Of the message, without the prefix. */
  readonly byteLength: number
}

/** A message that lies in one piece. */
export function outgoingMessage(bytes: Uint8Array): OutgoingMessage {
  const frame = Buffer.allocUnsafe(FRAME_PREFIX_BYTES + bytes.byteLength)
  frame.set(bytes, FRAME_PREFIX_BYTES)
  return { pieces: [frame], byteLength: bytes.byteLength }
}
