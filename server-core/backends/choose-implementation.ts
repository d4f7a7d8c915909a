import type { LibraryOrigin } from './native/library-search.ts'

export interface ImplementationFacts {
  readonly name: string
  /** Is there an implementation written for this server? */
  readonly isBuiltIn: boolean
  /** Where a `libtriton_<name>.so` (or the model's `runtime`) lies; null: nowhere. */
  readonly library: LibraryOrigin | null
  /** `--backend-config` for the backend. */
  readonly backendConfig: Readonly<Record<string, string>>
}

/**
 * Which implementation of a backend serves a model. The server's own come first, unless somebody put a library of the name beside the model or into
 * `--backend-directory`: that is a choice.
 */
export function chooseImplementation({ isBuiltIn, library }: ImplementationFacts): 'builtIn' | 'native' {
  if (!isBuiltIn) return 'native'
  return library === 'model' || library === 'backendDirectory' ? 'native' : 'builtIn'
}
