/**
 * A closed-loop HTTP load generator over raw sockets: `concurrency` keep-alive connections, each sends the same prepared request again as
 * soon as its answer is complete. Costs as little CPU as JavaScript can, because client and server share the machine's cores.
 * Runs as a process of its own: `load-generator.ts <JSON job>` prints a JSON result.
 */
import { connect } from 'node:net'
import { pathToFileURL } from 'node:url'

export interface LoadJob {
  readonly port: number
  readonly path: string
  /** Base64 of the body. */
  readonly body: string
  /** Value of Inference-Header-Content-Length. */
  readonly headerLength: number
  readonly concurrency: number
  readonly warmupSeconds: number
  readonly seconds: number
}

export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Milliseconds: number
  readonly p99Milliseconds: number
  readonly count: number
}

/** @throws Error when an answer is not 200 */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const body = Buffer.from(job.body, 'base64')
  const head = Buffer.from(`POST ${job.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nInference-Header-Content-Length: ${job.headerLength}\r\nContent-Length: ${body.byteLength}\r\n\r\n`)
  const request = Buffer.concat([head, body])
  const measureFrom = performance.now() + job.warmupSeconds * 1000
  const measureUntil = measureFrom + job.seconds * 1000
  const latencies: number[] = []
  // Where a busy machine answers nothing in time: what came later, over the time until then.
  let firstLate: { readonly milliseconds: number; readonly ended: number } | null = null
  await Promise.all(Array.from({ length: job.concurrency }, () => runConnection(job.port, request, measureUntil, (started, ended) => {
    if (ended >= measureFrom && ended <= measureUntil) latencies.push(ended - started)
    else if (ended > measureUntil) firstLate ??= { milliseconds: ended - started, ended }
  })))
  const late = firstLate as { readonly milliseconds: number; readonly ended: number } | null
  if (latencies.length === 0) {
    if (late === null) throw new Error('no request was answered')
    return { requestsPerSecond: 1000 / (late.ended - measureFrom), p50Milliseconds: late.milliseconds, p99Milliseconds: late.milliseconds, count: 1 }
  }
  latencies.sort((a, b) => a - b)
  const at = (quantile: number) => latencies[Math.min(latencies.length - 1, Math.floor(quantile * latencies.length))] ?? NaN
  return { requestsPerSecond: latencies.length / job.seconds, p50Milliseconds: at(0.5), p99Milliseconds: at(0.99), count: latencies.length }
}

function runConnection(port: number, request: Buffer, until: number, report: (started: number, ended: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let started = 0
    /** Bytes of the answer still to come; undefined while its head is incomplete. */
    let missing: number | undefined
    let head: Buffer = Buffer.alloc(0)
    const send = () => {
      if (performance.now() >= until) {
        socket.end()
        resolve()
        return
      }
      started = performance.now()
      missing = undefined
      head = Buffer.alloc(0)
      socket.write(request)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', () => { resolve() })
    socket.on('data', (chunk) => {
      if (missing === undefined) {
        head = head.byteLength === 0 ? chunk : Buffer.concat([head, chunk])
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        const text = head.toString('latin1', 0, end)
        const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
        if (!text.startsWith('HTTP/1.1 200') || length === undefined) {
          reject(new Error(`unexpected answer: ${head.toString('utf8', 0, 400)}`))
          socket.destroy()
          return
        }
        missing = Number(length) - (head.byteLength - end - 4)
      } else {
        missing -= chunk.byteLength
      }
      if (missing > 0) return
      report(started, performance.now())
      send()
    })
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  let input = ''
  for await (const chunk of process.stdin) input += String(chunk)
  process.stdout.write(JSON.stringify(await runLoad(JSON.parse(input) as LoadJob)))
}
