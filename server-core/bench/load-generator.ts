/**
 * A closed-loop HTTP load generator over raw sockets: `concurrency` keep-alive connections, each sends the same prepared request again as
 * soon as its answer is complete. Costs as little CPU as JavaScript can, because client and server share the machine's cores.
 * Runs as a process of its own: `load-generator.ts <JSON job>` prints a JSON result.
 */
import { connect } from 'node:net'
import { pathToFileURL } from 'node:url'
import { LoadMeter, type LoadResult } from './load-meter.ts'

export interface LoadJob {
  readonly port: number
  readonly path: string
  /** Base64 of the body. */
  readonly body: string
  /** Value of Inference-Header-Content-Length; undefined: not sent, the body is JSON. */
  readonly headerLength?: number | undefined
  readonly concurrency: number
  readonly warmupSeconds: number
  readonly seconds: number
}

/** @throws Error when an answer is not 200 */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const body = Buffer.from(job.body, 'base64')
  const extension = job.headerLength === undefined ? '' : `Inference-Header-Content-Length: ${job.headerLength}\r\n`
  const head = Buffer.from(`POST ${job.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${extension}Content-Length: ${body.byteLength}\r\n\r\n`)
  const request = Buffer.concat([head, body])
  const meter = new LoadMeter(job.warmupSeconds, job.seconds)
  await Promise.all(Array.from({ length: job.concurrency }, () => runConnection(job.port, request, meter)))
  return meter.result()
}

function runConnection(port: number, request: Buffer, meter: LoadMeter): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let started = 0
    /** Bytes of the answer still to come; undefined while its head is incomplete. */
    let missing: number | undefined
    let head: Buffer = Buffer.alloc(0)
    const send = () => {
      if (meter.isOver) {
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
      meter.report(started, performance.now())
      send()
    })
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  let input = ''
  for await (const chunk of process.stdin) input += String(chunk)
  process.stdout.write(JSON.stringify(await runLoad(JSON.parse(input) as LoadJob)))
}
