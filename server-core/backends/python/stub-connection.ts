import { closeSync } from 'node:fs'
import type { Tensor } from '../../contract/inference.ts'
import type { PythonProcess } from '../../contract/repository.ts'
import type { Logger } from '../../logger.ts'
import { isWorthReleasing } from '../../release-memory.ts'
import { ServerError } from '../../server-error.ts'
import type { PythonEnvironment } from './python-environment.ts'
import type { PythonSettings } from './python-settings.ts'
import { RegionMemory } from './region-memory.ts'
import { openUnnamedFile, SharedRegion } from './shared-region.ts'
import type { CallMemory } from './stub-calls.ts'
import type { FromStub, ServerTensor, StubStart, StubTensor, ToStub } from './stub-messages.ts'
import { StubProcess, type StubEnd } from './stub-process.ts'

/** How long a process that is given up may take to write the stacks of its threads. */
export const DUMP_MILLISECONDS = 500

export interface StubConnectionOptions {
  readonly settings: PythonSettings
  readonly environment: PythonEnvironment
  readonly start: Omit<StubStart, 'memory_size' | 'memory_growth'>
  readonly log: Logger
  readonly logFields: Readonly<Record<string, string>>
  /** What the stub says after it started, lines of its log and freed memory apart. */
  readonly onMessage: (message: FromStub) => void
  /** The process is over after it had started. */
  readonly onExit: (end: StubEnd) => void
}

/** A stub that runs, with the memory that it shares with this process. */
export class StubConnection implements CallMemory {
  readonly #options: StubConnectionOptions
  readonly #serverRegion: SharedRegion
  /** Of the stub's region: descriptor and bytes. */
  readonly #stubDescriptor: number
  readonly #stubMemory: RegionMemory
  #process: StubProcess | null = null
  #isClosed = false
  #python: PythonProcess | null = null

  /** Takes the memory that the stub has at its start. @throws ServerError UNAVAILABLE where there is too little */
  constructor(options: StubConnectionOptions) {
    this.#options = options
    const { regionByteSize, regionGrowthByteSize, regionPrefix } = options.settings
    this.#serverRegion = new SharedRegion({ byteSize: regionByteSize, growthByteSize: regionGrowthByteSize, prefix: regionPrefix })
    try {
      this.#stubDescriptor = openUnnamedFile({ prefix: regionPrefix })
      this.#stubMemory = new RegionMemory(this.#stubDescriptor)
    } catch (error) {
      this.#serverRegion.close()
      throw error
    }
  }

