/**
 * How often a large tensor is copied between JavaScript and ONNX Runtime, counted and not claimed: a process of its own, whose memcpy and memmove are replaced by
 * ones that count (native/test/count_copies.cc). Counted are all threads, so also the copies of onnxruntime-node and of ONNX Runtime itself. What comes in is
 * counted with a model that gives back one number, what goes out with one that computes as many as it gets; neither copies anything in its own node.
 * By itself: `node server-core/bench/tensor-copies.ts`.
 */
import { execFile } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { buildDirectory, buildPreset } from '../../native/test-build.ts'
import type { OnnxRuntimeImplementation } from '../backends/onnxruntime/onnxruntime-implementation.ts'
import type { Tensor } from '../contract/inference.ts'
import { onnxModel } from '../testing/onnx-fixture.ts'
import { BenchInstance, type BenchModel } from './bench-instance.ts'

/** 600 KB, and a multiple of 64: as most pictures are. */
const ELEMENTS = 150_000
const TENSOR_BYTES = ELEMENTS * 4
const BATCH = 8
const RUNS = 20

export interface TensorCopies {
  readonly implementation: OnnxRuntimeImplementation
  readonly requestsOfBatch: number
  /** Copies a tensor. */
  readonly input: number
  readonly output: number
}

/** Builds what counts where it is stale. Null: this is not a machine for it. */
export async function countTensorCopies(): Promise<TensorCopies[] | null> {
  if (process.platform !== 'linux') return null
  await buildPreset('test', 'count_copies')
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-bench-copies-'))
  try {
    const figures: TensorCopies[] = []
    for (const implementation of ['worker', 'native'] as const) {
      const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url), implementation], {
        env: { ...process.env, LD_PRELOAD: join(buildDirectory('test'), 'test/libcount_copies.so'), COUNT_COPIES_FILE: join(directory, implementation), COUNT_COPIES_FROM: String(TENSOR_BYTES / 2) },
      })
      figures.push(...JSON.parse(stdout) as TensorCopies[])
    }
    return figures
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

export function describeTensorCopies(figures: readonly TensorCopies[] | null): string[] {
  if (figures === null) return ['copies of a tensor: counted on Linux only']
  return [
    `copies of a tensor of ${TENSOR_BYTES / 1000} KB between JavaScript and ONNX Runtime, counted (its way in, its way out):`,
    ...figures.map(({ implementation, requestsOfBatch, input, output }) => (
      `  ${implementation.padEnd(6)} ${requestsOfBatch === 1 ? 'a request alone' : `a batch of ${requestsOfBatch}`}: ${input.toFixed(2)} in, ${output.toFixed(2)} out`
    )),
  ]
}

/** In the process that counts. */
async function count(implementation: OnnxRuntimeImplementation): Promise<TensorCopies[]> {
  const figures: TensorCopies[] = []
  for (const requestsOfBatch of [1, BATCH]) {
    const input = await copiesOf(implementation, modelOf('ArgMax', 'INT64', 1), requestsOfBatch)
    const both = await copiesOf(implementation, modelOf('Neg', 'FP32', ELEMENTS), requestsOfBatch)
    figures.push({ implementation, requestsOfBatch, input, output: both - input })
  }
  return figures
}

async function copiesOf(implementation: OnnxRuntimeImplementation, model: BenchModel, requestsOfBatch: number): Promise<number> {
  await using instance = await BenchInstance.openOnnxRuntime(implementation, model)
  const tensor = (): Tensor => ({ name: 'X', datatype: 'FP32', shape: [1, ELEMENTS], data: Buffer.allocUnsafeSlow(TENSOR_BYTES).fill(0) })
  const inputs = Array.from({ length: requestsOfBatch }, tensor)
  await instance.run(inputs)
  const before = countedBytes()
  for (let run = 0; run < RUNS; run++) await instance.run(inputs)
  return Number(countedBytes() - before) / (RUNS * requestsOfBatch * TENSOR_BYTES)
}

function modelOf(operator: 'ArgMax' | 'Neg', type: 'FP32' | 'INT64', elements: number): BenchModel {
  return {
    output: 'Y',
    file: onnxModel({
      inputs: [{ name: 'X', type: 'FP32', shape: ['batch', ELEMENTS] }], outputs: [{ name: 'Y', type, shape: ['batch', elements] }],
      nodes: [{ operator, inputs: ['X'], outputs: ['Y'], ...(operator === 'ArgMax' ? { attributes: { axis: 1, keepdims: 1 } } : {}) }],
    }),
    config: `backend: "onnxruntime" max_batch_size: ${BATCH} input { name: "X" data_type: TYPE_FP32 dims: [ ${ELEMENTS} ] } output { name: "Y" data_type: TYPE_${type} dims: [ ${elements} ] }
      parameters { key: "intra_op_thread_count" value { string_value: "1" } }`,
  }
}

function countedBytes(): bigint {
  const file = openSync(process.env['COUNT_COPIES_FILE'] ?? '', 'r')
  const number = new BigUint64Array(1)
  readSync(file, number)
  closeSync(file)
  return number[0] ?? 0n
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [implementation] = process.argv.slice(2)
  if (implementation === 'worker' || implementation === 'native') process.stdout.write(JSON.stringify(await count(implementation)))
  else for (const line of describeTensorCopies(await countTensorCopies())) process.stdout.write(`${line}\n`)
}
