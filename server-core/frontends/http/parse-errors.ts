/** Errors of reading a request, and the prefixes that call sites put before them (protocol 3.3). */
import { ServerError } from '../../server-error.ts'

/** Puts the call site's prefix before an error's text. */
export function within<T>(prefix: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ServerError) throw new ServerError(error.kind, `${prefix}${error.message}`, { cause: error })
    throw error
  }
}

export function invalid(text: string): ServerError {
  return new ServerError('INVALID_ARG', text)
}

export function internal(text: string): ServerError {
  return new ServerError('INTERNAL', text)
}
