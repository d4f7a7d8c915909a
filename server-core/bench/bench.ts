/**
 * npm run bench: the server against bare onnxruntime-node, on one machine in one run. Rounds alternate so that noise hits both sides; figures
 * are medians over the rounds. Prints a table, the ratios with their goals, and the machine's facts.
 *   --rounds=3 --seconds=4
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { lintFigures, listingFigures, parsingFigures } from './disk-and-text.ts'
import { schedulerCost } from './scheduler-cost.ts'
import { statisticsCost } from './statistics-cost.ts'
import { startServerProcess } from '../testing/server-process.ts'
import type { LoadResult } from './load-meter.ts'
import { binaryBody, load, type Job } from './load-process.ts'
import { describeHostOverhead, hostOverhead } from './host-overhead.ts'
import { machineFacts } from './machine-facts.ts'
import { onnxRuntimeFigures } from './onnxruntime-implementations.ts'
import { protocolFigures } from './protocols.ts'
import { pythonFigures } from './python.ts'
import { countTensorCopies, describeTensorCopies } from './tensor-copies.ts'

const CONCURRENCIES = [1, 8, 32]
const GOALS = { ocrRatio: 0.85, identityP50Milliseconds: 0.5, residentMegabytes: 120, histogramShare: 0.02, schedulerMicroseconds: 15, batchingRatio: 1.5, hostMicroseconds: 60 }
const OCR_MODELS = ['ppocr_rec', 'ppocr_det', 'ppocr_cls']
const OCR_SHAPE = [1, 3, 48, 320]
const THREADS = 1
/** The recogniser without dynamic_batching. */
const UNBATCHED = 'ppocr_rec_unbatched'
const UNBATCHED_CONCURRENCY = 32

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '4' } } })
const rounds = Number(values.rounds), seconds = Number(values.seconds)
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const assetsDirectory = here('../../assets/sample-repository')
const run = promisify(execFile)

const directory = mkdtempSync(join(tmpdir(), 'npu-console-bench-'))
try {
  await bench()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function bench(): Promise<void> {
  const repository = await benchRepository()
  const model = (name: string) => join(repository, name, '1', 'model.onnx')
  const identity: Job = { path: '/v2/models/identity/infer', ...binaryBody('INPUT0', [1, 16], 'OUTPUT0') }
  const recognise: Job = { path: '/v2/models/ppocr_rec/infer', ...binaryBody('x', OCR_SHAPE) }
  const recogniseUnbatched: Job = { ...recognise, path: `/v2/models/${UNBATCHED}/infer` }

  const held = JSON.parse((await run(process.execPath, [here('bare-loop.ts'), 'hold', ...OCR_MODELS.map(model)])).stdout) as { residentBytes: number }
  const memoryServer = await startServerProcess([`--model-repository=${repository}`, '--model-control-mode=explicit', ...OCR_MODELS.map((name) => `--load-model=${name}`)], { built: true })
  const serverResident = residentBytes(memoryServer.processId)
  await memoryServer.stop()

  const server = await startServerProcess([`--model-repository=${repository}`, '--model-control-mode=explicit', '--load-model=identity', '--load-model=ppocr_rec', `--load-model=${UNBATCHED}`], { built: true })
  const samples = new Map<string, LoadResult[]>()
  const bare: Record<number, number>[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      bare.push(JSON.parse((await run(process.execPath, [here('bare-loop.ts'), 'throughput', model('ppocr_rec'), String(THREADS), String(seconds / 2)])).stdout) as Record<number, number>)
      const measure = async (name: string, job: Job, concurrency: number) => {
        const key = `${name}|${concurrency}`
        samples.set(key, [...(samples.get(key) ?? []), await load({ ...job, port: server.httpPort, concurrency, warmupSeconds: 1, seconds })])
      }
      for (const concurrency of CONCURRENCIES) {
        for (const [name, job] of [['identity 64 B', identity], ['ppocr_rec 48x320', recognise]] as const) {
          await measure(name, job, concurrency)
        }
      }
      await measure('ppocr_rec unbatched', recogniseUnbatched, UNBATCHED_CONCURRENCY)
    }
  } finally {
    await server.stop()
  }
  await report(samples, bare, serverResident - held.residentBytes, serverResident)
  for (const line of [parsingFigures(), lintFigures(), await listingFigures(directory), ...await onnxRuntimeFigures(join(directory, 'implementations'), { rounds, seconds }), ...await protocolFigures({ rounds, seconds: seconds / 2 }), ...await pythonFigures({ rounds, seconds: seconds / 2 })]) process.stdout.write(`${line}\n`)
}

/** The sample repository plus an identity model; the recogniser as shipped (batching on, one instance, one thread). */
async function benchRepository(): Promise<string> {
  const repository = join(directory, 'repository')
  cpSync(await createSampleRepository(join(directory, 'data'), { assetsDirectory }), repository, { recursive: true })
  mkdirSync(join(repository, 'identity', '1'), { recursive: true })
  writeFileSync(join(repository, 'identity', 'config.pbtxt'), [
    'backend: "identity"', 'max_batch_size: 64',
    'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]', 'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]',
    'instance_group [ { count: 1 kind: KIND_CPU } ]', ''].join('\n'))
  cpSync(join(repository, 'ppocr_rec'), join(repository, UNBATCHED), { recursive: true })
  const config = readFileSync(join(repository, 'ppocr_rec', 'config.pbtxt'), 'utf8')
  const unbatched = config.replace(/^dynamic_batching \{[^}]*\}/m, '')
  if (unbatched === config) throw new Error('the recogniser has no dynamic_batching to take out')
  writeFileSync(join(repository, UNBATCHED, 'config.pbtxt'), unbatched)
  return repository
}

