/** What the code view last found in each model.py that was looked at in this window, for the dock. */
import { create } from 'zustand'

export interface CodeProblems {
  readonly modelName: string
  /** Relative to the model's directory. */
  readonly file: string
  readonly errors: number
  readonly warnings: number
}

/** By model and file; without problems it is not there. */
export const useCodeProblems = create<{ readonly found: readonly CodeProblems[] }>()(() => ({ found: [] }))

export function setCodeProblems(problems: CodeProblems): void {
  useCodeProblems.setState(({ found }) => {
    const others = found.filter(({ modelName, file }) => modelName !== problems.modelName || file !== problems.file)
    return { found: problems.errors + problems.warnings === 0 ? others : [...others, problems] }
  })
}
