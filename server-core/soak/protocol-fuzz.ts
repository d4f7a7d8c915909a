/**
 * Fuzzes the HTTP and gRPC inputs of a server that runs as a process of its own, for a given time. Between the mutated requests correct ones
 * must be answered correctly. Ends at once with the seed when the server dies, leaves a well-formed request without an answer, answers or logs
 * with an error of JavaScript, or answers a correct request wrongly; at the end what it holds after a collection must have stayed level, and its resident memory too.
 *   protocol-fuzz.ts --seconds=1800 [--seed=N]
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { GrpcClient } from '../testing/grpc-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import { startServerProcess, type ServerProcess } from '../testing/server-process.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { GrpcFuzzer } from './fuzz-grpc.ts'
import { fuzzHttp } from './fuzz-http.ts'
import { INSPECTABLE, LiveMemory } from './live-memory.ts'

/** How long a client waits for a model that answers after the delays of its input: mutated ones may be as long as they say. */
export const DELAYED_MILLISECONDS = 1000

/** What is fuzzed. */
export interface FuzzTarget {
  readonly httpPort: number
  readonly grpcPort: number
  /** Key of a shared memory object of ours, 64 bytes. */
  readonly sharedMemoryKey: string
  /** A request that is not answered after this time is lost. */
  readonly lostMilliseconds: number
  /** @throws Error when an answer shows an error of JavaScript */
  examine(answer: string, sent: () => string): void
}

export interface ProtocolFuzzResult {
  /** How many requests ended how, for each transport: a status, or what became of the connection. */
  readonly http: Readonly<Record<string, number>>
  readonly grpc: Readonly<Record<string, number>>
  /** Correct requests that were answered correctly in between. */
  readonly correct: number
  /** Resident memory, and what was held after a collection. */
  readonly resident: Level
  readonly live: Level
}

/** Bytes: medians of the middle and the last third of the time. */
export interface Level {
  readonly middle: number
  readonly last: number
}

const CLIENTS = 2
const LOST_MILLISECONDS = 60_000
/** Resident memory also has what the allocator and V8 keep for later; what is held has next to nothing of chance: the last hour's samples, code compiled meanwhile. */
const GROWTH_LIMITS = { resident: 1.1, live: 1.05 } as const
/** Collecting takes the server some 30 ms: after so many readings of the resident memory. */
const READINGS_PER_COLLECTION = 5
/** Shorter runs end before the heap and the allocator have found their size. */
const LEVEL_AFTER_SECONDS = 300
/** Texts of errors that no input may cause. */
const JAVASCRIPT_ERROR = /TypeError|RangeError|ReferenceError|is not a function|is not iterable|Cannot read propert|Cannot destructure|undefined is not|ERR_[A-Z]+_[A-Z]+|Invalid array length|Maximum call stack/

const REPEAT = `backend: "repeat"
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
`
const BYTES = 'backend: "identity" max_batch_size: 8 input { name: "INPUT0" data_type: TYPE_STRING dims: [ -1 ] } output { name: "OUTPUT0" data_type: TYPE_STRING dims: [ -1 ] }'

/** @throws Error that names the seed and the fault, with the end of the server's log */
export async function fuzzProtocols(seconds: number, seed: number): Promise<ProtocolFuzzResult> {
  await using repository = await TemporaryRepository.create({
    'identity/config.pbtxt': identityConfig(), 'identity/1/.keep': '', 'spare/config.pbtxt': identityConfig(), 'spare/1/.keep': '',
    'bytes/config.pbtxt': BYTES, 'bytes/1/.keep': '', 'repeat/config.pbtxt': REPEAT, 'repeat/1/.keep': '',
  })
  const object = `npu-console-fuzz-${process.pid}`
  writeFileSync(`/dev/shm/${object}`, Buffer.alloc(64))
  const server = await startServerProcess([
    `--model-repository=${repository.path}`, '--model-control-mode=explicit', '--load-model=identity', '--load-model=bytes', '--load-model=repeat', '--allow-client-shm=true',
  ], { env: { NODE_OPTIONS: INSPECTABLE } })
  try {
    return await new ProtocolFuzz(server, `/${object}`, seed).run(seconds)
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack ?? error.message : String(error)}\n--- end of the server's log\n${server.output().split('\n').slice(-20).join('\n')}`, { cause: error })
  } finally {
    await server.stop()
    rmSync(`/dev/shm/${object}`, { force: true })
  }
}

class ProtocolFuzz {
  readonly #server: ServerProcess
  readonly #target: FuzzTarget
  readonly #seed: number
  readonly #http: Record<string, number> = {}
  readonly #grpc: Record<string, number> = {}
  readonly #resident: number[] = []
  readonly #live: number[] = []
  #until = 0
  #correct = 0
  #failed = false

