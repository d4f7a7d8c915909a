/**
 * What the protocols cost: an identity model with a tensor of 64 B and of 600 KB over HTTP with binary data, HTTP with JSON, and gRPC, beside a FastAPI
 * service that takes the same HTTP requests and copies the tensor (`fastapi_identity.py`) and a service made with grpc-js as it comes, in turns in one run. What counts is processor time of the
 * server, which a busy machine changes least. By itself: `npm run bench -- --only=protocols`, or `node server-core/bench/protocols.ts --rounds=3
 * --seconds=2 [--concurrency=8] [--without=fastapi] [--cpu-prof=<directory>]`.
 */
import { loadProtoServices } from '../frontends/grpc/proto-services.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { binaryRequest, grpcLoad, jsonBody, load, type Job } from './load-process.ts'
import { machineFacts } from './machine-facts.ts'
import { startFastApi, startGrpcJs, type OtherService } from './other-services.ts'
import { processorSeconds } from './processor-time.ts'
import { medianOf, perProcessorSecond, profileEnvironment, runServiceBench, ServiceRows, verdict, type ServiceBenchOptions } from './service-rows.ts'

/** Elements of the tensors: 64 B, and a picture of 3 x 224 x 224. */
const SIZES = [{ name: '64 B', model: 'small', elements: 16 }, { name: '600 KB', model: 'large', elements: 150_528 }] as const
const CONCURRENCIES = [1, 8, 32]
/** Throughput per processor second of the server over FastAPI's. */
const GOALS = { binary: 1, largeJson: 3, largeGrpc: 1.5 }
const MODEL_INFER = '/inference.GRPCInferenceService/ModelInfer'

/** @returns the report, line by line */
export async function protocolFigures({ rounds, seconds, concurrencies = CONCURRENCIES, withFastApi = true, profileDirectory, match = '' }: ServiceBenchOptions): Promise<string[]> {
  await using repository = await TemporaryRepository.create(Object.fromEntries(SIZES.flatMap(({ model, elements }) => [
    [`${model}/config.pbtxt`, `backend: "identity"\nmax_batch_size: 64\ninput { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${elements} ] }\n`],
    [`${model}/1/.keep`, ''],
  ])))
  const server = await startServerProcess([`--model-repository=${repository.path}`], { built: true, env: profileEnvironment(profileDirectory) })
  const fastApi = withFastApi ? await startFastApi() : 'left out'
  const grpcJs = await startGrpcJs()
  const rows = new ServiceRows(seconds)
  try {
    const cases = SIZES.flatMap((size) => casesOf(size, server, grpcJs, typeof fastApi === 'string' ? undefined : fastApi)).filter(({ name, size }) => `${name} ${size}`.includes(match))
    for (let round = 0; round < rounds; round++) {
      for (const { name, size, processId, run } of cases) {
        for (const concurrency of concurrencies) await rows.measure({ name, size, concurrency }, () => processorSeconds(processId), run)
      }
    }
  } finally {
    await server.stop()
    await grpcJs.stop()
    if (typeof fastApi !== 'string') await fastApi.stop()
  }
  return report(rows, { rounds, seconds, fastApi: typeof fastApi === 'string' ? fastApi : null })
}

type Load = Pick<Parameters<typeof load>[0], 'concurrency' | 'warmupSeconds' | 'seconds'>

function casesOf({ name: size, model, elements }: typeof SIZES[number], server: { readonly processId: number; readonly httpPort: number; readonly grpcPort: number }, grpcJs: OtherService, fastApi: OtherService | undefined) {
  const data = Float32Array.from({ length: elements }, (_none, index) => Math.sin(index))
  const tensor = { name: 'INPUT0', shape: [1, elements], datatype: 'FP32' as const, data: new Uint8Array(data.buffer) }
  const path = `/v2/models/${model}/infer`
  const binary: Job = { path, ...binaryRequest([tensor], { outputs: ['OUTPUT0'] }) }
  const json: Job = { path, ...jsonBody('INPUT0', tensor.shape, data) }
  const serialize = loadProtoServices().inference['ModelInfer']?.requestSerialize
  if (serialize === undefined) throw new Error('no ModelInfer')
  const message = serialize({ model_name: model, inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: tensor.shape }], raw_input_contents: [Buffer.from(tensor.data)] }).toString('base64')
  const { processId, httpPort, grpcPort } = server
  return [
    { name: 'HTTP binary', size, processId, run: (given: Load) => load({ ...binary, ...given, port: httpPort }) },
    { name: 'HTTP JSON', size, processId, run: (given: Load) => load({ ...json, ...given, port: httpPort }) },
    { name: 'gRPC', size, processId, run: (given: Load) => grpcLoad({ path: MODEL_INFER, message, ...given, port: grpcPort }) },
    { name: 'grpc-js', size, processId: grpcJs.processId, run: (given: Load) => grpcLoad({ path: MODEL_INFER, message, ...given, port: grpcJs.port }) },
    ...(fastApi === undefined ? [] : [
      { name: 'FastAPI binary', size, processId: fastApi.processId, run: (given: Load) => load({ ...binary, ...given, port: fastApi.port }) },
      { name: 'FastAPI JSON', size, processId: fastApi.processId, run: (given: Load) => load({ ...json, ...given, port: fastApi.port }) },
    ]),
  ]
}

function report(rows: ServiceRows, { rounds, seconds, fastApi }: { readonly rounds: number; readonly seconds: number; readonly fastApi: string | null }): string[] {
  const lines = [`${machineFacts()}; medians of ${rounds} rounds of ${seconds} s`, ...rows.table('protocol', 'the server')]
  for (const row of rows.all.filter(({ name }) => name === 'gRPC')) {
    const other = rows.find('grpc-js', row.size, row.concurrency)
    if (other === undefined) continue
    const throughput = medianOf(row, (s) => s.requestsPerSecond) / medianOf(other, (s) => s.requestsPerSecond)
    const ratio = perProcessorSecond(row, other)
    lines.push(`gRPC ${row.size}, concurrency ${row.concurrency}: over grpc-js as it comes: requests/s ${throughput.toFixed(2)}, throughput per processor second of the server ${ratio.toFixed(2)}${verdict(ratio, row.size === '600 KB' ? GOALS.largeGrpc : null)}`)
  }
  if (fastApi !== null) return [...lines, `FastAPI: ${fastApi}`]
  for (const [name, goalOf] of [['binary', () => GOALS.binary], ['JSON', (size: string) => (size === '600 KB' ? GOALS.largeJson : null)]] as const) {
    for (const row of rows.all.filter((one) => one.name === `HTTP ${name}`)) {
      const other = rows.find(`FastAPI ${name}`, row.size, row.concurrency)
      if (other === undefined) continue
      const ratio = perProcessorSecond(row, other)
      lines.push(`HTTP ${name} ${row.size}, concurrency ${row.concurrency}: throughput per processor second of the server / FastAPI's: ${ratio.toFixed(2)}${verdict(ratio, goalOf(row.size))}`)
    }
  }
  return lines
}

await runServiceBench(import.meta.url, protocolFigures)
