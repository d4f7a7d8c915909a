/** A small gRPC client for tests over our own .proto files. */
import { type ChannelCredentials, type ChannelOptions, Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js'
import { loadProtoServices } from '../frontends/grpc/proto-services.ts'

const UNLIMITED = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 }

export type GrpcReply = Readonly<Record<string, unknown>>

export interface GrpcClientOptions {
  readonly credentials?: ChannelCredentials
  readonly channel?: ChannelOptions
}

export interface GrpcCallOptions {
  readonly metadata?: Readonly<Record<string, string>>
  /** Milliseconds from now. */
  readonly timeout?: number
}

export class GrpcClient {
  readonly #services = loadProtoServices()
  readonly #client: Client

  constructor(port: number, options: GrpcClientOptions = {}) {
    this.#client = new Client(`127.0.0.1:${port}`, options.credentials ?? credentials.createInsecure(), { ...UNLIMITED, ...options.channel })
  }

  /** Rejects with the ServiceError of a failed call. */
  call(method: string, request: object, options: GrpcCallOptions = {}): Promise<GrpcReply> {
    const { path, requestSerialize, responseDeserialize } = this.#definition(method)
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadataOf(options), callOptionsOf(options),
        (error, reply) => { if (error === null) resolve(reply as GrpcReply); else reject(error) })
    })
  }

  /** Code and text of a call that must fail. */
  async failure(method: string, request: object, options: GrpcCallOptions = {}): Promise<{ code: number; details: string }> {
    try {
      await this.call(method, request, options)
    } catch (error) {
      const { code, details } = error as ServiceError
      return { code, details }
    }
    throw new Error(`${method} did not fail`)
  }

  /** Opens a ModelStreamInfer. */
  stream(options: GrpcCallOptions = {}): GrpcTestStream {
    const { path, requestSerialize, responseDeserialize } = this.#definition('ModelStreamInfer')
    return new GrpcTestStream(this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadataOf(options), callOptionsOf(options)))
  }

  close(): void { this.#client.close() }

  #definition(method: string) {
    const definition = this.#services.inference[method] ?? this.#services.health[method]
    if (definition === undefined) throw new Error(`no method ${method}`)
    return definition
  }
}

/** One message of a stream, with `infer_response` and `error_message`. */
export interface GrpcStreamReply {
  readonly error_message: string
  readonly infer_response: Readonly<Record<string, unknown>> | null
}

/** The client's end of a ModelStreamInfer. */
export class GrpcTestStream {
  /** How the stream ended. */
  readonly status: Promise<{ code: number; details: string }>
  readonly #stream: ClientDuplexStream<object, object>

  constructor(stream: ClientDuplexStream<object, object>) {
    this.#stream = stream
    stream.on('error', () => {}) // The status says it.
    this.status = new Promise((resolve) => { stream.on('status', ({ code, details }: StatusObject) => { resolve({ code, details }) }) })
  }

  send(...requests: readonly object[]): this {
    for (const request of requests) this.#stream.write(request)
    return this
  }

  halfClose(): this {
    this.#stream.end()
    return this
  }

  cancel(): void { this.#stream.cancel() }

  /** Reads nothing from now on. */
  pause(): void { this.#stream.pause() }

  /** The next messages, as many as are asked for. */
  async take(count: number): Promise<GrpcStreamReply[]> {
    const replies: GrpcStreamReply[] = []
    if (count === 0) return replies
    return new Promise((resolve, reject) => {
      const onData = (reply: object) => {
        replies.push(reply as GrpcStreamReply)
        if (replies.length < count) return
        this.#stream.pause()
        leave()
        resolve(replies)
      }
      const onEnd = () => {
        leave()
        reject(new Error(`the stream ended after ${replies.length} of ${count} messages`))
      }
      const leave = () => { this.#stream.off('data', onData).off('status', onEnd) }
      this.#stream.on('data', onData).on('status', onEnd).resume()
    })
  }

  /** All further messages, once the stream has ended. */
  async rest(): Promise<GrpcStreamReply[]> {
    const replies: GrpcStreamReply[] = []
    this.#stream.on('data', (reply: object) => { replies.push(reply as GrpcStreamReply) }).resume()
    await this.status
    return replies
  }
}

function metadataOf({ metadata = {} }: GrpcCallOptions): Metadata {
  const result = new Metadata()
  for (const [key, value] of Object.entries(metadata)) result.set(key, value)
  return result
}

function callOptionsOf({ timeout }: GrpcCallOptions): { deadline?: number } { return timeout === undefined ? {} : { deadline: Date.now() + timeout } }
