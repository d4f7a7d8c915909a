/**
 * What the server has told this window: its status, models, last samples, log, and what happened while the window watched. Filled by the
 * console client only; pages read it with `useConsole`.
 */
import { create } from 'zustand'
import type { LogEntry, ServerStatus } from '../server-core/contract/console-api.ts'
import type { ModelSummary } from '../server-core/contract/repository.ts'
import type { ServerSample } from '../server-core/contract/statistics.ts'
import { ConsoleError } from './console-client.ts'
import type { ConnectionState, ConsoleClient } from './console-client.ts'
import { compareNames, modelState } from './lib/model-state.ts'
import type { ModelStateKind } from './lib/model-state.ts'

/** Seconds of samples kept here for figures and tables; charts keep their own, longer history. */
const KEPT_SAMPLES = 120
const KEPT_LOG_ENTRIES = 20_000
const KEPT_ACTIVITY = 200

/** One thing that happened to a model, or to the server (model: null). */
export interface Activity {
  readonly id: number
  readonly time: number
  readonly model: string | null
  readonly kind: ModelStateKind | 'engineStarted' | 'connectionLost' | 'removed'
  /** How long the load took, where the window saw it start. */
  readonly milliseconds: number | null
}

export interface ConsoleState {
  readonly connection: ConnectionState
  /** Connection attempts that failed in a row. */
  readonly failedAttempts: number
  /** When the connection was lost, milliseconds since the epoch; null while it stands. Figures shown since then are old. */
  readonly lostAt: number | null
  readonly status: ServerStatus | null
  /** By name; null until the server has told. */
  readonly models: readonly ModelSummary[] | null
  /** Oldest first, at most two minutes. */
  readonly samples: readonly ServerSample[]
  /** Oldest first. */
  readonly log: readonly LogEntry[]
  /** Newest first. */
  readonly activity: readonly Activity[]
  /** When each LOADING model started to load, as this window saw it: model name to milliseconds since the epoch. */
  readonly loadStartedAt: Readonly<Record<string, number>>
}

export const initialConsoleState: ConsoleState = {
  connection: 'connecting', failedAttempts: 0, lostAt: null, status: null, models: null, samples: [], log: [], activity: [], loadStartedAt: {},
}

export const useConsole = create<ConsoleState>()(() => initialConsoleState)

let nextActivityId = 1
const activityEntry = (time: number, model: string | null, kind: Activity['kind'], milliseconds: number | null = null): Activity =>
  ({ id: nextActivityId++, time, model, kind, milliseconds })

/** The next state after a model's summary arrived: the list, what happened, and when its load began. */
export function withModel(state: ConsoleState, model: ModelSummary, now: number): Partial<ConsoleState> {
  const models = state.models ?? []
  const before = models.find((entry) => entry.name === model.name)
  const next = before ? models.map((entry) => (entry === before ? model : entry)) : [...models, model].sort((a, b) => compareNames(a.name, b.name))
  const kind = modelState(model)
  const startedAt = state.loadStartedAt[model.name]
  const { [model.name]: _started, ...others } = state.loadStartedAt
  const loadStartedAt = kind === 'loading' ? { ...others, [model.name]: startedAt ?? (model.changedAt > 0 ? Math.min(model.changedAt, now) : now) } : others
  const hasChanged = before ? modelState(before) !== kind || (before.changedAt !== model.changedAt && kind !== 'loading') : kind !== 'unloaded'
  if (!hasChanged) return { models: next, loadStartedAt }
  const milliseconds = startedAt !== undefined && kind !== 'loading' ? Math.max(0, now - startedAt) : null
  const entry = activityEntry(model.changedAt > 0 ? model.changedAt : now, model.name, kind, milliseconds)
  return { models: next, loadStartedAt, activity: [entry, ...state.activity].slice(0, KEPT_ACTIVITY) }
}

/** Appends without repeating what is there; the sequence starts again when the server process restarts. */
export function withLog(log: readonly LogEntry[], added: readonly LogEntry[]): readonly LogEntry[] {
  const last = log[log.length - 1]
  const fresh = last === undefined ? added : added.filter((entry) => entry.sequence > last.sequence || entry.time > last.time)
  if (fresh.length === 0) return log
  const joined = [...log, ...fresh]
  return joined.length > KEPT_LOG_ENTRIES ? joined.slice(joined.length - KEPT_LOG_ENTRIES) : joined
}

