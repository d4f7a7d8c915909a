/** One mutated gRPC call after another: messages, frames of messages, encodings, deadlines, calls that are cancelled, and HTTP/2 frames themselves. */
import { connect as connectHttp2, constants, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { loadProtoServices } from '../frontends/grpc/proto-services.ts'
import { cut, mutateBytes } from './mutate-bytes.ts'
import { DELAYED_MILLISECONDS, type FuzzTarget } from './protocol-fuzz.ts'

const services = loadProtoServices()
const floats = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer)
const integers = (...values: number[]) => Buffer.from(Int32Array.from(values).buffer)

/** @param key of a shared memory object of ours */
function sketches(key: string): readonly { readonly method: string; readonly message: object }[] {
  const region = (size: number, offset: number) => ({ shared_memory_region: { string_param: 'fuzz' }, shared_memory_byte_size: { int64_param: size }, shared_memory_offset: { int64_param: offset } })
  const tensor = { name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }
  return [
    { method: 'ServerMetadata', message: {} },
    { method: 'ModelReady', message: { name: 'identity', version: '1' } },
    { method: 'ModelConfig', message: { name: 'identity', version: '' } },
    { method: 'ModelStatistics', message: { name: 'identity' } },
    { method: 'RepositoryIndex', message: { ready: true } },
    { method: 'RepositoryModelLoad', message: { model_name: 'spare', parameters: { config: { string_param: '{"backend":"identity"}' }, 'file:1/model.onnx': { bytes_param: Buffer.alloc(4) } } } },
    { method: 'RepositoryModelUnload', message: { model_name: 'spare', parameters: { unload_dependents: { bool_param: true } } } },
    { method: 'ModelInfer', message: { model_name: 'identity', id: 'a', inputs: [tensor], raw_input_contents: [floats(1, 2, 3, 4)], parameters: { priority: { uint64_param: 1 }, text: { string_param: 'x' } } } },
    { method: 'ModelInfer', message: { model_name: 'identity', inputs: [{ ...tensor, contents: { fp32_contents: [1, 2, 3, 4] } }], outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 2 } } }] } },
    { method: 'ModelInfer', message: { model_name: 'bytes', inputs: [{ name: 'INPUT0', datatype: 'BYTES', shape: [1, 2], contents: { bytes_contents: [Buffer.from('a'), Buffer.alloc(0)] } }] } },
    { method: 'ModelInfer', message: { model_name: 'identity', inputs: [{ ...tensor, parameters: region(16, 0) }], outputs: [{ name: 'OUTPUT0', parameters: region(16, 16) }] } },
    { method: 'ModelStreamInfer', message: { model_name: 'identity', inputs: [tensor], raw_input_contents: [floats(1, 2, 3, 4)] } },
    { method: 'ModelStreamInfer', message: {
      model_name: 'repeat', parameters: { triton_enable_empty_final_response: { bool_param: true } }, raw_input_contents: [integers(1, 2, 3), integers(0, 2, 0), integers(0)],
      inputs: [{ name: 'IN', datatype: 'INT32', shape: [3] }, { name: 'DELAY', datatype: 'UINT32', shape: [3] }, { name: 'WAIT', datatype: 'UINT32', shape: [1] }],
    } },
    { method: 'SystemSharedMemoryStatus', message: { name: '' } },
    { method: 'SystemSharedMemoryRegister', message: { name: 'fuzz', key, offset: 0, byte_size: 64 } },
    { method: 'SystemSharedMemoryUnregister', message: { name: 'fuzz' } },
    { method: 'TraceSetting', message: { settings: { trace_rate: { value: ['10'] } }, model_name: 'identity' } },
    { method: 'LogSettings', message: { settings: { log_verbose_level: { uint32_param: 0 }, log_info: { bool_param: true } } } },
  ]
}

const WAYS = ['message', 'message', 'message', 'several', 'frame', 'gzip', 'spoiltGzip', 'headers', 'cancelled', 'raw'] as const

/** Calls over one connection that is made again when the server ends it. */
export class GrpcFuzzer implements Disposable {
  readonly #target: FuzzTarget
  #session: ClientHttp2Session | undefined

