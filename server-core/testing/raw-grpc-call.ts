/** A gRPC call byte by byte over node:http2, for tests of what a client library would not do. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2'
import { loadProtoServices } from '../frontends/grpc/proto-services.ts'

const services = loadProtoServices()

/** A message of the inference service as its bytes. */
export function encodedRequest(method: string, request: object): Buffer {
  const definition = services.inference[method]
  if (definition === undefined) throw new Error(`no method ${method}`)
  return definition.requestSerialize(request)
}

export function decodedReply(method: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  const definition = services.inference[method]
  if (definition === undefined) throw new Error(`no method ${method}`)
  return definition.responseDeserialize(bytes) as Readonly<Record<string, unknown>>
}

/** The five bytes before a message. */
export function framePrefix(byteLength: number, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = isCompressed ? 1 : 0
  prefix.writeUInt32BE(byteLength, 1)
  return prefix
}

export function framed(message: Buffer, isCompressed = false): Buffer { return Buffer.concat([framePrefix(message.length, isCompressed), message]) }

export interface RawReply {
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  /** Everything that came, prefixes included. */
  readonly body: Buffer
  readonly code: number
  readonly details: string
}

export class RawGrpcConnection {
  readonly session: ClientHttp2Session

  constructor(port: number) {
    // Megabytes: what a test wants to send at once may wait here.
    this.session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 1000 })
    this.session.on('error', () => {}) // What the server does to the connection is what tests look at.
  }

  open(method: string, headers: Readonly<Record<string, string>> = {}, path = `/inference.GRPCInferenceService/${method}`): ClientHttp2Stream {
    const stream = this.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers })
    stream.on('error', () => {})
    return stream
  }

  /** Sends these bytes as the whole of a call. */
  async call(method: string, body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<RawReply> {
    const stream = this.open(method, headers)
    stream.end(body)
    return replyOf(stream)
  }

  close(): void { this.session.destroy() }
}

/** What comes back on a stream, to its end. */
export async function replyOf(stream: ClientHttp2Stream): Promise<RawReply> {
  let headers: IncomingHttpHeaders = {}
  let trailers: IncomingHttpHeaders = {}
  const chunks: Buffer[] = []
  stream.on('response', (given) => { headers = given })
  stream.on('trailers', (given) => { trailers = given })
  stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
  await new Promise((resolve) => { stream.once('close', resolve) })
  const { 'grpc-status': code, 'grpc-message': details } = { ...headers, ...trailers }
  return { headers, trailers, body: Buffer.concat(chunks), code: Number(code), details: decodeURIComponent(String(details ?? '')) }
}
