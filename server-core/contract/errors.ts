/**
 * The error kinds every part of the server speaks, and what each edge makes of them.
 * Kinds, HTTP statuses and gRPC codes are Triton's own (TRITONSERVER_Error_Code).
 */
export interface ErrorKindRow {
  readonly httpStatus: number
  /** Numeric gRPC status code. */
  readonly grpcStatus: number
  /** Triton's words for the code, as printed in load failures: `Invalid argument: ...`. */
  readonly words: string
}

export const ERROR_KINDS = {
  UNKNOWN: { httpStatus: 400, grpcStatus: 2, words: 'Unknown' },
  INTERNAL: { httpStatus: 500, grpcStatus: 13, words: 'Internal' },
  NOT_FOUND: { httpStatus: 404, grpcStatus: 5, words: 'Not found' },
  INVALID_ARG: { httpStatus: 400, grpcStatus: 3, words: 'Invalid argument' },
  UNAVAILABLE: { httpStatus: 503, grpcStatus: 14, words: 'Unavailable' },
  UNSUPPORTED: { httpStatus: 501, grpcStatus: 12, words: 'Unsupported' },
  ALREADY_EXISTS: { httpStatus: 400, grpcStatus: 6, words: 'Already exists' },
  CANCELLED: { httpStatus: 400, grpcStatus: 1, words: 'Cancelled' },
} as const satisfies Record<string, ErrorKindRow>

export type ErrorKind = keyof typeof ERROR_KINDS

/** An error as it travels to the console: values, not exceptions. */
export interface ErrorValue {
  readonly kind: ErrorKind
  readonly message: string
}
