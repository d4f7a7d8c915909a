/**
 * What a backend library costs beyond its own work: one batch from JavaScript to the thread of the instance, through a backend that only doubles 16 numbers,
 * and back. Beside it, in turns, the same small batch through both implementations of the onnxruntime backend.
 * By itself: `node server-core/bench/host-overhead.ts`.
 */
import { pathToFileURL } from 'node:url'
import { buildPreset, FIXTURE_BACKENDS } from '../../native/test-build.ts'
import { steadyNanoseconds } from '../clock.ts'
import type { Tensor } from '../contract/inference.ts'
import { identityModel } from '../testing/onnx-fixture.ts'
import { BenchInstance, type BenchModel } from './bench-instance.ts'
import { machineFacts } from './machine-facts.ts'
import { threadRoundTrip } from './thread-round-trip.ts'

const DOUBLED: BenchModel = {
  output: 'Y',
  config: `name: "doubled" backend: "batching" max_batch_size: 8
    input { name: "X" data_type: TYPE_INT32 dims: [ 16 ] } output { name: "Y" data_type: TYPE_INT32 dims: [ 16 ] }`,
}
const IDENTITY: BenchModel = {
  output: 'OUTPUT', file: identityModel('FP32', ['batch', 16]),
  config: `name: "identity" backend: "onnxruntime" max_batch_size: 8 parameters { key: "intra_op_thread_count" value { string_value: "1" } }
    input { name: "INPUT" data_type: TYPE_FP32 dims: [ 16 ] } output { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 16 ] }`,
}
const WARM_UP = 2_000
const ROUNDS = 5
const BATCHES_OF_ROUND = 2_000

/** Of a batch of one request, in microseconds. */
export interface BatchCost {
  readonly p50: number
  readonly p99: number
  /** Processor time of this thread, which serves everything else as well. */
  readonly ownThread: number
}

export interface HostOverhead {
  readonly host: BatchCost
  readonly worker: BatchCost
  readonly native: BatchCost
  /** Copies that a small output makes on its way to JavaScript, counted. */
  readonly copiesOfSmallOutput: number
  /** Microseconds that the machine takes to wake a bare thread and to be woken by it. */
  readonly bareRoundTrip: number
}

/** Builds the backend where it is stale. */
export async function hostOverhead(): Promise<HostOverhead> {
  await buildPreset('test', 'fixture_backends')
  await using host = await BenchInstance.open((native) => Promise.resolve(native.backend('batching')), DOUBLED, { backendDirectory: FIXTURE_BACKENDS })
  await using worker = await BenchInstance.openOnnxRuntime('worker', IDENTITY)
  await using native = await BenchInstance.openOnnxRuntime('native', IDENTITY)
  const integers: Tensor = { name: 'X', datatype: 'INT32', shape: [1, 16], data: Buffer.alloc(64) }
  const floats: Tensor = { name: 'INPUT', datatype: 'FP32', shape: [1, 16], data: Buffer.alloc(64) }
  const meters = [new Meter(host, integers), new Meter(worker, floats), new Meter(native, floats)] as const
  for (const meter of meters) await meter.run(WARM_UP)
  const copied = host.native.copies().tensors
  for (const meter of meters) meter.clear()
  for (let round = 0; round < ROUNDS; round++) {
    for (const meter of meters) await meter.run(BATCHES_OF_ROUND)
  }
  return {
    host: meters[0].cost, worker: meters[1].cost, native: meters[2].cost,
    copiesOfSmallOutput: (host.native.copies().tensors - copied) / (ROUNDS * BATCHES_OF_ROUND),
    bareRoundTrip: await threadRoundTrip(),
  }
}

class Meter {
  readonly #instance: BenchInstance
  readonly #input: Tensor
  #microseconds: number[] = []
  #ownMicroseconds = 0

  constructor(instance: BenchInstance, input: Tensor) {
    this.#instance = instance
    this.#input = input
  }

  clear(): void {
    this.#microseconds = []
    this.#ownMicroseconds = 0
  }

  async run(batches: number): Promise<void> {
    const before = process.threadCpuUsage()
    for (let batch = 0; batch < batches; batch++) {
      const started = steadyNanoseconds()
      await this.#instance.run([this.#input])
      this.#microseconds.push((steadyNanoseconds() - started) / 1000)
    }
    const { user, system } = process.threadCpuUsage(before)
    this.#ownMicroseconds += user + system
  }

  get cost(): BatchCost {
    const sorted = this.#microseconds.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? NaN
    return { p50: at(0.5), p99: at(0.99), ownThread: this.#ownMicroseconds / sorted.length }
  }
}

/** The lines of the report. `goal`: microseconds at the median. */
export function describeHostOverhead({ host, worker, native, copiesOfSmallOutput, bareRoundTrip }: HostOverhead, goal: number): string[] {
  const cost = ({ p50, p99, ownThread }: BatchCost) => `p50 ${p50.toFixed(1)} us, p99 ${p99.toFixed(1)} us, ${ownThread.toFixed(1)} us of the server's own thread`
  return [
    `host overhead a batch, JavaScript to a backend library and back: ${cost(host)} (goal: p50 <= ${goal} us on an idle machine): ${host.p50 <= goal ? 'met' : 'NOT MET'}`,
    `  this machine takes ${bareRoundTrip.toFixed(1)} us (p50) to wake another thread and to be woken by it, with nothing in between`,
    `  a batch of one small request through onnxruntime, native: ${cost(native)}`,
    `  on a worker thread: ${cost(worker)}; native / worker: p50 ${(native.p50 / worker.p50).toFixed(2)}, own thread ${(native.ownThread / worker.ownThread).toFixed(2)}`,
    `  a small output is copied ${copiesOfSmallOutput.toFixed(2)} times on its way to JavaScript (64 KB and more: not at all outside Electron); inputs are read where they lie`,
  ]
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const line of describeHostOverhead(await hostOverhead(), 60)) process.stdout.write(`${line}\n`)
  process.stdout.write(`${machineFacts()}\n`)
}
