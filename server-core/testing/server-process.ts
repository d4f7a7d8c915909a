/** Starts `npu-console serve` as a process of its own, as a user does, and reads its ports from its log. For tests and benches. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface ServerProcess {
  readonly processId: number
  readonly httpPort: number
  readonly grpcPort: number
  readonly metricsPort: number
  /** The link with its token; '' without `--console`. */
  readonly consoleUrl: string
  /** Everything it wrote so far. */
  output(): string
  /** SIGTERM, then waits for the end. @returns the exit code */
  stop(): Promise<number | null>
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<number | null>
}

const BUILT_MAIN = fileURLToPath(new URL('../../dist/server/npu-console.mjs', import.meta.url))
const SOURCE_MAIN = fileURLToPath(new URL('../cli/main.ts', import.meta.url))
const START_TIMEOUT_MILLISECONDS = 60_000

/**
 * @param flags flags of `serve`; ports default to 0
 * @param options.built run the bundle in dist/ (what users run) rather than the sources
 * @throws Error with the server's output when it ends or says nothing in time
 */
export async function startServerProcess(flags: readonly string[], options: { built?: boolean; env?: NodeJS.ProcessEnv } = {}): Promise<ServerProcess> {
  const main = options.built === true ? BUILT_MAIN : SOURCE_MAIN
  if (!existsSync(main)) throw new Error(`${main} is not there: run "npm run build" first`)
  const ports = ['--http-port', '--grpc-port', '--metrics-port', '--console-port']
    .filter((flag) => !flags.some((given) => given === flag || given.startsWith(`${flag}=`))).map((flag) => `${flag}=0`)
  const child = spawn(process.execPath, [main, 'serve', ...ports, ...flags], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...options.env } })
  let output = ''
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const hasConsole = flags.includes('--console')
  const find = () => {
    const httpPort = /Started HTTPService at \S+:(\d+)/.exec(output)?.[1]
    const grpcPort = /Started GRPCInferenceService at \S+:(\d+)/.exec(output)?.[1]
    const metricsPort = /Started Metrics Service at \S+:(\d+)/.exec(output)?.[1]
    const consoleUrl = hasConsole ? /http:\/\/\S+\?token=[\w-]+/.exec(output)?.[0] : ''
    return httpPort === undefined || grpcPort === undefined || metricsPort === undefined || consoleUrl === undefined
      ? undefined : { httpPort: Number(httpPort), grpcPort: Number(grpcPort), metricsPort: Number(metricsPort), consoleUrl }
  }
  const found = await new Promise<{ httpPort: number; grpcPort: number; metricsPort: number; consoleUrl: string }>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the server did not say its ports in time:\n${output}`))
    }, START_TIMEOUT_MILLISECONDS)
    const read = (chunk: Buffer) => {
      output += chunk.toString('utf8')
      const ports = find()
      if (ports === undefined) return
      clearTimeout(timer)
      resolve(ports)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the server ended with code ${code} before it listened:\n${output}`))
    })
  })
  return {
    processId: child.pid ?? 0,
    ...found,
    output: () => output,
    exited,
    kill: (signal) => { child.kill(signal) },
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}