/** Appends samples newer than the last one. */
export function withSamples(samples: readonly ServerSample[], added: readonly ServerSample[]): readonly ServerSample[] {
  const last = samples[samples.length - 1]?.time ?? 0
  const fresh = added.filter((sample) => sample.time > last)
  return fresh.length === 0 ? samples : [...samples, ...fresh].slice(-KEPT_SAMPLES)
}

/** What happened before this window looked, as far as the last change of each model tells. */
function pastActivity(models: readonly ModelSummary[]): Activity[] {
  return models.filter((model) => model.changedAt > 0 && model.state !== 'UNKNOWN')
    .map((model) => activityEntry(model.changedAt, model.name, modelState(model)))
    .sort((a, b) => b.time - a.time)
}

/** Keeps the store in step with the server over this client. Returns the function that stops it. */
export function followServer(client: ConsoleClient, store: typeof useConsole = useConsole, now: () => number = Date.now): () => void {
  const unsubscribe = [
    client.onState((connection, failedAttempts) => {
      const before = store.getState()
      if (connection === 'open') {
        store.setState({ connection, failedAttempts: 0 })
        void fetchState(client, store)
        return
      }
      const isLoss = before.connection === 'open'
      store.setState({
        connection, failedAttempts,
        ...(isLoss ? { lostAt: now(), activity: [activityEntry(now(), null, 'connectionLost'), ...before.activity].slice(0, KEPT_ACTIVITY) } : {}),
      })
    }),
    client.on('server.statusChanged', (status) => store.setState({ status })),
    client.on('model.changed', (model) => store.setState((state) => withModel(state, model, now()))),
    client.on('model.removed', ({ name }) => store.setState((state) => ({
      models: state.models?.filter((model) => model.name !== name) ?? null,
      activity: [activityEntry(now(), name, 'removed'), ...state.activity].slice(0, KEPT_ACTIVITY),
    }))),
    client.on('statistics.sample', (sample) => store.setState((state) => ({ samples: withSamples(state.samples, [sample]) }))),
    client.on('log.appended', (entries) => store.setState((state) => ({ log: withLog(state.log, entries) }))),
  ]
  return () => unsubscribe.forEach((stop) => stop())
}

/**
 * Each part is put in place as it arrives: an event that comes after it is newer, and what came before is in it. The server answers in order, so the
 * status, which tells whether this is another process, comes first.
 */
async function fetchState(client: ConsoleClient, store: typeof useConsole): Promise<void> {
  let isNewProcess = false
  let started: Activity | null = null
  try {
    await Promise.all([
      client.command('server.status').then((status) => store.setState((state) => {
        isNewProcess = state.status?.instanceId !== status.instanceId
        if (isNewProcess) started = activityEntry(status.startedAt, null, 'engineStarted')
        return { status }
      })),
      client.command('repository.models').then((models) => store.setState((state) => {
        const sorted = [...models].sort((a, b) => compareNames(a.name, b.name))
        return {
          models: sorted,
          activity: started === null ? state.activity : [...pastActivity(sorted), started, ...state.activity].slice(0, KEPT_ACTIVITY),
          loadStartedAt: Object.fromEntries(sorted.filter((model) => model.state === 'LOADING').map((model) => [model.name, state.loadStartedAt[model.name] ?? model.changedAt])),
        }
      })),
      client.command('statistics.history', { seconds: KEPT_SAMPLES }).then((samples) => store.setState((state) => (
        { samples: isNewProcess ? samples.slice(-KEPT_SAMPLES) : withSamples(state.samples, samples) }))),
      client.command('log.recent', { count: 500 }).then((log) => store.setState((state) => ({ log: withLog(state.log, log) }))),
    ])
    store.setState({ lostAt: null })
  } catch (error) {
    // The connection ended meanwhile: the next one fetches again. Anything else is a defect and must be seen.
    if (!(error instanceof ConsoleError && error.isDisconnect)) throw error
  }
}
