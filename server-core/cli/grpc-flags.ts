/** The flags of the gRPC transport: keepalive, TLS, compression. */
import { DEFAULT_GRPC_TRANSPORT_OPTIONS, type GrpcTransportOptions } from '../frontends/grpc/grpc-options.ts'
import type { ConnectionOptions } from '../frontends/grpc/transport/connection.ts'
import { COMPRESSION_LEVELS } from '../frontends/grpc/transport/message-compression.ts'
import { ServerError } from '../server-error.ts'
import { type Flag, parseBoolean, parseInteger, withoutEffect } from './flag-values.ts'

type TransportKeysOf<T> = { [K in keyof GrpcTransportOptions]: GrpcTransportOptions[K] extends T ? K : never }[keyof GrpcTransportOptions]
type ConnectionKeysOf<T> = { [K in keyof ConnectionOptions]: ConnectionOptions[K] extends T ? K : never }[keyof ConnectionOptions]

const DEFAULTS = DEFAULT_GRPC_TRANSPORT_OPTIONS

export const GRPC_TRANSPORT_FLAGS: readonly Flag[] = [
  { names: ['--grpc-header-forward-pattern'], value: '<regex>', help: 'Metadata whose keys match become parameters of the request', set: (draft, text) => { draft.grpcTransport = { ...draft.grpcTransport, headerForwardPattern: text } } },
  { names: ['--grpc-infer-response-compression-level'], value: COMPRESSION_LEVELS.join('|'), help: 'Compress answers to inference for clients that read it (none)', set: setCompression },
  withoutEffect('--grpc-infer-thread-count', '<integer>', 'requests are taken by one event loop'),
  withoutEffect('--grpc-infer-allocation-pool-size', '<integer>', 'requests and answers are not kept for later ones'),
  file('--grpc-server-cert', 'serverCert', "The server's certificate (PEM)"),
  file('--grpc-server-key', 'serverKey', 'Its private key (PEM)'),
  file('--grpc-root-cert', 'rootCert', 'Who signs the certificates of clients (PEM)'),
  switched('--grpc-use-ssl', 'useSsl', 'TLS with --grpc-server-cert and --grpc-server-key (false)'),
  switched('--grpc-use-ssl-mutual', 'useSslMutual', 'TLS, and clients need a certificate that --grpc-root-cert signed (false)'),
  milliseconds('--grpc-keepalive-time', 'keepaliveTime', 'Milliseconds without a sign of a client until it is pinged'),
  milliseconds('--grpc-keepalive-timeout', 'keepaliveTimeout', 'Milliseconds that a client may take to answer a ping'),
  connectionSwitch('--grpc-keepalive-permit-without-calls', 'keepalivePermitWithoutCalls', 'Pings, either way, also while no call is in progress (false)'),
  count('--grpc-http2-max-pings-without-data', 'maxPingsWithoutData', 'Pings to a client with no data in between; 0 is any number'),
  milliseconds('--grpc-http2-min-recv-ping-interval-without-data', 'minReceivedPingInterval', 'Milliseconds that a client has to leave between pings with no data in between'),
  count('--grpc-http2-max-ping-strikes', 'maxPingStrikes', 'Pings earlier than that until the connection ends; 0 is any number'),
  milliseconds('--grpc-max-connection-age', 'maxAge', 'Milliseconds until a connection is asked to end, 10 % more or less; 0 is never'),
  milliseconds('--grpc-max-connection-age-grace', 'maxAgeGrace', 'Milliseconds that calls get to end then; 0 is any time'),
]

function file(name: string, key: TransportKeysOf<string>, help: string): Flag {
  return { names: [name], value: '<file>', help, set: (draft, text) => { draft.grpcTransport = { ...draft.grpcTransport, [key]: text } } }
}

function switched(name: string, key: TransportKeysOf<boolean>, help: string): Flag {
  return { names: [name], value: '', help, set: (draft, text, flag) => { draft.grpcTransport = { ...draft.grpcTransport, [key]: parseBoolean(text, flag) } } }
}

function connectionSwitch(name: string, key: ConnectionKeysOf<boolean>, help: string): Flag {
  return { names: [name], value: '', help, set: (draft, text, flag) => { draft.grpcTransport = withConnection(draft.grpcTransport, { [key]: parseBoolean(text, flag) }) } }
}

function count(name: string, key: ConnectionKeysOf<number>, help: string): Flag {
  return {
    names: [name], value: '<integer>', help: `${help} (${DEFAULTS.connection[key]})`,
    set: (draft, text, flag) => { draft.grpcTransport = withConnection(draft.grpcTransport, { [key]: parseInteger(text, flag, 0x7fffffff) }) },
  }
}

function milliseconds(name: string, key: ConnectionKeysOf<number>, help: string): Flag { return count(name, key, help) }

function withConnection(options: GrpcTransportOptions, change: Partial<ConnectionOptions>): GrpcTransportOptions {
  return { ...options, connection: { ...options.connection, ...change } }
}

function setCompression(draft: { grpcTransport: GrpcTransportOptions }, text: string, flag: string): void {
  const responseCompression = COMPRESSION_LEVELS.find((level) => level === text.toLowerCase())
  if (responseCompression === undefined) throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid argument for ${flag}: expected ${COMPRESSION_LEVELS.join(', ')}, got: ${text}`)
  draft.grpcTransport = { ...draft.grpcTransport, responseCompression }
}
