/** What the window calls a model's state, derived from the server's words. */
import type { ModelSummary, ModelVersionSummary } from '../../server-core/contract/repository.ts'

export type ModelStateKind = 'ready' | 'loading' | 'unloading' | 'failed' | 'unloaded' | 'degraded'

const DELIBERATE = new Set(['', 'unloaded'])

function stateKind(entry: Pick<ModelVersionSummary, 'state' | 'reason'>): ModelStateKind {
  switch (entry.state) {
    case 'READY': return DELIBERATE.has(entry.reason) ? 'ready' : 'degraded'
    case 'LOADING': return 'loading'
    case 'UNLOADING': return 'unloading'
    case 'UNAVAILABLE': return DELIBERATE.has(entry.reason) ? 'unloaded' : 'failed'
    case 'UNKNOWN': return DELIBERATE.has(entry.reason) ? 'unloaded' : 'failed'
  }
}

export function versionState(version: ModelVersionSummary): ModelStateKind {
  return stateKind(version)
}

/** 'degraded': it serves, but something of it did not load (another version, or the last reload). */
export function modelState(model: ModelSummary): ModelStateKind {
  const state = stateKind(model)
  if (state === 'ready' && model.versions.some((version) => stateKind(version) === 'failed')) return 'degraded'
  return state
}

/** Text of the failure of a model: its own, else the first failed version's; '' where nothing failed. */
export function failureReason(model: ModelSummary): string {
  if (!DELIBERATE.has(model.reason)) return model.reason
  return model.versions.find((version) => !DELIBERATE.has(version.reason))?.reason ?? ''
}

/** Versions that serve now. */
export function readyVersions(model: ModelSummary): readonly string[] {
  return model.versions.filter((version) => version.state === 'READY').map((version) => version.version)
}

/** Order of attention: failed first, ready last but one. */
const ATTENTION: Readonly<Record<ModelStateKind, number>> = { failed: 0, degraded: 1, loading: 2, unloading: 2, ready: 3, unloaded: 4 }

/** Sorts what needs attention first, then by name. */
export function compareByAttention(left: ModelSummary, right: ModelSummary): number {
  return ATTENTION[modelState(left)] - ATTENTION[modelState(right)] || compareNames(left.name, right.name)
}

export function compareNames(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
