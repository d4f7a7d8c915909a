/** One model instance of a backend without a server around it: what a batch costs from its scheduler on. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend, BackendRequest } from '../backends/backend.ts'
import { NativeBackends } from '../backends/native/native-backends.ts'
import { createOnnxRuntimeBackend } from '../backends/onnxruntime/onnxruntime-backend.ts'
import type { OnnxRuntimeImplementation } from '../backends/onnxruntime/onnxruntime-implementation.ts'
import type { Tensor } from '../contract/inference.ts'
import { LogHub } from '../logger.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { serverOptions, type ServerOptions } from '../options.ts'
import { InflightRequest } from '../scheduling/inflight-request.ts'

export interface BenchModel {
  /** config.pbtxt; batches up to 8. */
  readonly config: string
  /** model.onnx, where the backend wants one. */
  readonly file?: Uint8Array
  readonly output: string
}

export class BenchInstance implements AsyncDisposable {
  /** Executes one batch with a request for each of the tensors, and answers it. */
  readonly run: (inputs: readonly Tensor[]) => Promise<void>
  readonly native: NativeBackends
  readonly #close: () => Promise<void>

  /** @param backend makes the backend, given those that are libraries */
  static async open(backend: (native: NativeBackends, logs: LogHub) => Promise<Backend>, model: BenchModel, options: Partial<ServerOptions> = {}): Promise<BenchInstance> {
    const logs = new LogHub()
    const native = new NativeBackends(serverOptions(options), logs)
    const directory = mkdtempSync(join(tmpdir(), 'npu-console-bench-instance-'))
    mkdirSync(join(directory, '1'))
    if (model.file !== undefined) writeFileSync(join(directory, '1/model.onnx'), model.file)
    const loaded = await (await backend(native, logs)).initializeModel({
      backendConfig: {}, log: logs.logger('bench'), modelName: 'bench', modelVersion: 1, modelDirectory: directory, versionDirectory: join(directory, '1'),
      config: readModelConfig(model.config, 'config.pbtxt'), autoComplete: false,
    })
    const instance = await loaded.initializeInstance({ name: 'bench_0', index: 0, kind: 'KIND_CPU', deviceId: 0 })
    const run = async (inputs: readonly Tensor[]) => {
      const requests = inputs.map((input) => requestOf(input, model.output))
      const times = await instance.execute(requests)
      for (const request of requests) request.settleExecution(times, requests.length, null)
    }
    return new BenchInstance(run, native, async () => {
      await instance.finalize()
      await loaded.finalize()
      await native.close()
      rmSync(directory, { recursive: true, force: true })
    })
  }

  static openOnnxRuntime(implementation: OnnxRuntimeImplementation, model: BenchModel): Promise<BenchInstance> {
    return BenchInstance.open(async (native, logs) => {
      const backend = createOnnxRuntimeBackend({ isVerbose: () => false })
      await backend.initialize?.({ backendConfig: { implementation }, log: logs.logger('bench'), library: native.backend('onnxruntime') })
      return backend
    }, model)
  }

  private constructor(run: BenchInstance['run'], native: NativeBackends, close: () => Promise<void>) {
    this.run = run
    this.native = native
    this.#close = close
  }

  async [Symbol.asyncDispose](): Promise<void> { await this.#close() }
}

function requestOf(input: Tensor, output: string): InflightRequest & BackendRequest {
  return new InflightRequest({
    id: '', inputs: [input], requestedOutputs: [output], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0, timeoutMicroseconds: 0,
    onSettled: (outcome) => { if (outcome.kind === 'failure') throw outcome.error },
  })
}
