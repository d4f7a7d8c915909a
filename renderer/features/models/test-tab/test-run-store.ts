/** The last test run of each model, and what is filled in for it: kept while the window is open, so that looking at another tab loses nothing. */
import { create } from 'zustand'
import type { InferenceTiming } from '../../../../server-core/contract/console-api.ts'
import type { InferenceRequest, InferenceResponse } from '../../../../server-core/contract/inference.ts'
import { announce } from '../../../components/live-region.tsx'
import { errorText } from '../../../components/error-notice.tsx'
import { command } from '../../../console-client.ts'
import type { InputDraft } from '../../../../server-core/tensors/input-draft.ts'

export interface RunOutcome {
  readonly response: InferenceResponse
  readonly timing: InferenceTiming
  /** From sending the command to its answer, as this window measured it. */
  readonly roundTripMilliseconds: number
  /** 1 for the first run of this model in this window. */
  readonly runNumber: number
}

export interface ModelRun {
  readonly isRunning: boolean
  /** Of the last run that succeeded; stays while the next one runs. */
  readonly outcome: RunOutcome | null
  /** Of the last run, where it failed. */
  readonly error: unknown
  readonly runs: number
}

const IDLE: ModelRun = { isRunning: false, outcome: null, error: null, runs: 0 }

interface TestRunState {
  readonly runs: Readonly<Record<string, ModelRun>>
  readonly drafts: Readonly<Record<string, readonly InputDraft[]>>
}

export const useTestRuns = create<TestRunState>()(() => ({ runs: {}, drafts: {} }))

export function useModelRun(model: string): ModelRun {
  return useTestRuns((state) => state.runs[model] ?? IDLE)
}

export function setDrafts(model: string, drafts: readonly InputDraft[]): void {
  useTestRuns.setState((state) => ({ drafts: { ...state.drafts, [model]: drafts } }))
}

function setRun(model: string, change: Partial<ModelRun>): void {
  useTestRuns.setState((state) => ({ runs: { ...state.runs, [model]: { ...(state.runs[model] ?? IDLE), ...change } } }))
}

/** Runs one request and keeps its outcome. Returns it, or null when it failed (the error is kept and said). */
export async function runModel(request: Pick<InferenceRequest, 'modelName' | 'inputs'>): Promise<RunOutcome | null> {
  const model = request.modelName
  const runNumber = (useTestRuns.getState().runs[model]?.runs ?? 0) + 1
  setRun(model, { isRunning: true, runs: runNumber })
  const start = performance.now()
  try {
    const { response, timing } = await command('model.infer', { request: { modelVersion: '', id: '', requestedOutputs: [], parameters: {}, ...request } })
    const outcome = { response, timing, roundTripMilliseconds: performance.now() - start, runNumber }
    setRun(model, { isRunning: false, outcome, error: null })
    return outcome
  } catch (error) {
    setRun(model, { isRunning: false, outcome: null, error })
    announce(errorText(error), 'assertive')
    return null
  }
}