function residentBytes(processId: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1]
  return Number(kilobytes) * 1024
}

async function report(samples: ReadonlyMap<string, readonly LoadResult[]>, bare: readonly Record<number, number>[], extraResident: number, serverResident: number): Promise<void> {
  const line = (text: string) => { process.stdout.write(`${text}\n`) }
  const memory = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`
  const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
  const verdict = (isMet: boolean) => (isMet ? 'met' : 'NOT MET')

  line(`${machineFacts()}; client, server and bare loop share the cores`)
  line(`medians of ${rounds} rounds of ${seconds} s; ONNX Runtime threads per session: ${THREADS}\n`)
  line('model              concurrency   requests/s     p50 ms     p99 ms')
  for (const [key, results] of samples) {
    const [name = '', concurrency = ''] = key.split('|')
    line(`${name.padEnd(18)} ${concurrency.padStart(11)} ${median(results.map((r) => r.requestsPerSecond)).toFixed(1).padStart(12)} ${median(results.map((r) => r.p50Milliseconds)).toFixed(3).padStart(10)} ${median(results.map((r) => r.p99Milliseconds)).toFixed(3).padStart(10)}`)
  }
  line('\nbare onnxruntime-node loop, ppocr_rec 48x320, items/s by batch size:')
  const bareBySize = Object.keys(bare[0] ?? {}).map((size) => [size, median(bare.map((row) => row[Number(size)] ?? NaN))] as const)
  line(bareBySize.map(([size, rate]) => `  batch ${size}: ${rate.toFixed(1)}`).join('\n'))

  const best = Math.max(...bareBySize.map(([, rate]) => rate))
  const throughput = Math.max(...CONCURRENCIES.map((concurrency) => median((samples.get(`ppocr_rec 48x320|${concurrency}`) ?? []).map((r) => r.requestsPerSecond))))
  const identityP50 = median((samples.get('identity 64 B|1') ?? []).map((r) => r.p50Milliseconds))
  line('')
  line(`OCR throughput / bare loop at its best batch size: ${(throughput / best).toFixed(3)} (goal >= ${GOALS.ocrRatio}): ${verdict(throughput / best >= GOALS.ocrRatio)}`)
  line(`identity p50 at concurrency 1: ${identityP50.toFixed(3)} ms (goal <= ${GOALS.identityP50Milliseconds} ms): ${verdict(identityP50 <= GOALS.identityP50Milliseconds)}`)
  const busiest = Math.max(...CONCURRENCIES.map((concurrency) => median((samples.get(`identity 64 B|${concurrency}`) ?? []).map((r) => r.requestsPerSecond))))
  const cost = statisticsCost()
  const histogramShare = cost.histogramNanoseconds * busiest / 1e9
  line(`counting one request: ${cost.countNanoseconds.toFixed(0)} ns, of which the latency histogram ${cost.histogramNanoseconds.toFixed(0)} ns = ${(histogramShare * 100).toFixed(2)} % of an identity request at its best throughput (goal <= ${GOALS.histogramShare * 100} %): ${verdict(histogramShare <= GOALS.histogramShare)}`)
  const ocrAt = (name: string) => median((samples.get(`${name}|${UNBATCHED_CONCURRENCY}`) ?? []).map((r) => r.requestsPerSecond))
  const batchingRatio = ocrAt('ppocr_rec 48x320') / ocrAt('ppocr_rec unbatched')
  const single = bareBySize[0]?.[1] ?? NaN
  line(`OCR at concurrency ${UNBATCHED_CONCURRENCY}, dynamic batching on / off: ${batchingRatio.toFixed(2)} (goal >= ${GOALS.batchingRatio}): ${verdict(batchingRatio >= GOALS.batchingRatio)}; the bare loop gains ${(best / single).toFixed(2)} from its best batch size`)
  for (const text of [...describeHostOverhead(await hostOverhead(), GOALS.hostMicroseconds), ...describeTensorCopies(await countTensorCopies())]) line(text)
  const scheduler = await schedulerCost()
  line(`dynamic batcher: ${scheduler.microsecondsPerRequest.toFixed(1)} us a request at ${scheduler.meanBatchSize.toFixed(1)} requests a batch (goal <= ${GOALS.schedulerMicroseconds} us): ${verdict(scheduler.microsecondsPerRequest <= GOALS.schedulerMicroseconds)}`)
  for (const { name, few, many } of scheduler.queues) {
    line(`  into and out of the queue, ${name}: ${few.toFixed(0)} ns with 100 waiting, ${many.toFixed(0)} ns with 100,000, ratio ${(many / few).toFixed(1)}`)
  }
  line(`server resident memory with the OCR models (${memory(serverResident)}) minus bare process with as many sessions: ${memory(extraResident)} (goal <= ${GOALS.residentMegabytes} MB): ${verdict(extraResident <= GOALS.residentMegabytes * 2 ** 20)}`)
}
