/** How a call ends (https://grpc.io, "Status codes"), and how that is written into HTTP/2 trailers. */

export const GRPC_STATUS = {
  OK: 0, CANCELLED: 1, UNKNOWN: 2, INVALID_ARGUMENT: 3, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, ALREADY_EXISTS: 6, PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8, FAILED_PRECONDITION: 9, ABORTED: 10, OUT_OF_RANGE: 11, UNIMPLEMENTED: 12, INTERNAL: 13, UNAVAILABLE: 14,
} as const

export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

export const OK_STATUS: GrpcStatus = { code: GRPC_STATUS.OK, details: '' }

/** Clients take about 8 KiB of trailers; a longer text would turn the status into RESOURCE_EXHAUSTED. */
const MAX_DETAILS_BYTES = 6144

/** The trailers of a status: the text percent-encoded, as header values are ASCII. */
export function statusTrailers({ code, details }: GrpcStatus): Record<string, string> {
  return details === '' ? { 'grpc-status': String(code) } : { 'grpc-status': String(code), 'grpc-message': percentEncoded(details) }
}

function percentEncoded(text: string): string {
  let encoded = ''
  for (const character of text) {
    const code = character.charCodeAt(0)
    if (code >= 0x20 && code <= 0x7e && code !== 0x25) encoded += character
    else for (const byte of Buffer.from(character)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    if (encoded.length >= MAX_DETAILS_BYTES) return `${encoded}...`
  }
  // Blanks at the ends of a header value are no part of it.
  return encoded.replace(/^ +| +$/g, (blanks) => '%20'.repeat(blanks.length))
}
