/** Whose code runs: repositories may hold code (model.py, libraries), which runs with the rights of whoever started the server. */

/** `all`: the code of every repository runs; `ask`: only that of repositories that somebody trusted. */
export const REPOSITORY_TRUSTS = ['all', 'ask'] as const
export type RepositoryTrustMode = (typeof REPOSITORY_TRUSTS)[number]

export interface TrustedRepository {
  /** Absolute, without symbolic links. */
  readonly path: string
  /** Milliseconds since the epoch. */
  readonly trustedAt: number
}

export interface RepositoryTrustReport {
  readonly mode: RepositoryTrustMode
  /** In the order in which they were trusted; of no effect while the mode is `all`. */
  readonly trusted: readonly TrustedRepository[]
}

/** What of a model runs as code: its model.py, or a library that lies beside it. */
export type RepositoryCode = 'python' | 'library'
