import { ServerError } from '../server-error.ts'
import type { InflightRequest } from './inflight-request.ts'

/** The prefix of core errors about one request (Triton protocol 3.2). */
export function requestIdPrefix(id: string): string {
  return `[request id: ${id === '' ? '<id_unknown>' : id}] `
}

export function stoppingError(id: string): ServerError {
  return new ServerError('UNAVAILABLE', `${requestIdPrefix(id)}Server is stopping, scheduler for model has stopped accepting new inference requests`)
}

export function queueFullError(id: string): ServerError {
  return new ServerError('UNAVAILABLE', `${requestIdPrefix(id)}Exceeds maximum queue size`)
}

/** Queue timeouts carry no request-id prefix. */
export function rejectExpired(request: InflightRequest): void {
  request.settle({ kind: 'failure', error: new ServerError('UNAVAILABLE', 'Request timeout expired'), reason: 'REJECTED' })
}

/** A cancelled request that never ran: CANCELLED with an empty message. */
export function cancelWaiting(request: InflightRequest): void {
  request.settle({ kind: 'failure', error: new ServerError('CANCELLED', ''), reason: 'CANCELED' })
}
