import { spawn, type ChildProcess } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { Logger } from '../../logger.ts'
import { STUB_DIRECTORY } from '../../installed-paths.ts'
import { ServerError } from '../../server-error.ts'
import type { PythonEnvironment } from './python-environment.ts'
import { processWatcher } from './process-watcher.ts'
import { LineReader } from './stub-log.ts'
import type { FromStub, ToStub } from './stub-messages.ts'

/** How long what a stub wrote before its end is still read: a process that it left may hold the pipes open. */
const DRAIN_MILLISECONDS = 500

/** What the main thread of a stub works on, one after another; all else reaches it while it does. */
const FOR_THE_MAIN_THREAD: ReadonlySet<ToStub['op']> = new Set(['initialize', 'auto_complete', 'execute', 'is_ready', 'finalize'])

export interface StubProcessOptions extends PythonEnvironment {
  /** File descriptors of the server's region and the stub's own, which the stub inherits. */
  readonly serverMemory: number
  readonly ownMemory: number
  readonly log: Logger
  /** Goes with every line of the log. */
  readonly logFields: Readonly<Record<string, string>>
  readonly onMessage: (message: FromStub) => void
  /** Once: the process is over. */
  readonly onExit: (end: StubEnd) => void
}

export interface StubEnd {
  /** "it ended with exit code 3", "it was killed by SIGSEGV", "it was ended: execute did not return within 5 seconds". */
  readonly how: string
  /** What it wrote last to standard error; '' : nothing. */
  readonly lastLines: string
}

/**
 * The process of one model instance: leads a process group, which ends with it. Messages go over a socket, what it prints goes to the log.
 */
export class StubProcess {
  readonly #child: ChildProcess
  readonly #socket: Duplex
  /** Read by a thread of its own, so that it gets through while the model works. */
  readonly #control: Duplex
  readonly #options: StubProcessOptions
  #received: Buffer[] = []
  #receivedLength = 0
  #freed: number[] = []
  #isOver = false
  #endReason = ''
  readonly exited: Promise<void>

  /** @throws ServerError UNAVAILABLE where the interpreter cannot be started */
  static async start(options: StubProcessOptions): Promise<StubProcess> {
    const child = spawn(options.interpreter, ['-B', '-u', `${STUB_DIRECTORY}/triton_python_backend_stub.py`], {
      detached: true, env: options.variables, stdio: ['ignore', 'pipe', 'pipe', 'pipe', options.serverMemory, options.ownMemory, 'pipe'],
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', () => { resolve() })
      child.once('error', (cause: NodeJS.ErrnoException) => {
        const reason = cause.code === 'ENOENT' ? 'there is none of that name' : cause.message
        reject(new ServerError('UNAVAILABLE', `the Python interpreter '${options.interpreter}' cannot be started: ${reason}. Install python3 and numpy, or choose an interpreter with `
          + '--backend-config=python,interpreter=PATH or the parameter PYTHON_INTERPRETER of the model', { cause }))
      })
    })
    return new StubProcess(child, options)
  }

  private constructor(child: ChildProcess, options: StubProcessOptions) {
    this.#child = child
    this.#options = options
    this.#socket = child.stdio[3] as Duplex
    // The types know five descriptors.
    this.#control = (child.stdio as readonly unknown[])[6] as Duplex
    processWatcher.watch(this.processId)
    const { log, logFields } = options
    const reader = (stream: 'stdout' | 'stderr', write: Logger['info']) => {
      const lines = new LineReader({
        onLine: (line) => { write(line, { ...logFields, stream }) },
        onLeftOut: (count) => { log.warning('lines of a model were left out: it printed more than the log takes in a second', { ...logFields, stream, count }) },
      })
      lines.read(child[stream] as Readable)
      return lines
    }
    reader('stdout', log.info)
    const errors = reader('stderr', log.warning)
    this.#socket.on('data', (chunk: Buffer) => { this.#receive(chunk) })
    // The end of the process says the rest.
    for (const socket of [this.#socket, this.#control]) socket.on('error', () => {})
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#isOver = true
        this.#killGroup()
        processWatcher.forget(this.processId)
        const closed = new Promise<void>((done) => { child.once('close', () => { done() }) })
        let timer: NodeJS.Timeout | undefined
        const tooLong = new Promise<void>((done) => { timer = setTimeout(done, DRAIN_MILLISECONDS) })
        void Promise.race([closed, tooLong]).then(() => {
          clearTimeout(timer)
          for (const stream of [this.#socket, this.#control, child.stdout, child.stderr]) stream?.destroy()
          options.onExit({
            how: this.#endReason !== '' ? `it was ended: ${this.#endReason}` : signal === null ? `it ended with exit code ${code ?? 0}` : `it was killed by ${signal}`,
            lastLines: errors.lastLines.join('\n'),
          })
          resolve()
        })
      })
    })
  }

  get processId(): number { return this.#child.pid ?? 0 }
  get isOver(): boolean { return this.#isOver }

  /** Queues a message; blocks of the stub's region that were freed go along. */
  send(message: ToStub): void {
    if (this.#isOver) return
    const free = this.#freed
    if (free.length > 0) this.#freed = []
    const text = JSON.stringify(free.length > 0 ? { ...message, free } : message)
    const length = Buffer.byteLength(text)
    const frame = Buffer.allocUnsafe(4 + length)
    frame.writeUInt32LE(length, 0)
    frame.write(text, 4)
    const socket = FOR_THE_MAIN_THREAD.has(message.op) ? this.#socket : this.#control
    socket.write(frame)
  }

  /** The stub hears with the next message that it can use the blocks again. */
  freeLater(offsets: readonly number[]): void { this.#freed.push(...offsets) }

  /** Sends what is freed. */
  freeNow(): void { if (this.#freed.length > 0) this.send({ op: 'free' }) }

  /** The Python stacks of all its threads go to the log, also when it hangs in native code. */
  dumpStacks(): void { if (!this.#isOver) this.#child.kill('SIGUSR1') }

  /** Ends the process, and everything that it started. @param reason what is said of it then; '' : that it was killed */
  kill(reason = ''): void {
    if (this.#isOver) return
    this.#endReason = reason
    this.#killGroup()
  }

  #killGroup(): void {
    try {
      process.kill(-this.processId, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#receivedLength += chunk.length
    while (this.#receivedLength >= 4) {
      const first = this.#joined(4)
      const length = first.readUInt32LE(0)
      if (this.#receivedLength < 4 + length) return
      const bytes = this.#joined(4 + length)
      const rest = bytes.subarray(4 + length)
      this.#received = rest.length === 0 ? [] : [rest]
      this.#receivedLength = rest.length
      this.#take(bytes.toString('utf8', 4, 4 + length))
    }
  }

  /** What cannot be understood or worked on is the stub's fault: it ends, and nothing else does. */
  #take(text: string): void {
    try {
      this.#options.onMessage(JSON.parse(text) as FromStub)
    } catch (error) {
      this.#options.log.error('a message of a Python model could not be handled, its process is ended', { ...this.#options.logFields, error: error instanceof Error ? error.stack ?? error.message : String(error) })
      this.kill()
    }
  }

  /** The first piece, joined with others until it has that many bytes. */
  #joined(byteLength: number): Buffer {
    const [first] = this.#received
    if (first !== undefined && first.length >= byteLength && this.#received.length === 1) return first
    const joined = Buffer.concat(this.#received, this.#receivedLength)
    this.#received = [joined]
    return joined
  }
}