  constructor(server: ServerProcess, sharedMemoryKey: string, seed: number) {
    this.#server = server
    this.#seed = seed
    this.#target = {
      httpPort: server.httpPort, grpcPort: server.grpcPort, sharedMemoryKey, lostMilliseconds: LOST_MILLISECONDS,
      examine: (answer, sent) => {
        const found = JAVASCRIPT_ERROR.exec(answer)
        if (found !== null) throw new Error(`the server answered with an error of its own: ${JSON.stringify(answer.slice(Math.max(0, found.index - 200), found.index + 300))}\n--- sent\n${sent()}`)
      },
    }
  }

  async run(seconds: number): Promise<ProtocolFuzzResult> {
    this.#until = performance.now() + seconds * 1000
    const died = this.#server.exited.then((code) => { throw new Error(`the server ended with code ${code}`) })
    // Ends with the server at the latest; nobody waits for it then.
    died.catch(() => undefined)
    const parts = [this.#correctRequests(), this.#watch(seconds)]
    for (let client = 0; client < CLIENTS; client++) parts.push(this.#fuzzHttp(randomNumbers(this.#seed + client)), this.#fuzzGrpc(randomNumbers(this.#seed + 1000 + client)))
    try {
      await Promise.race([died, Promise.all(parts)])
    } finally {
      this.#failed = true
    }
    this.#examineLog()
    return { http: this.#http, grpc: this.#grpc, correct: this.#correct, resident: levelOf(this.#resident), live: levelOf(this.#live) }
  }

  get #isOver(): boolean { return this.#failed || performance.now() >= this.#until }

  async #fuzzHttp(random: (limit: number) => number): Promise<void> {
    while (!this.#isOver) count(this.#http, await fuzzHttp(this.#target, random))
  }

  async #fuzzGrpc(random: (limit: number) => number): Promise<void> {
    using fuzzer = new GrpcFuzzer(this.#target)
    while (!this.#isOver) count(this.#grpc, await fuzzer.call(random))
  }

  /** What mutated requests do to their own connection must not reach those of others. */
  async #correctRequests(): Promise<void> {
    const http = new HttpClient(this.#target.httpPort)
    const grpc = new GrpcClient(this.#target.grpcPort)
    try {
      do {
        const values = [1, 2, 3, this.#correct]
        const answer = await http.send({ path: '/v2/models/identity/infer', body: JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: values }] }) })
        const { outputs } = JSON.parse(answer.text) as { outputs?: { data: number[] }[] }
        if (answer.status !== 200 || JSON.stringify(outputs?.[0]?.data) !== JSON.stringify(values)) throw new Error(`a correct HTTP request was answered with ${answer.status} ${answer.text}`)
        const raw = Buffer.from(Float32Array.from(values).buffer)
        const reply = await grpc.call('ModelInfer', { model_name: 'identity', inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4] }], raw_input_contents: [raw] })
        const [contents] = reply['raw_output_contents'] as Buffer[]
        if (contents === undefined || !raw.equals(contents)) throw new Error(`a correct gRPC request was answered with ${JSON.stringify(reply)}`)
        this.#correct++
        await sleep(100)
      } while (!this.#isOver)
    } finally {
      http.close()
      grpc.close()
    }
  }

  async #watch(seconds: number): Promise<void> {
    const step = Math.max(100, Math.min(2000, seconds * 1000 / 60))
    using memory = await LiveMemory.connect(this.#server.output())
    while (!this.#isOver) {
      await sleep(step)
      if (this.#resident.length % READINGS_PER_COLLECTION === 0) this.#live.push(await memory.read())
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.#server.processId}/status`, 'utf8'))?.[1]
      this.#resident.push(Number(kilobytes) * 1024)
    }
  }

  #examineLog(): void {
    const line = this.#server.output().split('\n').find((text) => JAVASCRIPT_ERROR.test(text))
    if (line !== undefined) throw new Error(`the server logged an error of its own: ${line}`)
  }
}

function count(endings: Record<string, number>, ending: string): void {
  endings[ending] = (endings[ending] ?? 0) + 1
}

function levelOf(readings: readonly number[]): Level {
  const third = Math.floor(readings.length / 3)
  return { middle: median(readings.slice(third, 2 * third)), last: median(readings.slice(2 * third)) }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '1800' }, seed: { type: 'string', default: String(Date.now() % 2 ** 32) } } })
  const result = await fuzzProtocols(Number(values.seconds), Number(values.seed))
  const list = (endings: Readonly<Record<string, number>>) => `${Object.values(endings).reduce((sum, one) => sum + one, 0)} (${Object.entries(endings).sort().map(([ending, times]) => `${ending}: ${times}`).join(', ')})`
  const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`
  const growth = ({ middle, last }: Level) => last / middle
  const told = (name: string, level: Level, limit: number) => `  ${name}: middle third ${megabytes(level.middle)}, last third ${megabytes(level.last)}, ratio ${growth(level).toFixed(3)} (limit ${limit} from ${LEVEL_AFTER_SECONDS} s on)\n`
  process.stdout.write(`protocol fuzz, seed ${values.seed}, ${values.seconds} s\n  HTTP requests ${list(result.http)}\n  gRPC calls ${list(result.grpc)}\n  ${result.correct} correct requests on each transport answered correctly in between\n`
    + told('held after a collection', result.live, GROWTH_LIMITS.live) + told('resident memory', result.resident, GROWTH_LIMITS.resident))
  for (const kind of ['live', 'resident'] as const) {
    if (Number(values.seconds) >= LEVEL_AFTER_SECONDS && growth(result[kind]) > GROWTH_LIMITS[kind]) {
      throw new Error(`seed ${values.seed}: ${kind === 'live' ? 'what the server holds after a collection' : 'resident memory'} grew by more than ${((GROWTH_LIMITS[kind] - 1) * 100).toFixed(0)} %`)
    }
  }
}
