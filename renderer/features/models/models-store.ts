/** How the models page is being looked at (it survives a visit to another page), and the loads and unloads asked from it. */
import { create } from 'zustand'
import { announce } from '../../components/live-region.tsx'
import { errorText } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { modelState } from '../../lib/model-state.ts'
import type { StateFilter } from './model-rows.ts'

export interface ActionFailure {
  readonly action: 'load' | 'unload' | 'rescan'
  /** '' for a rescan. */
  readonly model: string
  readonly error: unknown
}

interface ModelsView {
  readonly filter: StateFilter
  readonly text: string
  readonly expanded: ReadonlySet<string>
  /** Names of selected models. */
  readonly selected: ReadonlySet<string>
  /** Key of the row with the cursor; null: none chosen yet. */
  readonly cursor: string | null
  readonly isPaneClosed: boolean
  /** The model last retried: its side pane stays while it loads, and says so when it serves. */
  readonly retried: string | null
  readonly failures: readonly ActionFailure[]
  /** Models whose last load was cancelled here: how that ends is no failure. */
  readonly cancelled: ReadonlySet<string>
}

export const useModelsView = create<ModelsView>()(() => ({ filter: 'all', text: '', expanded: new Set(), selected: new Set(), cursor: null, isPaneClosed: false, retried: null, failures: [], cancelled: new Set() }))

export function setFilter(filter: StateFilter): void {
  useModelsView.setState({ filter })
}

export function setText(text: string): void {
  useModelsView.setState({ text })
}

export function setExpanded(key: string, isExpanded: boolean): void {
  useModelsView.setState((state) => ({ expanded: withMember(state.expanded, key, isExpanded) }))
}

export function setSelected(names: readonly string[], isSelected: boolean): void {
  useModelsView.setState((state) => ({ selected: names.reduce((set, name) => withMember(set, name, isSelected), state.selected) }))
}

export function setCursor(cursor: string): void {
  useModelsView.setState((state) => ({ cursor, isPaneClosed: false, retried: state.retried === cursor ? cursor : null }))
}

export function closePane(): void {
  useModelsView.setState({ isPaneClosed: true, retried: null })
}

export function dismissFailures(): void {
  useModelsView.setState({ failures: [] })
}

function withMember(set: ReadonlySet<string>, member: string, isMember: boolean): ReadonlySet<string> {
  const next = new Set(set)
  if (isMember) next.add(member)
  else next.delete(member)
  return next
}

/**
 * Loads models, one request each, all at once. A load that fails shows on its model (the server pushes the state with the reason); only
 * what leaves no trace there is kept as a failure of the page.
 */
export async function loadModels(names: readonly string[]): Promise<void> {
  const retried = useConsole.getState().models?.find((model) => names.includes(model.name) && modelState(model) === 'failed')?.name
  if (retried !== undefined && names.length === 1) useModelsView.setState({ retried })
  await Promise.all(names.map((name) => attempt('load', name, () => command('model.load', { name }))))
}

export async function unloadModels(names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => attempt('unload', name, () => command('model.unload', { name }))))
}

/** Ends a load that goes on. The engine knows no other word for it than unload; only for a model of which nothing serves yet. */
export async function cancelLoad(name: string): Promise<void> {
  useModelsView.setState((state) => ({ cancelled: withMember(state.cancelled, name, true) }))
  await attempt('unload', name, () => command('model.unload', { name }))
}

export async function rescan(): Promise<void> {
  await attempt('rescan', '', async () => {
    const models = await command('repository.rescan')
    useConsole.setState({ models: [...models].sort((a, b) => (a.name < b.name ? -1 : 1)) })
  })
}

async function attempt(action: ActionFailure['action'], model: string, run: () => Promise<unknown>): Promise<void> {
  useModelsView.setState((state) => ({
    failures: state.failures.filter((failure) => failure.model !== model || failure.action !== action), ...(action === 'load' ? { cancelled: withMember(state.cancelled, model, false) } : {}),
  }))
  try {
    await run()
  } catch (error) {
    if (action === 'load' && useModelsView.getState().cancelled.has(model)) return
    const summary = useConsole.getState().models?.find((entry) => entry.name === model)
    const showsItself = action === 'load' && summary !== undefined && ['failed', 'degraded'].includes(modelState(summary))
    if (showsItself) return
    announce(errorText(error), 'assertive')
    useModelsView.setState((state) => ({ failures: [...state.failures, { action, model, error }] }))
  }
}

export type LoadAvailability = { readonly canChange: true } | { readonly canChange: false; readonly reason: 'none' | 'poll' | 'offline' }

/** Whether Load and Unload can be used now, and if not why: a key below `models:blocked`. */
export function useLoadAvailability(): LoadAvailability {
  const mode = useConsole((state) => state.status?.controlMode)
  const isOpen = useConsole((state) => state.connection === 'open')
  if (!isOpen || mode === undefined) return { canChange: false, reason: 'offline' }
  return mode === 'explicit' ? { canChange: true } : { canChange: false, reason: mode }
}
