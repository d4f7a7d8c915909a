/** The list of repositories opened last. Pure. */

export const MAXIMUM_RECENT_REPOSITORIES = 10

/** The list with these paths first, without duplicates, at its greatest length. Returns the same list where nothing changes. */
export function withRecentRepositories(recent: readonly string[], opened: readonly string[]): readonly string[] {
  const next = [...new Set([...opened, ...recent])].slice(0, MAXIMUM_RECENT_REPOSITORIES)
  return next.length === recent.length && next.every((path, index) => path === recent[index]) ? recent : next
}
