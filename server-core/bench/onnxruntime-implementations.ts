/**
 * The two implementations of the onnxruntime backend in one run: two servers with the same models, loaded in turns. Processor time is the server's alone.
 * Also by itself: `node server-core/bench/onnxruntime-implementations.ts --rounds=3 --seconds=3`.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Tensor } from '../contract/inference.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { identityModel } from '../testing/onnx-fixture.ts'
import { startServerProcess } from '../testing/server-process.ts'
import type { LoadResult } from './load-meter.ts'
import { binaryBody, binaryRequest, load, type Job } from './load-process.ts'
import { machineFacts } from './machine-facts.ts'

const IMPLEMENTATIONS = ['worker', 'native'] as const
const CLOCK_TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
/** 600 KB in and out. */
const LARGE = 150_000

interface Sample extends LoadResult { readonly cpuSecondsPer1000: number }

const CASES: readonly { readonly name: string; readonly model: string; readonly job: Pick<Job, 'body' | 'headerLength'>; readonly concurrency: number }[] = [
  { name: 'identity 64 B', model: 'small', job: binaryBody('INPUT', [1, 16], 'OUTPUT'), concurrency: 1 },
  { name: 'identity 64 B', model: 'small', job: binaryBody('INPUT', [1, 16], 'OUTPUT'), concurrency: 8 },
  { name: 'identity 600 KB', model: 'large', job: binaryBody('INPUT', [1, LARGE], 'OUTPUT'), concurrency: 1 },
  { name: 'identity 600 KB', model: 'large', job: binaryBody('INPUT', [1, LARGE], 'OUTPUT'), concurrency: 8 },
  { name: 'ppocr_rec 48x320', model: 'ppocr_rec', job: binaryBody('x', [1, 3, 48, 320]), concurrency: 1 },
  { name: 'ppocr_rec 48x320', model: 'ppocr_rec', job: binaryBody('x', [1, 3, 48, 320]), concurrency: 4 },
  // A sequence that begins anew with each request: the state is set, given to the model and taken back each time.
  { name: 'silero_vad, state', model: 'vad', job: binaryRequest(sound(), { parameters: { sequence_id: 1, sequence_start: true } }), concurrency: 1 },
]

function sound(): Tensor[] {
  return [
    { name: 'input', datatype: 'FP32', shape: [1, 576], data: new Uint8Array(new Float32Array(576).fill(0.1).buffer) },
    { name: 'sr', datatype: 'INT64', shape: [1], data: new Uint8Array(BigInt64Array.of(16_000n).buffer) },
  ]
}

/** @returns lines to print: medians over the rounds, and native against worker */
export async function onnxRuntimeFigures(directory: string, { rounds, seconds }: { readonly rounds: number; readonly seconds: number }): Promise<string[]> {
  const repository = await writeRepository(directory)
  const samples = new Map<string, Sample[]>()
  const servers = await Promise.all(IMPLEMENTATIONS.map(async (implementation) => ({
    implementation,
    server: await startServerProcess([`--model-repository=${repository}`, `--backend-config=onnxruntime,implementation=${implementation}`], { built: true }),
  })))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [index, { model, job, concurrency }] of CASES.entries()) {
        for (const { implementation, server } of round % 2 === 0 ? servers : [...servers].reverse()) {
          const path = `/v2/models/${model}/infer`
          await load({ ...job, path, port: server.httpPort, concurrency, warmupSeconds: 0, seconds: 1 })
          const before = cpuSeconds(server.processId)
          const result = await load({ ...job, path, port: server.httpPort, concurrency, warmupSeconds: 0, seconds })
          const used = cpuSeconds(server.processId) - before
          const key = `${index}|${implementation}`
          samples.set(key, [...(samples.get(key) ?? []), { ...result, cpuSecondsPer1000: used / result.count * 1000 }])
        }
      }
    }
  } finally {
    for (const { server } of servers) await server.stop()
  }
  return table(samples)
}

