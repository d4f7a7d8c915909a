import { isDeepStrictEqual } from 'node:util'
import type { ModelConfig } from '../contract/model-config.ts'
import type { LoadParameters } from '../inference-server.ts'
import type { Model } from '../model/model.ts'
import type { LoadSource } from './load-source.ts'
import type { VersionDirectory } from './model-directory.ts'
import { highestReady, UNLOADED_REASON, type ModelRecord } from './model-record.ts'

/** A plain load of what already runs does nothing; an override stays as long as the files on disk stay. */
export function isUnchanged(record: ModelRecord, source: LoadSource, parameters: LoadParameters): boolean {
  if (record.source === null || source.overrideDirectory !== null) return false
  if (record.source.diskSignature !== source.diskSignature) return false
  if (parameters.config !== undefined && parameters.config !== record.source.overrideConfig) return false
  const versions = [...record.versions.values()]
  return highestReady(record) !== null && versions.every((version) => version.reason === '' || version.reason === UNLOADED_REASON)
    && versions.every(({ model }) => model === null || isWell(model))
}

/** The running model of a version that needs no reload: only the instances or the version policy differ from what was loaded. */
export function keptModel(record: ModelRecord, source: LoadSource, config: ModelConfig, version: VersionDirectory): Model | null {
  // What an ensemble runs on may have changed; it has no instances that could be kept.
  if (config.ensemble_scheduling !== undefined) return null
  const old = record.source
  const model = record.versions.get(String(version.version))?.model ?? null
  if (old === null || model === null || !isWell(model) || old.overrideDirectory !== null || source.overrideDirectory !== null) return null
  const before = old.directory.versions.find((candidate) => candidate.version === version.version)
  const isSame = before?.signature === version.signature && old.directory.otherSignature === source.directory.otherSignature
  return isSame && (sameButInstances(old.config, config) || sameButInstances(model.config, config)) ? model : null
}

/** One that runs elsewhere than it was asked to is worth another try. */
function isWell(model: Model): boolean { return model.trouble === '' && model.placement.degraded === null }

function sameButInstances(a: ModelConfig, b: ModelConfig): boolean {
  const rest = ({ instance_group: _groups, version_policy: _policy, ...others }: ModelConfig) => others
  return isDeepStrictEqual(rest(a), rest(b))
}
