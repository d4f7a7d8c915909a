/** Errors as the status of a call. */
import { ERROR_KINDS } from '../../contract/errors.ts'
import type { Logger } from '../../logger.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import { PermissionDeniedError } from './methods.ts'
import { GRPC_STATUS, type GrpcStatus } from './transport/grpc-status.ts'
import { ProtobufError } from './wire/protobuf-reader.ts'

/** @param callName for the log, where the error is none that was thought of */
export function statusOf(error: unknown, callName: string, log: Logger): GrpcStatus {
  if (error instanceof PermissionDeniedError) return { code: GRPC_STATUS.PERMISSION_DENIED, details: error.message }
  if (error instanceof ProtobufError) return { code: GRPC_STATUS.INTERNAL, details: `cannot parse the request of ${callName}: ${error.message}` }
  if (!(error instanceof ServerError)) {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error('unexpected error while answering a call', { call: callName, cause })
  }
  const { kind, message } = toServerError(error)
  return { code: ERROR_KINDS[kind].grpcStatus, details: message }
}
