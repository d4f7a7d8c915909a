/** How the pipelines page is being looked at; it survives a visit to another page. */
import { create } from 'zustand'
import type { EnsembleExecution } from '../../../server-core/contract/ensemble.ts'

export const PIPELINE_VIEWS = ['canvas', 'both', 'outline'] as const
export type PipelineView = (typeof PIPELINE_VIEWS)[number]

interface PipelinesView {
  readonly view: PipelineView
  /** The ensemble that the selection below belongs to. */
  readonly name: string
  /** Position of the selected step; null: none. */
  readonly step: number | null
  /** The request whose waterfall is shown, kept when newer ones push it out of the list; null: always the newest. */
  readonly execution: EnsembleExecution | null
}

export const usePipelinesView = create<PipelinesView>()(() => ({ view: 'both', name: '', step: null, execution: null }))

export function setView(view: PipelineView): void {
  usePipelinesView.setState({ view })
}

export function selectStep(step: number | null): void {
  usePipelinesView.setState({ step })
}

export function selectExecution(execution: EnsembleExecution | null): void {
  usePipelinesView.setState({ execution })
}

/** Of another ensemble nothing is selected. */
export function showPipeline(name: string): void {
  if (usePipelinesView.getState().name !== name) usePipelinesView.setState({ name, step: null, execution: null })
}
