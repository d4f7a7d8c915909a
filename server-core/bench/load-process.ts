/** The load generator as a process of its own, and the requests that benchmarks send. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Tensor } from '../contract/inference.ts'
import type { GrpcLoadJob } from './grpc-load-generator.ts'
import type { LoadJob } from './load-generator.ts'
import type { LoadResult } from './load-meter.ts'

const LOAD_GENERATOR = fileURLToPath(new URL('load-generator.ts', import.meta.url))
const GRPC_LOAD_GENERATOR = fileURLToPath(new URL('grpc-load-generator.ts', import.meta.url))

/** What is sent again and again. */
export type Job = Pick<LoadJob, 'path' | 'body' | 'headerLength'>

/** A request with one FP32 input of equal numbers, as binary data in and out. */
export function binaryBody(input: string, shape: readonly number[], output?: string): Pick<LoadJob, 'body' | 'headerLength'> {
  const data = new Float32Array(shape.reduce((product, dim) => product * dim, 1)).fill(0.1)
  return binaryRequest([{ name: input, shape, datatype: 'FP32', data: new Uint8Array(data.buffer) }], output === undefined ? {} : { outputs: [output] })
}

/** A request with these inputs; outputs come as binary data: those listed, else all. */
export function binaryRequest(
  inputs: readonly Tensor[], { outputs = null, parameters = {} }: { readonly outputs?: readonly string[] | null; readonly parameters?: object } = {},
): Pick<LoadJob, 'body' | 'headerLength'> {
  const header = Buffer.from(JSON.stringify({
    inputs: inputs.map(({ name, shape, datatype, data }) => ({ name, shape, datatype, parameters: { binary_data_size: data.byteLength } })),
    parameters: { ...parameters, ...(outputs === null ? { binary_data_output: true } : {}) },
    ...(outputs === null ? {} : { outputs: outputs.map((name) => ({ name, parameters: { binary_data: true } })) }),
  }))
  return { body: Buffer.concat([header, ...inputs.map(({ data }) => data)]).toString('base64'), headerLength: header.byteLength }
}

/** A request with one FP32 input as JSON; its output comes as JSON, too. */
export function jsonBody(input: string, shape: readonly number[], data: Float32Array): Pick<LoadJob, 'body' | 'headerLength'> {
  return { body: Buffer.from(JSON.stringify({ inputs: [{ name: input, shape, datatype: 'FP32', data: [...data] }] })).toString('base64'), headerLength: undefined }
}

/** Runs the load generator in a process of its own, whose processor time is not the server's. */
export function load(job: LoadJob): Promise<LoadResult> { return runGenerator(LOAD_GENERATOR, job) }

/** The same over gRPC. */
export function grpcLoad(job: GrpcLoadJob): Promise<LoadResult> { return runGenerator(GRPC_LOAD_GENERATOR, job) }

async function runGenerator(file: string, job: LoadJob | GrpcLoadJob): Promise<LoadResult> {
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString('utf8') })
  child.stdin.end(JSON.stringify(job))
  const code = await new Promise<number | null>((resolve) => { child.on('close', resolve) })
  if (code !== 0) throw new Error(`the load generator ended with code ${code}`)
  return JSON.parse(output) as LoadResult
}
