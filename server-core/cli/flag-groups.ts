import type { Flag } from './flag-values.ts'

/** The headings of the usage text, in its order. A flag belongs to the first group that matches the first of its names. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ['Models', /^--(model-(?!load)|load-model$|repository-(poll-secs|trust)$|disable-auto-complete-config$|strict-model-config$)/],
  ['Loading and running', /^--(model-load-|cache-|response-cache-|backend-|repoagent-|pinned-memory-|rate-limit|host-policy)/],
  ['Server', /^--(id$|exit-|strict-readiness$|allow-remote-control$|data-directory$)/],
  ['HTTP', /^--(allow-http$|http-|reuse-http-)/],
  ['gRPC', /^--(allow-grpc$|grpc-|reuse-grpc-)/],
  ['Metrics', /^--(allow-metrics$|metrics-|allow-(cpu|gpu)-metrics$)/],
  ['Shared memory and traces', /^--(allow-client-shm$|trace-)/],
  ['Logging', /^--log-/],
  ['Console', /^--console/],
  ['Cards', /^--(npu|cann-)/],
]

export interface FlagGroup {
  readonly title: string
  readonly flags: readonly Flag[]
}

/** Every flag once, under its heading; those that no heading fits come last. */
export function groupedFlags(flags: readonly Flag[]): readonly FlagGroup[] {
  const titleOf = ({ names: [name = ''] }: Flag) => GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHER_FLAGS
  return [...GROUPS.map(([title]) => title), OTHER_FLAGS].map((title) => ({ title, flags: flags.filter((flag) => titleOf(flag) === title) })).filter(({ flags: own }) => own.length > 0)
}

export const OTHER_FLAGS = 'Other'
