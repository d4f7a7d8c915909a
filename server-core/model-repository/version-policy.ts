import type { ModelVersionPolicy } from '../contract/model-config.ts'

/** Versions of a model that are to be loaded, ascending, and those its `specific` policy names but the disk lacks. */
export function chooseVersions(available: readonly number[], policy: ModelVersionPolicy | undefined): { chosen: number[]; missing: number[] } {
  const ascending = [...available].sort((a, b) => a - b)
  if (policy?.all !== undefined) return { chosen: ascending, missing: [] }
  if (policy?.specific !== undefined) {
    const wanted = policy.specific.versions
    return {
      chosen: ascending.filter((version) => wanted.includes(version)),
      missing: wanted.filter((version) => !ascending.includes(version)),
    }
  }
  const count = policy?.latest?.num_versions ?? 1
  return { chosen: count === 0 ? [] : ascending.slice(-count), missing: [] }
}
