/** One call: messages of the client in, messages and one status out, over one HTTP/2 stream. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { timerMilliseconds } from '../../frontend.ts'
import type { BufferPool } from '../../buffer-pool.ts'
import { FRAME_PREFIX_BYTES, MAX_MESSAGE_BYTES, type OutgoingMessage } from './message.ts'
import { ACCEPTED_ENCODINGS, compress, decompress, isMessageEncoding, type MessageEncoding } from './message-compression.ts'
import { MessageReader, MessageTooLargeError } from './message-reader.ts'
import { GRPC_STATUS, type GrpcStatus, statusTrailers } from './grpc-status.ts'

/** What whoever answers a call hears of it. */
export interface CallListener {
  /** A whole message, decompressed. */
  message(bytes: Buffer): void
  /** The client sends no more messages. Not when the call was cancelled. */
  halfClosed(): void
  /** Nobody waits for an answer any more: the client cancelled or went away, or its deadline passed. At most once, and not after `end`. */
  cancelled(): void
}

export type Flushed = (isRead: boolean) => void

const TIMEOUT_UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 }

export class GrpcCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Of messages so far, as they came. */
  bytesReceived = 0
  readonly #stream: ServerHttp2Stream
  readonly #onDataSent: () => void
  readonly #pool: BufferPool
  readonly #reader: MessageReader
  #listener: CallListener | null = null
  #responseEncoding: MessageEncoding | null = null
  #deadline: NodeJS.Timeout | null = null
  #isEnded = false
  #isCancelled = false
  /** Messages and the end of a stream in their order, behind one that is being decompressed. */
  #incoming: Promise<void> | null = null
  /** The same of messages to be sent, behind one that is being compressed. */
  #outgoing: Promise<void> | null = null

  /** @param pool where messages get their memory @param onDataSent told whenever headers or data go out, or window updates because data came in */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, pool: BufferPool, onDataSent: () => void) {
    this.path = headers[':path'] ?? ''
    this.headers = headers
    this.#stream = stream
    this.#onDataSent = onDataSent
    this.#pool = pool
    this.#reader = new MessageReader(MAX_MESSAGE_BYTES, pool, (bytes, isCompressed) => { this.#received(bytes, isCompressed) })
  }

  get isOver(): boolean { return this.#isEnded || this.#isCancelled }

  /** Has a message begun to arrive that is not complete? */
  get isReceiving(): boolean { return this.#reader.isInside }

  get isPaused(): boolean { return this.#stream.isPaused() }

  /** First value of a metadata key (lower case). */
  metadata(key: string): string | undefined {
    const value = this.headers[key]
    return Array.isArray(value) ? value[0] : value
  }

  /** Compresses the answers from now on, before the first one. */
  compressResponses(encoding: MessageEncoding | null): void { this.#responseEncoding = encoding }

  /** Begins to read. */
  start(listener: CallListener): void {
    this.#listener = listener
    const stream = this.#stream
    stream.on('error', () => {}) // What broke a stream closes it, and that is handled.
    stream.once('close', () => {
      if (this.#deadline !== null) clearTimeout(this.#deadline)
      this.#cancel()
    })
    if (!this.#startDeadline()) return
    stream.on('data', (chunk: Buffer) => {
      this.bytesReceived += chunk.length
      this.#onDataSent()
      if (this.isOver) return
      try {
        this.#reader.push(chunk)
      } catch (error) {
        if (!(error instanceof MessageTooLargeError)) throw error
        this.abort({ code: GRPC_STATUS.RESOURCE_EXHAUSTED, details: error.message })
      }
    })
    stream.once('end', () => { this.#inOrder(() => { this.#finished() }) })
  }

  /** Nobody looks at this message any more: its memory may become another's. */
  recycle(message: Buffer): void { this.#pool.giveBack(message) }

  /** Stops reading: the client can send only as much more as the flow control window takes. */
  pause(): void { this.#stream.pause() }

  resume(): void { this.#stream.resume() }

  /** @param flushed called when the message has left for the network, or never will; `isRead`: the system may still be reading its memory */
  send(message: OutgoingMessage, flushed?: Flushed): void {
    const encoding = this.#responseEncoding
    if (encoding === null) {
      this.#write(message, false, flushed)
      return
    }
    const before = this.#outgoing
    this.#outgoing = (async () => {
      const compressed = await compress(message, encoding)
      await before
      if (compressed === null) this.#write(message, false, flushed)
      else this.#write(compressed, true, flushed)
    })()
  }

  /** The first end counts. */
  end(status: GrpcStatus): void {
    if (this.#outgoing === null) this.#finish(status)
    else void this.#outgoing.then(() => { this.#finish(status) })
  }

  /** Ends the call with an error that is not of whoever answers it, who hears `cancelled`. */
  abort(status: GrpcStatus): void {
    if (this.isOver) return
    this.#finish(status)
    this.#listener?.cancelled()
  }

  #startDeadline(): boolean {
    const text = this.metadata('grpc-timeout')
    if (text === undefined) return true
    const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? []
    if (amount === undefined || unit === undefined) {
      this.abort({ code: GRPC_STATUS.INTERNAL, details: `invalid grpc-timeout value '${text}'` })
      return false
    }
    const seconds = Number(amount) * (TIMEOUT_UNITS[unit] ?? 0) / 1000
    this.#deadline = setTimeout(() => { this.abort({ code: GRPC_STATUS.DEADLINE_EXCEEDED, details: 'Deadline Exceeded' }) }, timerMilliseconds(seconds))
    return true
  }

  #received(bytes: Buffer, isCompressed: boolean): void {
    if (!isCompressed) {
      this.#inOrder(() => { this.#listener?.message(bytes) })
      return
    }
    const encoding = this.metadata('grpc-encoding') ?? 'identity'
    if (!isMessageEncoding(encoding)) {
      this.abort(encoding === 'identity'
        ? { code: GRPC_STATUS.INTERNAL, details: 'a message is marked as compressed, but grpc-encoding names no encoding' }
        : { code: GRPC_STATUS.UNIMPLEMENTED, details: `Compression algorithm '${encoding}' is not supported; this server reads ${ACCEPTED_ENCODINGS}` })
      return
    }
    // One at a time: a client cannot make the server hold many messages that are small only while they are compressed.
    this.#stream.pause()
    const before = this.#incoming
    this.#incoming = (async () => {
      await before
      try {
        const message = await decompress(bytes, encoding)
        if (!this.isOver) this.#listener?.message(message)
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        this.abort(code === 'ERR_BUFFER_TOO_LARGE'
          ? { code: GRPC_STATUS.RESOURCE_EXHAUSTED, details: `Received message larger than max (more than ${MAX_MESSAGE_BYTES} bytes once decompressed)` }
          : { code: GRPC_STATUS.INTERNAL, details: `cannot decompress the message (${encoding}): ${message}` })
      }
      this.#stream.resume()
    })()
  }

  #inOrder(step: () => void): void {
    if (this.#incoming === null) {
      if (!this.isOver) step()
      return
    }
    this.#incoming = this.#incoming.then(() => { if (!this.isOver) step() })
  }

  #finished(): void {
    if (this.#reader.isInside) this.abort({ code: GRPC_STATUS.INTERNAL, details: 'the call ended inside a message' })
    else this.#listener?.halfClosed()
  }

  #cancel(): void {
    if (this.isOver) return
    this.#isCancelled = true
    this.#listener?.cancelled()
  }

  #write({ pieces, byteLength }: OutgoingMessage, isCompressed: boolean, flushed?: Flushed): void {
    const stream = this.#stream
    if (this.isOver || stream.destroyed) {
      flushed?.(false)
      return
    }
    if (byteLength > MAX_MESSAGE_BYTES) {
      flushed?.(false)
      this.abort({ code: GRPC_STATUS.RESOURCE_EXHAUSTED, details: `Sent message larger than max (${byteLength} vs. ${MAX_MESSAGE_BYTES})` })
      return
    }
    this.#sendHeaders()
    const [first] = pieces as readonly [Uint8Array]
    first[0] = isCompressed ? 1 : 0
    new DataView(first.buffer, first.byteOffset, FRAME_PREFIX_BYTES).setUint32(1, byteLength)
    // Together: one write of several pieces instead of as many writes.
    if (pieces.length > 1) stream.cork()
    pieces.forEach((piece, index) => {
      if (index < pieces.length - 1 || flushed === undefined) stream.write(piece)
      // Node tells no error of a write whose stream was destroyed meanwhile.
      else stream.write(piece, (error) => { flushed(stream.destroyed || (error !== null && error !== undefined)) })
    })
    if (pieces.length > 1) stream.uncork()
    this.#onDataSent()
  }

  #sendHeaders(): void {
    if (this.#stream.headersSent) return
    this.#stream.respond({
      ':status': 200, 'content-type': 'application/grpc', 'grpc-accept-encoding': ACCEPTED_ENCODINGS,
      ...(this.#responseEncoding === null ? {} : { 'grpc-encoding': this.#responseEncoding }),
    }, { waitForTrailers: true })
  }

  #finish(status: GrpcStatus): void {
    if (this.isOver) return
    this.#isEnded = true
    const stream = this.#stream
    if (stream.destroyed) return
    if (this.#deadline !== null) clearTimeout(this.#deadline)
    // The client may still be sending: what comes is dropped, and once the status is out it is told to stop.
    if (!stream.readableEnded) stream.resume()
    const stopClient = () => { if (!stream.readableEnded && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR) }
    if (stream.headersSent) {
      stream.once('wantTrailers', () => {
        if (stream.destroyed) return
        stream.sendTrailers(statusTrailers(status))
        setImmediate(stopClient)
      })
      stream.end()
    } else {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-accept-encoding': ACCEPTED_ENCODINGS, ...statusTrailers(status) }, { endStream: true })
      setImmediate(stopClient)
    }
    this.#onDataSent()
  }
}
