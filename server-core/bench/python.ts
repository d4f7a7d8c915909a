/**
 * What a model.py costs: an identity model with a tensor of 64 B and of 600 KB through the `python` backend over HTTP with binary data, beside the identity
 * backend (the same way without Python), the same `execute` in a bare loop (`python_loop.py`), and a FastAPI service that takes the same requests
 * (`fastapi_identity.py`), in turns in one run. Processor time is that of the server and of the models' processes together. By itself:
 * `npm run bench -- --only=python`, or `node server-core/bench/python.ts --rounds=3 --seconds=2 [--concurrency=8] [--without=fastapi]
 * [--cpu-prof=<directory>] [--match=view]`.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { STUB_DIRECTORY } from '../installed-paths.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import type { LoadResult } from './load-meter.ts'
import { binaryRequest, load, type Job } from './load-process.ts'
import { machineFacts } from './machine-facts.ts'
import { benchPython, startFastApi } from './other-services.ts'
import { processorSecondsOfTree } from './processor-time.ts'

export interface PythonBenchOptions {
  readonly rounds: number
  readonly seconds: number
  readonly concurrencies?: readonly number[]
  readonly withFastApi?: boolean
  /** Where the server writes a processor profile when it ends; undefined: nowhere. */
  readonly profileDirectory?: string | undefined
  /** Measure only rows whose name contains this. */
  readonly match?: string | undefined
}

const SIZES = [{ size: '64 B', suffix: 'small', elements: 16 }, { size: '600 KB', suffix: 'large', elements: 150_528 }] as const
const CONCURRENCIES = [1, 8]
/** Milliseconds at 64 B and concurrency 1; throughput per processor second over FastAPI's at 600 KB. */
const GOALS = { overheadMilliseconds: 0.4, fastApiRatio: 1.5 }
const LOOP = fileURLToPath(new URL('python_loop.py', import.meta.url))
const run = promisify(execFile)

/** As Triton's examples have it. `copy` makes a new array, as a model that computes does. */
const modelCode = (output: string) => `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            tensor = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", ${output})]))
        return responses
`
const MODELS = [
  { name: 'Python view', backend: 'python', more: '', code: modelCode('tensor') },
  { name: 'Python copy', backend: 'python', more: '', code: modelCode('tensor.copy()') },
  { name: 'Python batched', backend: 'python', more: 'dynamic_batching { }\n', code: modelCode('tensor.copy()') },
  { name: 'identity', backend: 'identity', more: '', code: null },
] as const
/** Whose `execute` the bare loop calls, and the overhead is of. */
const LOOPED = 'Python copy'

interface Sample extends LoadResult {
  /** Processor seconds of all processes that serve, for 1,000 requests. */
  readonly cpuPerThousand: number
}

interface Row {
  readonly name: string
  readonly size: string
  readonly concurrency: number
  readonly samples: Sample[]
}

