/** What every protocol front end is given and gives back. Front ends call `InferenceServer`; nothing below calls a front end. */
import type { Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { InferenceServer } from '../inference-server.ts'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import type { FrontendServices } from './frontend-services.ts'
import type { RestrictedApi } from './restricted-api.ts'

export interface FrontendOptions {
  readonly server: InferenceServer
  readonly address: string
  /** 0 picks a free port. */
  readonly port: number
  /** Other processes may listen on the port as well. Default: they may not. */
  readonly reusePort?: boolean | undefined
  /** False on a non-loopback address without permission: load and unload are refused. */
  readonly allowRepositoryControl: boolean
  readonly log: Logger
  /** Default: those of a server with default flags. */
  readonly services?: FrontendServices | undefined
  /** Bytes; see `DEFAULT_MAX_INPUT_SIZE`. */
  readonly maxInputSize?: number | undefined
  readonly restrictedApis?: readonly RestrictedApi[] | undefined
}

export interface Frontend {
  readonly address: string
  readonly port: number
  /** Stops accepting, waits for requests in flight at most `timeoutSeconds`, then closes what is left. */
  stop(timeoutSeconds: number): Promise<void>
}

/**
 * Says at once, and then once a second, what a front end that stops still waits for (Triton's `Timeout <n>: Found ...` lines).
 * @returns ends it
 */
export function logDraining(log: Logger, timeoutSeconds: number, found: () => string): () => void {
  let remaining = Math.ceil(timeoutSeconds)
  const say = () => { log.info(`Timeout ${Math.max(0, remaining--)}: Found ${found()}`) }
  say()
  const timer = setInterval(say, 1000)
  return () => { clearInterval(timer) }
}

/** Seconds as the delay of a timer. Node keeps 31 bits of milliseconds, and a longer timer fires at once: then it is the longest there is. */
export function timerMilliseconds(seconds: number): number { return Math.min(seconds * 1000, 0x7fffffff) }

/** `--http-max-input-size`: 64 MiB. */
export const DEFAULT_MAX_INPUT_SIZE = 67_108_864

/** Said with 403 (gRPC: PERMISSION_DENIED) to load and unload where repository control is closed. */
export const REPOSITORY_CONTROL_CLOSED =
  'Repository control is closed because the server listens on an address other than loopback. Name a header with ' +
  '--http-restricted-api=model-repository:<header>=<value> (gRPC: --grpc-restricted-protocol) or start with --allow-remote-control.'

/**
 * Binds a server and answers where it listens.
 * @throws ServerError UNAVAILABLE that names address, port and flag when the port is taken or may not be bound.
 */
export async function listen(server: Server, address: string, port: number, flag: string, reusePort = false): Promise<{ address: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => { reject(listenError(error, address, port, flag)) })
    // Once it listens, an error is a connection that could not be accepted (no more files, say): others can be.
    server.listen({ host: address, port, backlog: 1024, reusePort }, () => { server.removeAllListeners('error').on('error', () => {}); resolve() })
  })
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new ServerError('INTERNAL', `${flag}: the listening socket has no address`)
  return { address: bound.address, port: bound.port }
}

/** Turns an error of `listen` into one that says which port and flag, and what to do. */
export function listenError(error: NodeJS.ErrnoException, address: string, port: number, flag: string): ServerError {
  const where = `${address}:${port}`
  const addressFlag = flag.replace(/-port$/, '-address')
  switch (error.code) {
    case 'EADDRINUSE':
      return new ServerError('UNAVAILABLE', `${flag}: port ${port} on ${address} is in use by another process. Choose another port with ${flag} or stop that process.`, { cause: error })
    case 'EACCES':
      return new ServerError('UNAVAILABLE', `${flag}: no permission to listen on ${where}. Choose a port above 1023 with ${flag}.`, { cause: error })
    case 'EADDRNOTAVAIL':
      return new ServerError('INVALID_ARG', `${addressFlag}: this machine has no address ${address}. Give ${addressFlag} one of its own, or 127.0.0.1.`, { cause: error })
    case 'ENOTFOUND': case 'EAI_AGAIN': case 'EINVAL':
      return new ServerError('INVALID_ARG', `${addressFlag}: '${address}' is no address of this machine. Give an IP address (IPv6 without brackets) or localhost.`, { cause: error })
    default:
      return new ServerError('UNAVAILABLE', `${flag}: cannot listen on ${where}: ${error.message}`, { cause: error })
  }
}

/**
 * Answers a connection that node:http let go of (CONNECT, or an upgrade that is refused) and closes it, whatever the client does: nobody
 * else listens for its errors, and an end alone would leave it open for as long as the client likes.
 */
export function refuseDetached(socket: Duplex, reply: string): void {
  socket.on('error', () => { socket.destroy() })
  socket.end(reply, () => { socket.destroy() })
}
