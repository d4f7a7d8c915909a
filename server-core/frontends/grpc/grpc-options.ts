/** What the flags `--grpc-...` say about the transport, and the TLS files that they name. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ServerError } from '../../server-error.ts'
import { type ConnectionOptions, DEFAULT_CONNECTION_OPTIONS } from './transport/connection.ts'
import type { TlsOptions } from './transport/grpc-server.ts'
import type { CompressionLevel } from './transport/message-compression.ts'

export interface GrpcTransportOptions {
  readonly connection: ConnectionOptions
  readonly responseCompression: CompressionLevel
  /** Source of a regular expression; '' : nothing is forwarded. */
  readonly headerForwardPattern: string
  readonly useSsl: boolean
  /** Clients must have a certificate too; implies `useSsl`. */
  readonly useSslMutual: boolean
  /** Paths of PEM files; '' : not given. */
  readonly serverCert: string
  readonly serverKey: string
  readonly rootCert: string
}

export const DEFAULT_GRPC_TRANSPORT_OPTIONS: GrpcTransportOptions = Object.freeze({
  connection: DEFAULT_CONNECTION_OPTIONS, responseCompression: 'none', headerForwardPattern: '', useSsl: false, useSslMutual: false, serverCert: '', serverKey: '', rootCert: '',
})

/**
 * Null: no TLS. `--grpc-root-cert` without `--grpc-use-ssl-mutual` is read, so that a wrong path is no surprise later, and not used.
 * @throws ServerError INVALID_ARG that names the flag and the file
 */
export async function readTlsFiles({ useSsl, useSslMutual, serverCert, serverKey, rootCert }: GrpcTransportOptions): Promise<TlsOptions | null> {
  if (!useSsl && !useSslMutual) return null
  const certificate = await readPem('--grpc-server-cert', serverCert, (pem) => { new X509Certificate(pem) })
  const key = await readPem('--grpc-server-key', serverKey, (pem) => { createPrivateKey(pem) })
  if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) {
    throw new ServerError('INVALID_ARG', `--grpc-server-key: '${serverKey}' is not the key of the certificate '${serverCert}'. Give both files of one pair`)
  }
  if (!useSslMutual && rootCert === '') return { certificate, key, clientRoot: null }
  const root = await readPem('--grpc-root-cert', rootCert, (pem) => { new X509Certificate(pem) })
  return { certificate, key, clientRoot: useSslMutual ? root : null }
}

async function readPem(flag: string, path: string, check: (pem: Buffer) => void): Promise<Buffer> {
  if (path === '') throw new ServerError('INVALID_ARG', `${flag} must be given with ${flag === '--grpc-root-cert' ? '--grpc-use-ssl-mutual' : '--grpc-use-ssl'}: the path of a PEM file`)
  let pem: Buffer
  try {
    pem = await readFile(path)
  } catch (error) {
    throw new ServerError('INVALID_ARG', `${flag}: '${path}' cannot be read: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  try {
    check(pem)
  } catch (error) {
    throw new ServerError('INVALID_ARG', `${flag}: '${path}' is no ${flag === '--grpc-server-key' ? 'private key' : 'certificate'} in PEM form: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  return pem
}
