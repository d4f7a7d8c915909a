/**
 * What a backend library costs beyond its own work: one batch from JavaScript to the thread of the instance, through a backend that only doubles 16 numbers,
 * and back. Of the answers the copies are counted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPreset, FIXTURE_BACKENDS } from '../../native/test-build.ts'
import { NativeBackends } from '../backends/native/native-backends.ts'
import type { BackendRequest } from '../backends/backend.ts'
import { steadyNanoseconds } from '../clock.ts'
import type { Tensor } from '../contract/inference.ts'
import { LogHub } from '../logger.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { serverOptions } from '../options.ts'
import { InflightRequest } from '../scheduling/inflight-request.ts'

const CONFIG = `name: "doubled" backend: "batching" max_batch_size: 8
  input { name: "X" data_type: TYPE_INT32 dims: [ 16 ] } output { name: "Y" data_type: TYPE_INT32 dims: [ 16 ] }`
const WARM_UP = 2_000
const BATCHES = 10_000

export interface HostOverhead {
  /** Microseconds a batch of one request. */
  readonly p50: number
  readonly p99: number
  /** Microseconds of processor time of this thread, which serves everything else as well. */
  readonly ownThread: number
  /** Copies a tensor makes between JavaScript and the backend. Inputs are borrowed where they lie. */
  readonly copiesOfInput: number
  readonly copiesOfOutput: number
}

/** Builds the backend where it is stale. */
export async function hostOverhead(): Promise<HostOverhead> {
  await buildPreset('test', 'fixture_backends')
  const options = serverOptions({ backendDirectory: FIXTURE_BACKENDS })
  const logs = new LogHub()
  const backends = new NativeBackends(options, logs)
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-bench-host-'))
  try {
    const model = await backends.backend('batching').initializeModel({
      backendConfig: {}, log: logs.logger('bench'), modelName: 'doubled', modelVersion: 1, modelDirectory: directory, versionDirectory: join(directory, '1'),
      config: readModelConfig(CONFIG, 'config.pbtxt'), autoComplete: false,
    })
    const instance = await model.initializeInstance({ name: 'doubled_0', index: 0, kind: 'KIND_CPU', deviceId: 0 })
    const input: Tensor = { name: 'X', datatype: 'INT32', shape: [1, 16], data: new Uint8Array(64) }
    for (let batch = 0; batch < WARM_UP; batch++) await instance.execute([request(input)])
    const before = { copies: backends.copies().tensors, cpu: process.threadCpuUsage() }
    const times: number[] = []
    for (let batch = 0; batch < BATCHES; batch++) {
      const started = steadyNanoseconds()
      await instance.execute([request(input)])
      times.push((steadyNanoseconds() - started) / 1000)
    }
    const cpu = process.threadCpuUsage(before.cpu)
    const copies = backends.copies().tensors - before.copies
    await instance.finalize()
    await model.finalize()
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)] ?? NaN
    return { p50: at(0.5), p99: at(0.99), ownThread: (cpu.user + cpu.system) / BATCHES, copiesOfInput: 0, copiesOfOutput: copies / BATCHES }
  } finally {
    await backends.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

function request(input: Tensor): BackendRequest {
  return new InflightRequest({
    id: '', inputs: [input], requestedOutputs: ['Y'], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0, onSettled: () => {},
  })
}

/** The lines of the report. `goal`: microseconds at the median. */
export function describeHostOverhead({ p50, p99, ownThread, copiesOfInput, copiesOfOutput }: HostOverhead, goal: number): string[] {
  return [
    `host overhead a batch, JavaScript to a backend library and back: p50 ${p50.toFixed(1)} us, p99 ${p99.toFixed(1)} us (goal: p50 <= ${goal} us on an idle machine): ${p50 <= goal ? 'met' : 'NOT MET'}; ${ownThread.toFixed(1)} us of the server's own thread`,
    `copies a tensor between JavaScript and the backend: ${copiesOfInput} of an input (borrowed where it lies), ${copiesOfOutput.toFixed(2)} of an output`,
  ]
}
