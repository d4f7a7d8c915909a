/** Names a model may get in the repository: a plain directory name (letters of any script) that stays inside it and is free in any case. */
export type ModelNameProblem = 'empty' | 'characters' | 'taken' | 'long'

/** What is wrong with a name, or null. */
export function modelNameProblem(name: string, taken: readonly string[]): ModelNameProblem | null {
  if (name === '') return 'empty'
  if (name.length > 128) return 'long'
  if (!/^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u.test(name) || name.endsWith('.')) return 'characters'
  const lower = name.toLowerCase()
  return taken.some((other) => other.toLowerCase() === lower) ? 'taken' : null
}
