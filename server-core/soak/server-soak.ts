/**
 * Soaks one server: random load, cancellations, reloads, unloads and deaths of worker threads against ONNX models, for a given time. Ends
 * at once with the seed when a request is lost, answered twice or answered wrongly; at the end memory must have stayed level.
 *   server-soak.ts --seconds=600 [--seed=N]      (with --expose-gc memory is read after a collection)
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Transferable, Worker } from 'node:worker_threads'
import type { FromWorker, ToWorker } from '../backends/onnxruntime/worker-messages.ts'
import type { InferenceRequest } from '../contract/inference.ts'
import type { InferenceServer } from '../inference-server.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { randomNumbers } from '../testing/random-numbers.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../testing/test-server.ts'

const CLIENTS = 16
const MODELS = ['batched', 'prioritised', 'plain', 'ordered'] as const
const COLUMNS = 64
/** A request that is not answered after this time is lost: restarts after a death take 8 s at most. */
const LOST_SECONDS = 60
const RESIDENT_GROWTH_LIMIT = 1.05
/** Shorter runs end before the heap and the allocator have found their size. */
const LEVEL_AFTER_SECONDS = 300

type ModelName = typeof MODELS[number]

const INSTANCES = 'instance_group { count: 2 kind: KIND_CPU }'
const CONFIGS: Readonly<Record<ModelName, string>> = {
  batched: `max_batch_size: 8 ${INSTANCES} dynamic_batching { max_queue_delay_microseconds: 500 }`,
  prioritised: `max_batch_size: 8 ${INSTANCES} dynamic_batching { priority_levels: 1000000 default_priority_level: 5
    default_queue_policy { max_queue_size: 8 default_timeout_microseconds: 20000 allow_timeout_override: true }
    priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 1000 } } }`,
  plain: `max_batch_size: 8 ${INSTANCES}`,
  ordered: `max_batch_size: 4 ${INSTANCES} dynamic_batching { preserve_ordering: true preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 200 }`,
}

export interface SoakResult {
  /** How many requests ended how: 'answered', or the kind of the error. */
  readonly endings: Readonly<Record<string, number>>
  readonly reloads: number
  readonly unloads: number
  readonly deaths: number
  /** Bytes: medians of the middle and the last third of the time. */
  readonly residentMiddle: number
  readonly residentLast: number
}