  get processId(): number { return this.#process?.processId ?? 0 }
  /** Null before it started. */
  get python(): PythonProcess | null { return this.#python }
  /** Blocks that are in use on this side: for tests. */
  get usedBlocks(): number { return this.#serverRegion.usedBlocks }

  /**
   * Starts the process and says what it is to do; resolves when it begins with that. Its messages may come before whoever waits for this goes on.
   * @throws ServerError UNAVAILABLE without an interpreter; INTERNAL where the process ended, or took longer than `stub-timeout-seconds`. Then all is closed
   */
  async start(): Promise<void> {
    try {
      await this.#start()
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #start(): Promise<void> {
    const { settings, environment, start, log, logFields, onMessage, onExit } = this.#options
    const { promise: started, resolve, reject } = Promise.withResolvers<void>()
    let hasStarted = false
    const stub = await StubProcess.start({
      ...environment, serverMemory: this.#serverRegion.descriptor, ownMemory: this.#stubDescriptor, log, logFields,
      onMessage: (message) => {
        for (const offset of message.free ?? []) this.#serverRegion.release(offset)
        if (message.op === 'started') {
          hasStarted = true
          this.#python = { interpreter: message.executable, version: message.python, numpyVersion: message.numpy }
          log.verbose(1, 'a Python model instance starts', { ...logFields, python: message.python, numpy: message.numpy, processId: stub.processId })
          resolve()
        } else if (message.op === 'log') {
          this.#writeLog(message)
        } else {
          onMessage(message)
        }
      },
      onExit: (end) => {
        if (hasStarted) onExit(end)
        else reject(new ServerError('INTERNAL', notHealthy(start.name, end)))
      },
    })
    this.#process = stub
    stub.send({ ...start, memory_size: settings.regionByteSize, memory_growth: settings.regionGrowthByteSize })
    const timer = setTimeout(() => {
      reject(new ServerError('INTERNAL', `Stub process '${start.name}' is not healthy. It did not start within ${settings.stubTimeoutSeconds} seconds. Is ${environment.interpreter} a Python interpreter? `
        + 'A slow machine may need more with --backend-config=python,stub-timeout-seconds=N'))
    }, settings.stubTimeoutSeconds * 1000)
    try {
      await started
    } finally {
      clearTimeout(timer)
    }
  }

  send(message: ToStub): void {
    this.#takeBack()
    this.#process?.send(message)
  }

  take(tensors: readonly StubTensor[]): Tensor[] {
    try {
      return tensors.map((tensor) => ({ ...described(tensor), data: this.#copy(tensor) }))
    } finally {
      this.discard(tensors)
    }
  }

  /**
   * Outputs: large ones where they lie, in memory that is free again when they are given back (`releaseMemory`) or collected.
   * @param block that of the inputs of the request: an output may be a view of them
   */
  takeOutputs(tensors: readonly StubTensor[], block: number): Tensor[] {
    const copied: StubTensor[] = []
    try {
      return tensors.map((tensor) => {
        const [, , , region, offset, byteLength] = tensor
        const lent = region === 0 ? this.#serverRegion.lend(offset, byteLength, block) : this.#stubMemory.lend(offset, byteLength, offset)
        if (lent === null) copied.push(tensor)
        const data = lent ?? this.#copy(tensor)
        return { ...described(tensor), data, ...(isWorthReleasing(data) ? { isExclusive: true } : {}) }
      })
    } finally {
      this.discard(copied)
    }
  }

  #copy([, , , region, offset, byteLength]: StubTensor): Uint8Array { return (region === 0 ? this.#serverRegion : this.#stubMemory).read(offset, byteLength) }

  /** What was lent of the stub's region and is free again. */
  #takeBack(): void {
    const offsets = this.#stubMemory.takeBack()
    if (offsets.length > 0) this.#process?.freeLater(offsets)
  }

  /** Tensors of the stub that nobody reads. */
  discard(tensors: readonly StubTensor[]): void {
    this.#process?.freeLater(tensors.filter(([, , , region, , byteLength]) => region === 1 && byteLength > 0).map(([, , , , offset]) => offset))
  }

  takeBytes(offset: number, byteLength: number): Uint8Array {
    const bytes = this.#stubMemory.read(offset, byteLength)
    if (byteLength > 0) this.#process?.freeLater([offset])
    return bytes
  }

  put(tensors: readonly Tensor[]): ServerTensor[] {
    // A block each: the stub frees them one by one.
    const described: ServerTensor[] = []
    try {
      for (const { name, datatype, shape, data } of tensors) described.push([name, datatype, shape, data.byteLength === 0 ? 0 : this.#serverRegion.write([data])[0] ?? 0, data.byteLength])
      return described
    } catch (error) {
      for (const [, , , offset, byteLength] of described) if (byteLength > 0) this.#serverRegion.release(offset)
      throw error
    }
  }

  /** Writes the inputs of a request as one block. @throws ServerError UNAVAILABLE where memory is exhausted */
  putTogether(tensors: readonly Tensor[]): { readonly described: ServerTensor[]; readonly block: number } {
    const offsets = this.#serverRegion.write(tensors.map(({ data }) => data))
    return {
      described: tensors.map(({ name, datatype, shape, data }, index) => [name, datatype, shape, offsets[index] ?? 0, data.byteLength]),
      block: offsets[0] ?? 0,
    }
  }

  release(block: number): void { this.#serverRegion.release(block) }

  /** Freed memory of the stub goes back now, without waiting for a message to take it along. */
  freeNow(): void {
    this.#takeBack()
    this.#process?.freeNow()
  }

  dumpStacks(): void { this.#process?.dumpStacks() }

  /** Ends the process. @param reason as in `StubProcess.kill` */
  kill(reason = ''): void { this.#process?.kill(reason) }

  /** The same for one that hangs: the stacks of its threads go to the log before, where it can still tell them. */
  endHanging(reason: string): void {
    this.#options.log.error(`the process of a Python model is ended: ${reason}. The stacks of its threads follow where it can still tell them`, this.#options.logFields)
    this.dumpStacks()
    setTimeout(() => { this.kill(reason) }, DUMP_MILLISECONDS)
  }

  /** Ends the process where it still runs, and frees the memory. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#process?.kill()
    await this.#process?.exited
    this.#serverRegion.close()
    this.#stubMemory.close()
    closeSync(this.#stubDescriptor)
  }

  /** The process ends by itself; after a while it is ended. */
  async closeWithin(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<void>((resolve) => { timer = setTimeout(resolve, milliseconds) })
    await Promise.race([this.#process?.exited ?? Promise.resolve(), tooLong])
    clearTimeout(timer)
    await this.close()
  }

  #writeLog({ level, message, file, line }: Extract<FromStub, { op: 'log' }>): void {
    const { log, logFields } = this.#options
    const fields = { ...logFields, file, line }
    switch (level) {
      case 'INFO': log.info(message, fields); return
      case 'WARNING': log.warning(message, fields); return
      case 'ERROR': log.error(message, fields); return
      case 'VERBOSE': log.verbose(1, message, fields); return
    }
  }
}

function described([name, datatype, shape]: StubTensor): Pick<Tensor, 'name' | 'datatype' | 'shape'> { return { name, datatype, shape } }

/** Triton's sentence, then how the process ended and what it said last. */
export function notHealthy(name: string, { how, lastLines }: StubEnd): string {
  return `Stub process '${name}' is not healthy. ${how[0]?.toUpperCase() ?? ''}${how.slice(1)}.${lastLines === '' ? '' : ` Its last lines:\n${lastLines}`}`
}
