/** The sentence that heads a failure, in the user's nouns: "Version 1 did not load: config.pbtxt has a syntax error." */
import type { TFunction } from 'i18next'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import type { FailureExplanation } from '../../lib/failure-explanation.ts'
import { versionState } from '../../lib/model-state.ts'

export function failureSentence(t: TFunction, model: ModelSummary, { cause, facts }: FailureExplanation): string {
  const failed = model.versions.find((version) => versionState(version) === 'failed')?.version
  const what = failed === undefined ? t('failure:what.model') : t('failure:what.version', { version: failed })
  return cause === null ? t('failure:sentence.unknown', { what }) : t(`failure:sentence.${cause}`, { what, ...facts })
}