function table(samples: ReadonlyMap<string, readonly Sample[]>): string[] {
  const figure = (index: number, implementation: string, of: (sample: Sample) => number) => {
    const numbers = (samples.get(`${index}|${implementation}`) ?? []).map(of).sort((a, b) => a - b)
    return numbers[Math.floor(numbers.length / 2)] ?? NaN
  }
  const ratio = (index: number, of: (sample: Sample) => number) => figure(index, 'native', of) / figure(index, 'worker', of)
  const figures = (index: number, digits: number, of: (sample: Sample) => number) => {
    const [worker, native] = IMPLEMENTATIONS.map((implementation) => figure(index, implementation, of)) as [number, number]
    return `${worker.toFixed(digits).padStart(9)} ${native.toFixed(digits).padStart(9)} ${ratio(index, of).toFixed(2).padStart(6)}`
  }
  const throughput = (sample: Sample) => sample.requestsPerSecond
  const processorTime = (sample: Sample) => sample.cpuSecondsPer1000
  const geometricMean = (of: (sample: Sample) => number) => CASES.reduce((product, _case, index) => product * ratio(index, of), 1) ** (1 / CASES.length)
  return [
    `\nonnxruntime backend: on worker threads, native, native / worker (${machineFacts()})`,
    `${'model'.padEnd(18)} at once   ${'requests/s'.padEnd(26)}   ${'p50 ms'.padEnd(26)}   processor s a 1000 requests`,
    ...CASES.map(({ name, concurrency }, index) => (
      `${name.padEnd(18)} ${String(concurrency).padStart(7)} ${figures(index, 1, throughput)}  ${figures(index, 3, (sample) => sample.p50Milliseconds)}  ${figures(index, 3, processorTime)}`
    )),
    `native / worker over all cases (geometric mean): ${geometricMean(throughput).toFixed(2)} of the requests/s, ${geometricMean(processorTime).toFixed(2)} of the processor time a request`,
  ]
}

async function writeRepository(directory: string): Promise<string> {
  const repository = join(directory, 'repository')
  const config = (elements: number) => [
    'backend: "onnxruntime"', 'max_batch_size: 8', `input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ ${elements} ] } ]`, `output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ ${elements} ] } ]`,
    'instance_group [ { count: 1 kind: KIND_CPU } ]', 'parameters { key: "intra_op_thread_count" value { string_value: "1" } }', ''].join('\n')
  for (const [name, elements] of [['small', 16], ['large', LARGE]] as const) {
    mkdirSync(join(repository, name, '1'), { recursive: true })
    writeFileSync(join(repository, name, '1', 'model.onnx'), identityModel('FP32', ['batch', elements]))
    writeFileSync(join(repository, name, 'config.pbtxt'), config(elements))
  }
  const assetsDirectory = fileURLToPath(new URL('../../assets/sample-repository', import.meta.url))
  const samples = await createSampleRepository(join(directory, 'data'), { assetsDirectory })
  cpSync(join(samples, 'ppocr_rec'), join(repository, 'ppocr_rec'), { recursive: true })
  cpSync(join(samples, 'silero_vad', '1'), join(repository, 'vad', '1'), { recursive: true })
  writeFileSync(join(repository, 'vad', 'config.pbtxt'), `backend: "onnxruntime" max_batch_size: 0
    input [ { name: "input" data_type: TYPE_FP32 dims: [ 1, 576 ] }, { name: "sr" data_type: TYPE_INT64 dims: [ 1 ] } ] output [ { name: "output" data_type: TYPE_FP32 dims: [ 1, 1 ] } ]
    sequence_batching { max_sequence_idle_microseconds: 60000000 state [ { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [ 2, 1, 128 ] } ] }
    instance_group [ { count: 1 kind: KIND_CPU } ] parameters { key: "intra_op_thread_count" value { string_value: "1" } }`)
  return repository
}

/** Of all threads of a process, so far. */
function cpuSeconds(processId: number): number {
  // The name in brackets may hold spaces; utime and stime are the 12th and 13th field behind it.
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '3' } } })
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-bench-'))
  try {
    for (const line of await onnxRuntimeFigures(directory, { rounds: Number(values.rounds), seconds: Number(values.seconds) })) process.stdout.write(`${line}\n`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
