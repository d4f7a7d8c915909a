/** Names a model may get in the repository: a plain directory name that stays inside it and is free. */
export type ModelNameProblem = 'empty' | 'characters' | 'taken' | 'long'

/** What is wrong with a name, or null. */
export function modelNameProblem(name: string, taken: readonly string[]): ModelNameProblem | null {
  if (name === '') return 'empty'
  if (name.length > 128) return 'long'
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return 'characters'
  return taken.includes(name) ? 'taken' : null
}
