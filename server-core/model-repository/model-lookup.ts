import type { Model } from '../model/model.ts'
import { ServerError } from '../server-error.ts'
import { highestReady, type ModelRecord } from './model-record.ts'

/**
 * The model version a request means. @throws ServerError with the lookup texts of the protocol (section 5.4)
 * @param version '' : the version policy decides
 */
export function findModel(records: ReadonlyMap<string, ModelRecord>, name: string, version: string): Model {
  const wanted = version === '' ? null : parseVersion(version)
  const record = records.get(name)
  const refuse = (kind: 'NOT_FOUND' | 'UNAVAILABLE', rest: string): never => { throw new ServerError(kind, `Request for unknown model: '${name}'${rest}${record?.awaitsTrust ? `: ${record.awaitsTrust.reason}` : ''}`) }
  if (record === undefined || record.versions.size === 0) return refuse('NOT_FOUND', ' is not found')
  if (wanted === null) return highestReady(record) ?? refuse('NOT_FOUND', ' has no available versions')
  const entry = record.versions.get(wanted)
  if (entry === undefined) return refuse('NOT_FOUND', ` version ${wanted} is not found`)
  if (entry.state !== 'READY' || entry.model === null) return refuse('UNAVAILABLE', ` version ${wanted} is not at ready state`)
  return entry.model
}

/** A version string as C++ `stol` reads it: a numeric prefix counts. */
function parseVersion(text: string): string {
  const digits = /^\s*([+-]?\d+)/.exec(text)?.[1]
  if (digits === undefined || BigInt(digits) > 0x7fffffffffffffffn) {
    throw new ServerError('INVALID_ARG', `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`)
  }
  const version = BigInt(digits)
  if (version < 0n) throw new ServerError('INVALID_ARG', `invalid model version specified '${text}' , version should be an integral value > 0`)
  return version.toString()
}
