/** Model summaries and samples for tests. */
import type { ServerStatus } from '../../server-core/contract/console-api.ts'
import type { LoadStage, LoadStageKind, ModelSummary, ModelVersionSummary } from '../../server-core/contract/repository.ts'
import type { ModelSample, NpuSample, ServerSample } from '../../server-core/contract/statistics.ts'

export function modelSummary(name: string, part: Partial<ModelSummary> = {}): ModelSummary {
  const state = part.state ?? 'UNKNOWN'
  return {
    name, repositoryPath: '/models', backend: 'onnxruntime', platform: '', state, reason: part.reason ?? '',
    versions: [versionSummary('1', { state, reason: part.reason ?? '' })], instanceCount: state === 'READY' ? 1 : null, runsOn: state === 'READY' ? 'CPU' : null, isSimulated: false, degraded: null, changedAt: 1000, stage: null, lastLoad: null, traffic: null, maxBatchSize: 4, awaitsTrust: null, ...part,
  }
}

export function loadStage(kind: LoadStageKind, part: Partial<LoadStage> = {}): LoadStage {
  return { kind, version: '', instance: 0, instanceCount: 0, startedAt: 1000, ...part }
}

export function versionSummary(version: string, part: Partial<ModelVersionSummary> = {}): ModelVersionSummary {
  return { version, state: 'UNKNOWN', reason: '', files: [{ path: `${version}/model.onnx`, byteSize: 2048, modifiedAt: 0 }], changedAt: 0, instances: [], ...part }
}

export function modelSample(model: string, part: Partial<ModelSample> = {}): ModelSample {
  return {
    model, version: '1', success: 0, failure: 0, inferences: 0, executions: 0, latency: {}, queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0,
    batchSizes: {}, pending: 0, inFlight: 0, ...part,
  }
}

export function serverSample(second: number, models: readonly ModelSample[] = []): ServerSample {
  return { time: second * 1000, models, processCpuCores: null, processResidentBytes: null, npus: null }
}

/** A card that reports everything. */
export function npuSample(part: Partial<NpuSample> = {}): NpuSample {
  return {
    card: 0, chip: '910B3', aiCorePercent: 38, vectorCorePercent: 19, cubeCorePercent: 34, memoryUsedBytes: 8 * 2 ** 30, memoryTotalBytes: 64 * 2 ** 30, temperatureCelsius: 51, powerWatts: 98.4, health: 'ok', errorCodes: [],
    readAt: 10_000, detailsReadAt: 10_000, isSimulated: false, ...part,
  }
}

export function serverStatus(part: Partial<ServerStatus> = {}): ServerStatus {
  return {
    id: 'triton', version: '2.73.0', instanceId: 'first', state: 'READY', startedAt: 500, controlMode: 'explicit', repositoryPaths: ['/models'], http: { address: '127.0.0.1', port: 8000 }, grpc: null, metrics: null, console: null,
    processId: 1, nodeVersion: 'v24', onnxRuntimeVersion: null, platform: 'linux-x64', cpuCount: 2, totalMemoryBytes: 2 ** 30, npuCount: null, cannVersion: null, driverVersion: null, npuSource: 'auto', npuFallback: 'fail', canRestart: false, repositoryTrust: { mode: 'all', trusted: [] }, ...part,
  }
}
