/** `utilityProcess`: an ordinary Node process whose messages are structured clones. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

interface ForkOptions {
  readonly serviceName?: string
  readonly stdio?: 'pipe' | 'ignore' | 'inherit'
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

export class UtilityProcess extends EventEmitter {
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  pid: number | undefined
  private readonly child: ChildProcess

  constructor(modulePath: string, args: readonly string[], options: ForkOptions) {
    super()
    const stdio = options.stdio ?? 'inherit'
    this.child = fork(modulePath, [...args], {
      execArgv: ['--import', fileURLToPath(new URL('./utility-parent-port.ts', import.meta.url))],
      serialization: 'advanced',
      stdio: ['ignore', stdio, stdio, 'ipc'],
      ...(options.env ? { env: options.env } : {}),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    })
    this.stdout = this.child.stdout
    this.stderr = this.child.stderr
    this.pid = this.child.pid
    this.child.on('spawn', () => { this.emit('spawn') })
    this.child.on('message', (message) => { this.emit('message', message) })
    this.child.on('exit', (code, signal) => {
      this.pid = undefined
      this.emit('exit', code ?? (signal === null ? 1 : constants.signals[signal]))
    })
  }

  postMessage(message: unknown): void {
    if (this.child.connected) this.child.send(message as object)
  }

  kill(): boolean { return this.child.kill('SIGTERM') }
}

export const utilityProcess = {
  fork: (modulePath: string, args: readonly string[] = [], options: ForkOptions = {}) => new UtilityProcess(modulePath, args, options),
}
