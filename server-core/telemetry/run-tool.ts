/** Runs a command of the driver or of the system, with an end. */
import { execFile } from 'node:child_process'

export interface ToolRun {
  readonly command: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly timeoutMilliseconds: number
}

export interface ToolResult {
  /** Null: it was ended because it took too long, or by a signal. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly isTimedOut: boolean
}

export type RunTool = (run: ToolRun) => Promise<ToolResult>

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024

/**
 * Settles when the process is gone, so that whoever waits never has two of them; one that the kernel does not let die (a driver that hangs)
 * never settles. @throws what `spawn` throws: ENOENT, EACCES
 */
export const runTool: RunTool = ({ command, args, environment, timeoutMilliseconds }) => new Promise((resolve, reject) => {
  const options = { env: environment, timeout: timeoutMilliseconds, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES, encoding: 'utf8' } as const
  execFile(command, args, options, (error, stdout, stderr) => {
    if (error === null) resolve({ exitCode: 0, stdout, stderr, isTimedOut: false })
    else if (typeof error.code === 'string') reject(error)
    else resolve({ exitCode: error.code ?? null, stdout, stderr, isTimedOut: error.killed === true })
  })
})
