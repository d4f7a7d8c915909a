/**
 * What a model.py costs: an identity model with a tensor of 64 B and of 600 KB through the `python` backend over HTTP with binary data, beside the identity
 * backend (the same way without Python), the same `execute` in a bare loop (`python_loop.py`), and a FastAPI service that takes the same requests
 * (`fastapi_identity.py`; as it comes, and tuned to keep its memory), in turns in one run. Processor time is that of the server and of the models' processes together. By itself:
 * `npm run bench -- --only=python`, or `node server-core/bench/python.ts --rounds=3 --seconds=2 [--concurrency=8] [--without=fastapi]
 * [--cpu-prof=<directory>] [--match=view]`.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { STUB_DIRECTORY } from '../installed-paths.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { binaryRequest, load, type Job } from './load-process.ts'
import { machineFacts } from './machine-facts.ts'
import { benchPython, startFastApi } from './other-services.ts'
import { processorSecondsOfTree } from './processor-time.ts'
import { medianOf, middle, perProcessorSecond, profileEnvironment, runServiceBench, ServiceRows, verdict, type ServiceBenchOptions } from './service-rows.ts'

const SIZES = [{ size: '64 B', suffix: 'small', elements: 16 }, { size: '600 KB', suffix: 'large', elements: 150_528 }] as const
const CONCURRENCIES = [1, 8]
/** Milliseconds at 64 B and concurrency 1; throughput per processor second over FastAPI's at 600 KB. */
const GOALS = { overheadMilliseconds: 0.4, fastApiRatio: 1.5 }
const FASTAPI = 'FastAPI'
/** It keeps the memory that a request gave back for the next one. As it comes the allocator returns such blocks to the system and has new pages zeroed each time. */
const FASTAPI_KEEPING = 'FastAPI keeping memory'
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

/** @returns the report, line by line */
export async function pythonFigures({ rounds, seconds, concurrencies = CONCURRENCIES, withFastApi = true, profileDirectory, match = '' }: ServiceBenchOptions): Promise<string[]> {
  const python = benchPython()
  const directoryOf = (name: string, suffix: string) => `${name.toLowerCase().replace(' ', '_')}_${suffix}`
  await using repository = await TemporaryRepository.create(Object.fromEntries(SIZES.flatMap(({ suffix, elements }) => MODELS.flatMap(({ name, backend, more, code }) => [
    [`${directoryOf(name, suffix)}/config.pbtxt`, `backend: "${backend}"\nmax_batch_size: 8\n${more}input { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\n`],
    [`${directoryOf(name, suffix)}/1/${code === null ? '.keep' : 'model.py'}`, code ?? ''],
  ]))))
  const server = await startServerProcess([`--model-repository=${repository.path}`, `--backend-config=python,interpreter=${python}`], { built: true, env: profileEnvironment(profileDirectory) })
  const fastApi = withFastApi ? await startFastApi() : 'left out'
  const keeping = withFastApi ? await startFastApi({ keepsMemory: true }) : 'left out'
  const others = [{ name: FASTAPI, service: fastApi }, { name: FASTAPI_KEEPING, service: keeping }]
  const rows = new ServiceRows(seconds)
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
          ...others.flatMap(({ name, service }) => (typeof service === 'string' ? [] : [{ name, job: jobOf('fastapi'), processId: service.processId, port: service.port }])),
        ]
        for (const { name, job, processId, port } of cases.filter((one) => `${one.name} ${size}`.includes(match))) {
          for (const concurrency of concurrencies) await rows.measure({ name, size, concurrency }, () => processorSecondsOfTree(processId), (given) => load({ ...job, ...given, port }))
        }
      }
    }
  } finally {
    await server.stop()
    for (const { service } of others) if (typeof service !== 'string') await service.stop()
  }
  return report(rows, loops, { rounds, seconds, fastApi: typeof fastApi === 'string' ? fastApi : null })
}

function report(rows: ServiceRows, loops: ReadonlyMap<string, readonly number[]>, { rounds, seconds, fastApi }: { readonly rounds: number; readonly seconds: number; readonly fastApi: string | null }): string[] {
  const lines = [`${machineFacts()}; medians of ${rounds} rounds of ${seconds} s`, ...rows.table('model', 'all processes')]
  for (const [size, times] of loops) {
    const p50 = (name: string) => medianOf(rows.find(name, size, 1), (s) => s.p50Milliseconds)
    const bare = middle(times), whole = p50(LOOPED) - bare, own = whole - p50('identity')
    if (Number.isNaN(own)) continue
    lines.push(`${size}: execute in a bare loop ${bare.toFixed(4)} ms at p50; a request over HTTP takes ${whole.toFixed(3)} ms more, of which the backend's own part (over the identity backend) ${own.toFixed(3)} ms`
      + (size === '64 B' ? ` (goal <= ${GOALS.overheadMilliseconds}): ${own <= GOALS.overheadMilliseconds ? 'met' : 'NOT MET'}` : ''))
  }
  if (fastApi !== null) return [...lines, `FastAPI: ${fastApi}`]
  for (const row of rows.all.filter(({ name }) => !name.startsWith(FASTAPI))) {
    const hasGoal = row.size === '600 KB' && row.name.startsWith('Python')
    for (const name of [FASTAPI, FASTAPI_KEEPING]) {
      const other = rows.find(name, row.size, row.concurrency)
      if (other === undefined) continue
      const ratio = perProcessorSecond(row, other)
      lines.push(`${row.name} ${row.size}, concurrency ${row.concurrency}: throughput per processor second of all processes / that of ${name}: ${ratio.toFixed(2)}${verdict(ratio, hasGoal ? GOALS.fastApiRatio : null)}`)
    }
  }
  return lines
}

await runServiceBench(import.meta.url, pythonFigures)
