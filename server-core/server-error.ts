import type { ErrorKind, ErrorValue } from './contract/errors.ts'

/** The one error class of the server. Edges map `kind` to their statuses through `contract/errors.ts`. */
export class ServerError extends Error {
  readonly kind: ErrorKind

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ServerError'
    this.kind = kind
  }
}

/** Any thrown value as a ServerError; what is not one becomes INTERNAL with its message kept. */
export function toServerError(error: unknown): ServerError {
  if (error instanceof ServerError) return error
  return new ServerError('INTERNAL', error instanceof Error ? error.message : String(error), { cause: error })
}

/** The error as a plain value, for a reply. */
export function toErrorValue(error: unknown): ErrorValue {
  const { kind, message } = toServerError(error)
  return { kind, message }
}
