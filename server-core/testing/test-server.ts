import { BackendRegistry, builtInBackends } from '../backends/backend-registry.ts'
import { systemClock, type Clock } from '../clock.ts'
import type { InferenceRequest, Tensor } from '../contract/inference.ts'
import { LogHub } from '../logger.ts'
import { serverOptions, type ServerOptions } from '../options.ts'
import { TritonInferenceServer, type TritonInferenceServerOptions } from '../triton-inference-server.ts'

export interface TestServer extends AsyncDisposable {
  readonly server: TritonInferenceServer
  readonly logs: LogHub
  readonly registry: BackendRegistry
}

/** The real server over a repository, without front ends. Not started. Explicit mode unless said otherwise. */
export function createTestServer(repositories: readonly string[], given: Partial<ServerOptions> = {}, clock: Clock = systemClock, parts: Pick<TritonInferenceServerOptions, 'trust'> = {}): TestServer {
  const logs = new LogHub()
  const options = serverOptions({ modelRepositories: repositories, modelControlMode: 'explicit', ...given })
  const registry = new BackendRegistry(builtInBackends(logs), options, logs)
  const server = new TritonInferenceServer({ options, registry, clock, logs, ...parts })
  return { server, logs, registry, [Symbol.asyncDispose]: () => server.stop(10) }
}

/** A request with FP32 inputs given as rows. */
export function requestOf(modelName: string, inputs: readonly Tensor[], more: Partial<InferenceRequest> = {}): InferenceRequest {
  return { modelName, modelVersion: '', id: '', inputs, requestedOutputs: [], parameters: {}, ...more }
}

export function fp32(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  return { name, datatype: 'FP32', shape, data: new Uint8Array(new Float32Array(values).buffer) }
}

export function floatsOf(tensor: Tensor | undefined): number[] {
  if (tensor === undefined) return []
  return [...new Float32Array(tensor.data.slice().buffer)]
}
