/** The load generator as a process of its own, and the requests that benchmarks send. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadJob, LoadResult } from './load-generator.ts'

const LOAD_GENERATOR = fileURLToPath(new URL('load-generator.ts', import.meta.url))

/** What is sent again and again. */
export type Job = Pick<LoadJob, 'path' | 'body' | 'headerLength'>

/** A request with one FP32 input of equal numbers, as binary data in and out. */
export function binaryBody(input: string, shape: readonly number[], output?: string): Pick<LoadJob, 'body' | 'headerLength'> {
  const data = new Float32Array(shape.reduce((product, dim) => product * dim, 1)).fill(0.1)
  const header = Buffer.from(JSON.stringify({
    inputs: [{ name: input, shape, datatype: 'FP32', parameters: { binary_data_size: data.byteLength } }],
    ...(output === undefined ? { parameters: { binary_data_output: true } } : { outputs: [{ name: output, parameters: { binary_data: true } }] }),
  }))
  return { body: Buffer.concat([header, Buffer.from(data.buffer)]).toString('base64'), headerLength: header.byteLength }
}

/** Runs the load generator in a process of its own, whose processor time is not the server's. */
export async function load(job: LoadJob): Promise<LoadResult> {
  const child = spawn(process.execPath, [LOAD_GENERATOR], { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString('utf8') })
  child.stdin.end(JSON.stringify(job))
  const code = await new Promise<number | null>((resolve) => { child.on('close', resolve) })
  if (code !== 0) throw new Error(`the load generator ended with code ${code}`)
  return JSON.parse(output) as LoadResult
}