/** @returns the report, line by line */
export async function pythonFigures({ rounds, seconds, concurrencies = CONCURRENCIES, withFastApi = true, profileDirectory, match = '' }: PythonBenchOptions): Promise<string[]> {
  const python = benchPython()
  const directoryOf = (name: string, suffix: string) => `${name.toLowerCase().replace(' ', '_')}_${suffix}`
  await using repository = await TemporaryRepository.create(Object.fromEntries(SIZES.flatMap(({ suffix, elements }) => MODELS.flatMap(({ name, backend, more, code }) => [
    [`${directoryOf(name, suffix)}/config.pbtxt`, `backend: "${backend}"\nmax_batch_size: 8\n${more}input { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\n`],
    [`${directoryOf(name, suffix)}/1/${code === null ? '.keep' : 'model.py'}`, code ?? ''],
  ]))))
  const profile = profileDirectory === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileDirectory}` }
  const server = await startServerProcess([`--model-repository=${repository.path}`, `--backend-config=python,interpreter=${python}`], { built: true, env: profile })
  const fastApi = withFastApi ? await startFastApi() : 'left out'
  const rows: Row[] = []
  const loops = new Map<string, number[]>()
  try {
    for (let round = 0; round < rounds; round++) {
      for (const { size, suffix, elements } of SIZES) {
        const { stdout } = await run(python, [LOOP, STUB_DIRECTORY, join(repository.path, directoryOf(LOOPED, suffix), '1', 'model.py'), String(elements), String(seconds / 4)])
        loops.set(size, [...(loops.get(size) ?? []), (JSON.parse(stdout) as { p50Milliseconds: number }).p50Milliseconds])
        const data = Float32Array.from({ length: elements }, (_none, index) => Math.sin(index))
        const body = binaryRequest([{ name: 'INPUT0', shape: [1, elements], datatype: 'FP32', data: new Uint8Array(data.buffer) }], { outputs: ['OUTPUT0'] })
        const jobOf = (model: string): Job => ({ path: `/v2/models/${model}/infer`, ...body })
        const cases = [
          ...MODELS.map(({ name }) => ({ name: name as string, job: jobOf(directoryOf(name, suffix)), processId: server.processId, port: server.httpPort })),
          ...(typeof fastApi === 'string' ? [] : [{ name: 'FastAPI', job: jobOf('fastapi'), processId: fastApi.processId, port: fastApi.port }]),
        ]
        for (const { name, job, processId, port } of cases.filter((one) => `${one.name} ${size}`.includes(match))) {
          for (const concurrency of concurrencies) {
            const row = rows.find((other) => other.name === name && other.size === size && other.concurrency === concurrency) ?? { name, size, concurrency, samples: [] }
            if (row.samples.length === 0) rows.push(row)
            const before = processorSecondsOfTree(processId)
            const result = await load({ ...job, port, concurrency, warmupSeconds: seconds / 4, seconds })
            row.samples.push({ ...result, cpuPerThousand: (processorSecondsOfTree(processId) - before) / result.total * 1000 })
          }
        }
      }
    }
  } finally {
    await server.stop()
    if (typeof fastApi !== 'string') await fastApi.stop()
  }
  return report(rows, loops, { rounds, seconds, fastApi: typeof fastApi === 'string' ? fastApi : null })
}

function report(rows: readonly Row[], loops: ReadonlyMap<string, readonly number[]>, { rounds, seconds, fastApi }: { readonly rounds: number; readonly seconds: number; readonly fastApi: string | null }): string[] {
  const middle = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
  const median = (row: Row | undefined, value: (sample: Sample) => number) => middle((row?.samples ?? []).map(value))
  const verdict = (isMet: boolean) => (isMet ? 'met' : 'NOT MET')
  const lines = [`${machineFacts()}; medians of ${rounds} rounds of ${seconds} s`, 'model           tensor  concurrency   requests/s     p50 ms     p99 ms   CPU s of all processes / 1,000']
  for (const row of rows) {
    lines.push([
      row.name.padEnd(15), row.size.padStart(6), String(row.concurrency).padStart(12), median(row, (s) => s.requestsPerSecond).toFixed(1).padStart(12), median(row, (s) => s.p50Milliseconds).toFixed(3).padStart(10),
      median(row, (s) => s.p99Milliseconds).toFixed(3).padStart(10), median(row, (s) => s.cpuPerThousand).toFixed(3).padStart(22),
    ].join(' '))
  }
  const find = (name: string, size: string, concurrency: number) => rows.find((row) => row.name === name && row.size === size && row.concurrency === concurrency)
  for (const [size, times] of loops) {
    const p50 = (name: string) => median(find(name, size, 1), (s) => s.p50Milliseconds)
    const bare = middle(times), whole = p50(LOOPED) - bare, own = whole - p50('identity')
    if (Number.isNaN(own)) continue
    lines.push(`${size}: execute in a bare loop ${bare.toFixed(4)} ms at p50; a request over HTTP takes ${whole.toFixed(3)} ms more, of which the backend's own part (over the identity backend) ${own.toFixed(3)} ms`
      + (size === '64 B' ? ` (goal <= ${GOALS.overheadMilliseconds}): ${verdict(own <= GOALS.overheadMilliseconds)}` : ''))
  }
  if (fastApi !== null) return [...lines, `FastAPI: ${fastApi}`]
  for (const row of rows.filter(({ name }) => name !== 'FastAPI')) {
    const other = find('FastAPI', row.size, row.concurrency)
    if (other === undefined) continue
    const ratio = median(other, (s) => s.cpuPerThousand) / median(row, (s) => s.cpuPerThousand)
    const hasGoal = row.size === '600 KB' && row.name.startsWith('Python')
    lines.push(`${row.name} ${row.size}, concurrency ${row.concurrency}: throughput per processor second of all processes / FastAPI's: ${ratio.toFixed(2)}${hasGoal ? ` (goal >= ${GOALS.fastApiRatio}): ${verdict(ratio >= GOALS.fastApiRatio)}` : ''}`)
  }
  return lines
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: {
    rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '2' }, concurrency: { type: 'string', multiple: true }, without: { type: 'string' }, 'cpu-prof': { type: 'string' }, match: { type: 'string' },
  } })
  const lines = await pythonFigures({
    rounds: Number(values.rounds), seconds: Number(values.seconds), withFastApi: values.without !== 'fastapi', profileDirectory: values['cpu-prof'], match: values.match,
    ...(values.concurrency === undefined ? {} : { concurrencies: values.concurrency.map(Number) }),
  })
  for (const line of lines) process.stdout.write(`${line}\n`)
}
