/**
 * A closed-loop gRPC load generator over node:http2, without a gRPC library and without reading answers: `concurrency` connections, each sends the same
 * prepared message again as soon as its answer is complete. A process of its own, like its twin for HTTP: JSON job on standard input, JSON result out.
 */
import { connect, type ClientHttp2Session, type ClientSessionOptions } from 'node:http2'
import { pathToFileURL } from 'node:url'
import { LoadMeter, type LoadResult } from './load-meter.ts'

export interface GrpcLoadJob {
  readonly port: number
  /** `/inference.GRPCInferenceService/ModelInfer` */
  readonly path: string
  /** Base64 of the serialized message, without the frame's head. */
  readonly message: string
  readonly concurrency: number
  readonly warmupSeconds: number
  readonly seconds: number
}

/** Large enough that the generator never holds an answer back. */
const WINDOW = 2 ** 30
const SESSION_OPTIONS: ClientSessionOptions = { settings: { initialWindowSize: WINDOW, enablePush: false } }

/** @throws Error when a call does not end with status 0 */
export async function runGrpcLoad(job: GrpcLoadJob): Promise<LoadResult> {
  const message = Buffer.from(job.message, 'base64')
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const body = Buffer.concat([head, message])
  const meter = new LoadMeter(job.warmupSeconds, job.seconds)
  await Promise.all(Array.from({ length: job.concurrency }, async () => {
    const session = connect(`http://127.0.0.1:${job.port}`, SESSION_OPTIONS)
    const broken = new Promise<never>((_resolve, reject) => { session.on('error', reject) })
    broken.catch(() => undefined)
    session.on('connect', () => { session.setLocalWindowSize(WINDOW) })
    try {
      while (!meter.isOver) {
        const started = performance.now()
        await Promise.race([call(session, job.path, body), broken])
        meter.report(started, performance.now())
      }
    } finally {
      session.destroy()
    }
  }))
  return meter.result()
}

function call(session: ClientHttp2Session, path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' })
    let status: unknown
    let text: unknown
    const read = (headers: object) => {
      const given = headers as Record<string, unknown>
      status = given['grpc-status'] ?? status
      text = given['grpc-message'] ?? text
    }
    stream.on('response', read)
    stream.on('trailers', read)
    stream.on('error', reject)
    stream.on('close', () => {
      if (status === '0') resolve()
      else reject(new Error(`the call ended with status ${String(status)}: ${String(text)}`))
    })
    stream.resume()
    stream.end(body)
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  let input = ''
  for await (const chunk of process.stdin) input += String(chunk)
  process.stdout.write(JSON.stringify(await runGrpcLoad(JSON.parse(input) as GrpcLoadJob)))
}
