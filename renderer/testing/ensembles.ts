/** Graphs of ensembles for tests. */
import type { EnsembleEdge, EnsembleExecution, EnsembleGraph, EnsembleGraphStep, EnsembleStepRun, EnsembleStepStatistics } from '../../server-core/contract/ensemble.ts'

const NO_TIME = { queueNanoseconds: 0, computeInputNanoseconds: 0, computeInferNanoseconds: 0, computeOutputNanoseconds: 0 } as const

export function graphStep(step: number, modelName: string, part: Partial<EnsembleGraphStep> = {}): EnsembleGraphStep {
  return { step, modelName, modelVersion: -1, servedVersion: '1', isDecoupled: false, isEnsemble: false, ...part }
}

/** `from` and `to`: a step, or null for request and response. */
export function graphEdge(tensor: string, from: number | null, to: number | null, part: Partial<EnsembleEdge> = {}): EnsembleEdge {
  return {
    tensor, datatype: 'FP32', shape: [-1, 4], from: from === null ? { kind: 'request' } : { kind: 'step', step: from, output: `out_${tensor}` }, to: to === null ? { kind: 'response' } : { kind: 'step', step: to, input: `in_${tensor}` }, ...part,
  }
}

export function stepStatistics(step: number, part: Partial<EnsembleStepStatistics> = {}): EnsembleStepStatistics {
  return { step, count: 0, failed: 0, totalNanoseconds: 0, heldNanoseconds: 0, ...NO_TIME, ...part }
}

export function stepRun(step: number, startMilliseconds: number, endMilliseconds: number | null, part: Partial<EnsembleStepRun> = {}): EnsembleStepRun {
  return { step, iteration: 0, startNanoseconds: startMilliseconds * 1e6, endNanoseconds: endMilliseconds === null ? null : endMilliseconds * 1e6, heldNanoseconds: 0, ...NO_TIME, batchSize: 1, responseCount: 1, error: null, ...part }
}

export function ensembleExecution(finishedAt: number, totalMilliseconds: number, steps: readonly EnsembleStepRun[], part: Partial<EnsembleExecution> = {}): EnsembleExecution {
  return { id: '', finishedAt, totalNanoseconds: totalMilliseconds * 1e6, outcome: 'success', error: null, steps, omittedStepRuns: 0, ...part }
}

export function ensembleGraph(part: Partial<EnsembleGraph> = {}): EnsembleGraph {
  return { name: 'line', version: '1', isDecoupled: false, maxInflightRequests: 0, steps: [], edges: [], statistics: [], executions: [], ...part }
}