  constructor(target: FuzzTarget) { this.#target = target }

  /**
   * One call. @returns its ending: the status, 'closed' (without one), or what the client did
   * @throws Error when a call neither ends nor fails
   */
  async call(random: (limit: number) => number): Promise<string> {
    const all = sketches(this.#target.sharedMemoryKey)
    const { method, message } = all[random(all.length)] as typeof all[number]
    const definition = services.inference[method]
    if (definition === undefined) throw new Error(`no method ${method}`)
    const serialized = definition.requestSerialize(message)
    const way = WAYS[random(WAYS.length)] ?? 'message'
    const bytes = random(5) === 0 ? serialized : mutateBytes(serialized, random)
    if (way === 'raw') return this.#raw(random)
    const headers: OutgoingHttpHeaders = { ':method': 'POST', ':path': definition.path, 'content-type': 'application/grpc', te: 'trailers' }
    let body = framed(bytes)
    if (way === 'several') body = Buffer.concat([framed(serialized), body, framed(serialized)])
    if (way === 'frame') body = mutateBytes(body, random)
    if (way === 'gzip' || way === 'spoiltGzip') {
      headers['grpc-encoding'] = ['gzip', 'deflate', 'zebra'][way === 'gzip' ? 0 : random(3)]
      body = framed(way === 'gzip' ? gzipSync(bytes) : mutateBytes(gzipSync(bytes), random), 1)
    }
    if (way === 'headers') this.#spoilHeaders(headers, random)
    // A mutated delay may be as long as it says: such a call is cancelled.
    const isDelayed = serialized.includes('DELAY')
    return this.#exchange(headers, cut(body, 4, random), { cancelAfter: way === 'cancelled' ? random(20) : undefined, isDelayed })
  }

  [Symbol.dispose](): void { this.#session?.destroy() }

  #spoilHeaders(headers: OutgoingHttpHeaders, random: (limit: number) => number): void {
    switch (random(6)) {
      case 0: headers[':path'] = ['/', '/inference.GRPCInferenceService/Nothing', '/a/b/c', '*', '/grpc.health.v1.Health/Check', '/grpc.health.v1.Health/Watch'][random(6)]; break
      case 1: headers['content-type'] = ['', 'application/json', 'application/grpc+json', 'application/grpc-web'][random(4)]; break
      case 2: headers['grpc-timeout'] = ['1n', '0S', '99999999H', 'x', '-1m', '1'][random(6)]; break
      case 3: headers[':method'] = ['GET', 'PUT', 'OPTIONS'][random(3)]; break
      case 4: headers['x-long'] = 'y'.repeat(random(9000)); break
      default: headers['data-bin'] = ['=', 'AAAA', '\u00ff'][random(3)]
    }
  }

  #open(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session
    const session = connectHttp2(`http://127.0.0.1:${this.#target.grpcPort}`)
    // What breaks a connection ends its calls, which see it themselves.
    session.on('error', () => { session.destroy() })
    session.on('goaway', () => { session.close() })
    this.#session = session
    return session
  }

  async #exchange(headers: OutgoingHttpHeaders, pieces: readonly Buffer[], { cancelAfter, isDelayed }: { readonly cancelAfter: number | undefined; readonly isDelayed: boolean }): Promise<string> {
    const chunks: Buffer[] = []
    let status: string | undefined
    const stream = this.#open().request(headers)
    const ended = new Promise<'ended'>((resolve) => {
      const read = (given: IncomingHttpHeaders) => {
        if (typeof given['grpc-message'] === 'string') chunks.push(Buffer.from(decodeURIComponentOrAll(given['grpc-message'])))
        status = given['grpc-status'] as string | undefined ?? status ?? (given[':status'] === undefined || Number(given[':status']) === 200 ? undefined : `HTTP ${String(given[':status'])}`)
      }
      stream.on('response', read)
      stream.on('trailers', read)
      stream.on('data', (chunk: Buffer) => { chunks.push(chunk) })
      stream.on('error', () => { resolve('ended') })
      stream.on('close', () => { resolve('ended') })
    })
    for (const piece of pieces) if (!stream.destroyed) stream.write(piece)
    if (!stream.destroyed) stream.end()
    if (cancelAfter !== undefined) {
      await Promise.race([ended, sleep(cancelAfter)])
      stream.close(constants.NGHTTP2_CANCEL)
      return 'cancelled'
    }
    const ending = await Promise.race([ended, sleep(isDelayed ? DELAYED_MILLISECONDS : this.#target.lostMilliseconds, 'late' as const, { ref: false })])
    const sent = () => `${JSON.stringify(headers)} ${Buffer.concat(pieces).toString('hex')}`
    this.#target.examine(Buffer.concat(chunks).toString('latin1'), sent)
    if (ending === 'late' && isDelayed) {
      stream.close(constants.NGHTTP2_CANCEL)
      return 'delayed'
    }
    if (ending === 'late') {
      stream.destroy()
      throw new Error(`a call did not end in time: ${sent()}`)
    }
    return status ?? 'closed'
  }

  /** HTTP/2's preface and SETTINGS, then frames of any kind. */
  async #raw(random: (limit: number) => number): Promise<string> {
    const socket = connect(this.#target.grpcPort, '127.0.0.1')
    const closed = new Promise<'closed'>((resolve) => {
      socket.on('error', () => { resolve('closed') })
      socket.on('close', () => { resolve('closed') })
      socket.resume()
    })
    const frame = () => {
      const payload = Buffer.from(Array.from({ length: random(64) }, () => random(256)))
      const head = Buffer.alloc(9)
      head.writeUIntBE(random(8) === 0 ? random(2 ** 24) : payload.length, 0, 3)
      head[3] = random(12)
      head[4] = random(256)
      head.writeUInt32BE(random(8), 5)
      return Buffer.concat([head, payload])
    }
    const opening = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from('000000040000000000', 'hex')])
    socket.write(random(4) === 0 ? mutateBytes(opening, random) : opening)
    for (let count = random(6); count >= 0; count--) socket.write(frame())
    const ending = await Promise.race([closed, sleep(40, 'raw' as const)])
    socket.destroy()
    return ending === 'closed' ? 'connection ended' : 'raw'
  }
}

function framed(message: Buffer, flag = 0): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flag
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function decodeURIComponentOrAll(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
