/** Headers of a request that become its parameters (`--http-header-forward-pattern`, `--grpc-header-forward-pattern`; protocol 6.8 and 9.3). */
import type { ParameterValue } from '../contract/inference.ts'
import { ServerError } from '../server-error.ts'
import { LinearPattern } from './linear-pattern.ts'

const RESERVED = new Set(['sequence_id', 'sequence_start', 'sequence_end', 'priority', 'timeout', 'headers', 'binary_data_output'])

/** Compiles the pattern of a flag. @returns null where it is '': nothing is forwarded. @throws RangeError that names the flag */
export function headerForwardPattern(source: string, flag: string): LinearPattern | null {
  if (source === '') return null
  try {
    return new LinearPattern(source)
  } catch (error) {
    throw new RangeError(`${flag}: '${source}' is no regular expression: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/**
 * Adds every header that the pattern matches, anywhere in its name and in either case, as a string parameter under the name it was sent with.
 * @throws ServerError INVALID_ARG for a name that Triton keeps for itself; these are compared as they were sent
 */
export function forwardHeaders(pattern: LinearPattern, headers: Iterable<readonly [name: string, value: string]>, parameters: Record<string, ParameterValue>): void {
  for (const [name, value] of headers) {
    if (!pattern.matches(name)) continue
    if (RESERVED.has(name) || name.startsWith('triton_')) {
      throw new ServerError('INVALID_ARG', `Header '${name}' is reserved for Triton usage and cannot be forwarded.`)
    }
    parameters[name] = value
  }
}
