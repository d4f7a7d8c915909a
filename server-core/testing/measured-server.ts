/**
 * An HTTP front end in a process of its own that tells how much memory its process had at most: for tests of what a request costs. Started with `fork`; asked for
 * 'mark' it collects its garbage, begins to measure anew and says what it has; asked for 'peak' it says the most it had since. Bytes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { InferenceRequest, InferenceResponse } from '../contract/inference.ts'
import { startHttpFrontend } from '../frontends/http/http-frontend.ts'
import { LogHub } from '../logger.ts'
import { collectGarbage } from './collect-garbage.ts'
import { InMemoryInferenceServer, inMemoryModel } from './in-memory-inference-server.ts'
import { noSimulation } from './test-devices.ts'

export type MeasuredServerMessage = { readonly port: number } | { readonly bytes: number }

/** Resident memory of this process. */
function resident(which: 'VmRSS' | 'VmHWM'): number {
  const kilobytes = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
  return Number(kilobytes) * 1024
}

/** Says how many bytes its inputs have, and with `check` a sum of them, so that the test sees that they came whole. */
function answer({ modelName, inputs }: InferenceRequest): InferenceResponse {
  const sums = new Float64Array(2)
  for (const { data } of inputs) {
    sums[0] = (sums[0] ?? 0) + data.byteLength
    for (let i = 0; i < data.byteLength; i += 997) sums[1] = (sums[1] ?? 0) + (data[i] ?? 0)
  }
  return { modelName, modelVersion: '1', id: '', parameters: {}, outputs: [{ name: 'SUMS', datatype: 'FP64', shape: [2], data: new Uint8Array(sums.buffer) }] }
}

/** Model `big`: as many bytes of output as its only input says. FP32 values have long texts; strings are short ones, or a single one. */
function enlarge({ modelName, inputs: [input] }: InferenceRequest): InferenceResponse {
  const [byteSize = 0] = new Float64Array(Uint8Array.from(input?.data ?? []).buffer)
  const isText = input?.name !== 'FP32_OF'
  const stringBytes = input?.name === 'STRING_OF' ? byteSize : STRING_BYTES
  const data = isText ? strings(byteSize, stringBytes) : floats(byteSize)
  return { modelName, modelVersion: '1', id: '', parameters: {}, outputs: [{ name: 'BIG', datatype: isText ? 'BYTES' : 'FP32', shape: [isText ? byteSize / stringBytes : byteSize / 4], data }] }
}

function floats(byteSize: number): Uint8Array {
  const values = new Float32Array(byteSize / 4)
  for (let index = 0; index < values.length; index++) values[index] = 1.5 + index / 7
  return new Uint8Array(values.buffer)
}

const STRING_BYTES = 1024

/** @param stringBytes of a string with its length */
function strings(byteSize: number, stringBytes: number): Uint8Array {
  const data = Buffer.alloc(byteSize, 'a string ')
  for (let at = 0; at < byteSize; at += stringBytes) data.writeUInt32LE(stringBytes - 4, at)
  return data
}

const inputs = (['FP32', 'INT64', 'UINT8', 'BOOL', 'BYTES'] as const).map((datatype) => ({ name: datatype, datatype, dims: [-1] }))
const server = new InMemoryInferenceServer([
  inMemoryModel('m', inputs, { respond: answer }),
  inMemoryModel('big', ['BYTES_OF', 'FP32_OF', 'STRING_OF'].map((name) => ({ name, datatype: 'FP64', dims: [1] })), { respond: enlarge }),
])
const { port } = await startHttpFrontend({ server, address: '127.0.0.1', port: 0, allowRepositoryControl: false, simulation: noSimulation(), log: new LogHub().logger('http'), maxInputSize: 2 ** 26 })

const say = (message: MeasuredServerMessage) => { process.send?.(message) }

/** The collector gives memory back on threads of its own: waits until it is done. */
async function settled(): Promise<number> {
  for (let least = Infinity; ;) {
    await collectGarbage()
    await sleep(20)
    const now = resident('VmRSS')
    if (now >= least) return now
    least = now
  }
}

process.on('message', (message) => {
  if (message === 'peak') { say({ bytes: resident('VmHWM') }); return }
  void settled().then((bytes) => {
    // proc(5): 5 sets the peak to what is resident now.
    writeFileSync('/proc/self/clear_refs', '5')
    say({ bytes })
  })
})
process.on('disconnect', () => { process.exit(0) })
say({ port })
