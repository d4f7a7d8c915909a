/** What the server is compared with: services in processes of their own that say `PORT <n>` once they listen. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const GRPC_JS = fileURLToPath(new URL('grpc-js-echo.ts', import.meta.url))
const FASTAPI = fileURLToPath(new URL('fastapi_identity.py', import.meta.url))

export interface OtherService {
  readonly processId: number
  readonly port: number
  stop(): Promise<void>
}

/** The Python of the benches. */
export function benchPython(): string { return process.env['PYTHON'] ?? 'python3' }

/** What glibc unmaps when it is freed, and what it leaves at the end of the heap (mallopt(3)); either alone changes nothing. Bytes. */
const KEEPING_MEMORY = { MALLOC_MMAP_THRESHOLD_: String(32 << 20), MALLOC_TRIM_THRESHOLD_: String(128 << 20) }

/**
 * @param options.keepsMemory tuned as few do: blocks of some hundred KB are kept for the next request. As glibc's allocator comes, whether it does so depends on
 *   the sizes that the process happened to free before, so that the same service needs a quarter of the time after a larger JSON body.
 * @returns why there is none, where a package is missing
 */
export async function startFastApi({ keepsMemory = false }: { readonly keepsMemory?: boolean } = {}): Promise<OtherService | string> {
  const python = benchPython()
  const service = await startService(python, FASTAPI, keepsMemory ? KEEPING_MEMORY : {})
  if (typeof service !== 'string') return service
  return `${python} cannot run it (${service}); on Debian: apt-get install python3-fastapi python3-uvicorn python3-uvloop python3-httptools python3-numpy, or PYTHON=<one that has them>`
}

export async function startGrpcJs(): Promise<OtherService> {
  const service = await startService(process.execPath, GRPC_JS)
  if (typeof service === 'string') throw new Error(`the service of grpc-js did not start: ${service}`)
  return service
}

/** @returns what it said instead of its port */
async function startService(command: string, file: string, environment: Readonly<Record<string, string>> = {}): Promise<OtherService | string> {
  const child = spawn(command, [file], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } })
  let problem = ''
  child.stderr.on('data', (chunk: Buffer) => { problem += chunk.toString('utf8') })
  const exited = new Promise<string>((resolve) => {
    child.on('error', (error) => { resolve(error.message) })
    child.on('close', () => { resolve(problem.trim()) })
  })
  const said = once(createInterface({ input: child.stdout }), 'line').then(([line]) => Number(/^PORT (\d+)$/.exec(String(line))?.[1]))
  const port = await Promise.race([said, exited])
  if (typeof port === 'string') return port
  return {
    processId: child.pid ?? 0, port,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