/** @throws Error that names the seed and the fault */
export async function soakServer(seconds: number, seed: number): Promise<SoakResult> {
  const workers = new IdleWorkers()
  const onWorker = (worker: Worker) => { workers.watch(worker) }
  process.on('worker', onWorker)
  await using repository = await TemporaryRepository.create(Object.fromEntries(MODELS.flatMap((name) => [
    [`${name}/1/model.onnx`, addModel(COLUMNS)], [`${name}/config.pbtxt`, CONFIGS[name]],
  ])))
  // Instances that can be ended from outside.
  await using test = createTestServer([repository.path], { backendConfig: { onnxruntime: { implementation: 'worker' } } })
  try {
    await test.server.start()
    for (const name of MODELS) await test.server.loadModel(name)
    return await new Soak(test.server, repository, workers, seed).run(seconds)
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack ?? error.message : String(error)}`, { cause: error })
  } finally {
    process.off('worker', onWorker)
  }
}

/**
 * Worker threads that are not inside ONNX Runtime. onnxruntime-node throws a C++ exception where a thread that is being ended comes back
 * from a native call, and that ends the whole process: a thread may only be ended between two calls.
 */
class IdleWorkers {
  readonly #idle = new Set<Worker>()

  watch(worker: Worker): void {
    const post = worker.postMessage.bind(worker)
    worker.postMessage = (message: ToWorker, transfer?: readonly Transferable[]) => {
      this.#idle.delete(worker)
      post(message, transfer)
    }
    worker.on('message', ({ kind }: FromWorker) => { if (kind === 'ready' || kind === 'ran' || kind === 'runFailed') this.#idle.add(worker) })
    worker.once('exit', () => { this.#idle.delete(worker) })
  }

  get all(): readonly Worker[] { return [...this.#idle] }
}

class Soak {
  readonly #server: InferenceServer
  readonly #repository: TemporaryRepository
  readonly #workers: IdleWorkers
  readonly #random: (limit: number) => number
  readonly #endings: Record<string, number> = {}
  readonly #resident: number[] = []
  readonly #fault = Promise.withResolvers<never>()
  #until = 0
  #reloads = 0
  #unloads = 0
  #deaths = 0

  constructor(server: InferenceServer, repository: TemporaryRepository, workers: IdleWorkers, seed: number) {
    this.#server = server
    this.#repository = repository
    this.#workers = workers
    this.#random = randomNumbers(seed)
  }

  async run(seconds: number): Promise<SoakResult> {
    this.#until = performance.now() + seconds * 1000
    const parts = [this.#unrest(), this.#watchMemory(seconds), ...Array.from({ length: CLIENTS }, () => this.#client())]
    await Promise.race([this.#fault.promise, Promise.all(parts)])
    await this.#checkCounters()
    const third = Math.floor(this.#resident.length / 3)
    return {
      endings: this.#endings, reloads: this.#reloads, unloads: this.#unloads, deaths: this.#deaths,
      residentMiddle: median(this.#resident.slice(third, 2 * third)), residentLast: median(this.#resident.slice(2 * third)),
    }
  }

  get #isOver(): boolean { return performance.now() >= this.#until }

  async #client(): Promise<void> {
    while (!this.#isOver) {
      const ending = await this.#request()
      this.#endings[ending] = (this.#endings[ending] ?? 0) + 1
      // Refusals come at once: without a pause they would be all there is.
      if (ending !== 'answered') await sleep(1 + this.#random(5))
    }
  }

  /** Sends one request, perhaps cancels it, and checks its answer. */
  async #request(): Promise<string> {
    const rows = 1 + this.#random(4)
    const values = Array.from({ length: rows * COLUMNS }, () => this.#random(1000))
    const name = MODELS[this.#random(MODELS.length)] ?? 'plain'
    const request: InferenceRequest = requestOf(name, [fp32('A', [rows, COLUMNS], values), fp32('B', [rows, COLUMNS], values)], {
      priority: BigInt(this.#random(8)), timeoutMicroseconds: this.#random(30_000),
    })
    const ended = Promise.withResolvers<string>()
    let answers = 0
    const end = (ending: string) => {
      if (++answers > 1) this.#fault.reject(new Error(`a request to '${name}' was answered twice: ${ending}`))
      ended.resolve(ending)
    }
    const lost = setTimeout(() => { this.#fault.reject(new Error(`a request to '${name}' is lost: no answer in ${LOST_SECONDS} s`)) }, LOST_SECONDS * 1000)
    try {
      const call = this.#server.inferStream(request, {
        onResponse: () => { this.#fault.reject(new Error(`'${name}' answered in parts`)) },
        onError: (error) => { this.#fault.reject(error) },
        onDone: (result) => {
          if (result instanceof ServerError) {
            end(this.#kindOf(result))
            return
          }
          const sums = floatsOf(result?.response.outputs[0])
          if (sums.length !== values.length || values.some((value, index) => sums[index] !== 2 * value)) this.#fault.reject(new Error(`'${name}' answered another request's values`))
          end('answered')
        },
      })
      if (this.#random(8) === 0) setTimeout(() => { call.cancel() }, this.#random(4))
    } catch (error) {
      end(this.#kindOf(toServerError(error)))
    }
    const ending = await ended.promise
    clearTimeout(lost)
    return ending
  }

  /** Errors that the unrest explains; others are faults. */
  #kindOf(error: ServerError): string {
    const isExpected = error.kind === 'UNAVAILABLE' || error.kind === 'CANCELLED' || error.kind === 'NOT_FOUND' || (error.kind === 'INTERNAL' && error.message.includes('worker thread'))
    if (!isExpected) this.#fault.reject(error)
    return error.kind
  }

  /** Reloads with a changed config, unloads and loads again, and ends worker threads. */
  async #unrest(): Promise<void> {
    for (let round = 0; !this.#isOver; round++) {
      await sleep(100 + this.#random(400))
      const name = MODELS[this.#random(MODELS.length)] ?? 'plain'
      const choice = this.#random(10)
      if (choice < 4) {
        await this.#repository.write({ [`${name}/config.pbtxt`]: `${CONFIGS[name]}\nparameters { key: "round" value { string_value: "${round}" } }` })
        await this.#server.loadModel(name)
        this.#reloads++
      } else if (choice < 6) {
        await this.#server.unloadModel(name)
        await sleep(this.#random(100))
        await this.#server.loadModel(name)
        this.#unloads++
      } else if (choice < 8) {
        const idle = this.#workers.all
        const worker = idle[this.#random(idle.length)]
        if (worker === undefined) continue
        const exited = once(worker, 'exit')
        void worker.terminate()
        await exited
        this.#deaths++
      }
    }
  }

  async #watchMemory(seconds: number): Promise<void> {
    const step = Math.max(100, Math.min(1000, seconds * 1000 / 60))
    while (!this.#isOver) {
      await sleep(step)
      globalThis.gc?.()
      this.#resident.push(process.memoryUsage.rss())
    }
  }

  /** Every request was answered, so nothing may be pending. */
  async #checkCounters(): Promise<void> {
    for (const name of MODELS) await this.#server.loadModel(name)
    for (const { model, pendingRequestCount } of this.#server.modelMetrics()) {
      if (pendingRequestCount !== 0) throw new Error(`'${model}' counts ${pendingRequestCount} pending requests when none is left`)
    }
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '600' }, seed: { type: 'string', default: String(Date.now() % 2 ** 32) } } })
  const result = await soakServer(Number(values.seconds), Number(values.seed))
  const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`
  const growth = result.residentLast / result.residentMiddle
  process.stdout.write(`server soak, seed ${values.seed}: ${Object.entries(result.endings).map(([ending, count]) => `${count} ${ending}`).join(', ')} in ${values.seconds} s; `
    + `${result.reloads} reloads, ${result.unloads} unloads, ${result.deaths} dead threads; none lost, none doubled, none wrong\n`
    + `resident memory: middle third ${megabytes(result.residentMiddle)}, last third ${megabytes(result.residentLast)}, ratio ${growth.toFixed(3)} (limit ${RESIDENT_GROWTH_LIMIT} from ${LEVEL_AFTER_SECONDS} s on)\n`)
  if (Number(values.seconds) >= LEVEL_AFTER_SECONDS && growth > RESIDENT_GROWTH_LIMIT) throw new Error(`seed ${values.seed}: resident memory grew by more than ${((RESIDENT_GROWTH_LIMIT - 1) * 100).toFixed(0)} %`)
}
