/**
 * The error card of a model: the sentence, what is still fine, where, expected and found, likely cause, the buttons, and folded the server's own
 * text and the log excerpt, with a report to copy. Shown in the side pane, on the model's page, and wherever the failure must be explained.
 */
import { Button } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { LogEntry, ModelDetail } from '../../../server-core/contract/console-api.ts'
import { SIMULATED_MARK } from '../../../server-core/contract/devices.ts'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { EditIcon, FileIcon, RetryIcon } from '../../components/icons.tsx'
import { errorText } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { explainFailure, formatPlace, isConfigFailure } from '../../lib/failure-explanation.ts'
import type { FailureExplanation } from '../../lib/failure-explanation.ts'
import { logFacts, logLine } from '../../lib/log-line.ts'
import { failureReason, modelState, readyVersions } from '../../lib/model-state.ts'
import { navigate, routeHash } from '../../router.ts'
import { failureSentence } from './failure-sentence.ts'
import { loadModels, useLoadAvailability } from './models-store.ts'
import { PythonFailureDetails } from './python-failure-details.tsx'
import { TrustButton } from './trust-notice.tsx'
import './failure-card.css'

type Detail = { readonly kind: 'waiting' } | { readonly kind: 'known'; readonly detail: ModelDetail } | { readonly kind: 'failed'; readonly error: unknown }

export function FailureCard({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('failure')
  const detail = useModelDetail(model)
  const log = detail.kind === 'known' ? detail.detail.log : []
  const reason = failureReason(model)
  const explanation = bestExplanation(reason, log)
  const { expected, found } = explanation
  const isShape = explanation.cause === 'batchAxis' || explanation.cause === 'tensorShape'
  const availability = useLoadAvailability()
  return (
    <div className="npu-failure" data-testid="failure-card">
      <div>
        <h3>{failureSentence(t, model, explanation)}</h3>
        <p className="npu-failure-fine"><StillFine model={model} /></p>
      </div>
      <div>
        <p className="npu-label">{t('where')}</p>
        <div className="npu-row">
          {explanation.facts['card'] === undefined ? (
            <>
              <span className="npu-quiet"><FileIcon /></span>
              <a className="npu-link npu-mono" href={routeHash('models', model.name, isConfigFailure(explanation) ? 'config' : 'files')}>{placeText(model, explanation)}</a>
            </>
          ) : <a className="npu-link" href={routeHash('devices')}>{t('common:npu.card', { card: explanation.facts['card'] })}</a>}
        </div>
      </div>
      {expected !== null && found !== null && (
        <div>
          <p className="npu-label">{t('expectedFound')}</p>
          <dl className="npu-failure-compare">
            <dt>{t(isShape ? 'modelHas' : 'configSays')}</dt><dd><code>{expected}</code></dd>
            <dt>{t(isShape ? 'configAddsUp' : 'modelGives')}</dt><dd><code>{found}</code></dd>
          </dl>
        </div>
      )}
      {explanation.cause !== null && <div><p className="npu-label">{t('likelyCause')}</p><p>{t(`cause.${explanation.cause}`, explanation.facts)}</p></div>}
      <div className="npu-row npu-failure-buttons">
        {model.awaitsTrust === null
          ? <Button appearance="primary" icon={<RetryIcon />} disabledFocusable={!availability.canChange} onClick={() => void loadModels([model.name])} data-testid="failure-retry">{t('common:retry')}</Button>
          : <TrustButton path={model.awaitsTrust} />}
        <Button icon={<EditIcon />} onClick={() => navigate('models', model.name, 'config')}>{t('openConfig')}</Button>
        {!availability.canChange && <span className="npu-secondary">{t(`models:blocked.${availability.reason}`)}</span>}
      </div>
      <PythonFailureDetails model={model} text={reason} log={log} />
      <hr className="npu-failure-rule" />
      <Disclosure title={t('serverText')} isInitiallyOpen={explanation.cause === null} actions={<CopyButton hasLabel label={t('copyReport')} text={() => failureReport(model, detail)} />}>
        <pre className="npu-server-text" tabIndex={0} aria-label={t('serverText')}>{reason}</pre>
      </Disclosure>
      <Disclosure title={t('logExcerpt')} note={detail.kind === 'known' ? t('lines', { count: log.length }) : undefined}>
        {detail.kind === 'failed' ? <pre className="npu-server-text">{errorText(detail.error)}</pre>
          : log.length === 0 ? <p className="npu-secondary">{detail.kind === 'waiting' ? t('readingLog') : t('noLog')}</p>
            : <pre className="npu-server-text" tabIndex={0} aria-label={t('logExcerpt')}>{log.map((entry) => logLine(entry)).join('\n')}</pre>}
      </Disclosure>
    </div>
  )
}

/** Where to look, as exactly as the texts tell: line, file, or the model's folder. */
function placeText(model: ModelSummary, explanation: FailureExplanation): string {
  const { place, facts } = explanation
  if (place !== null) return formatPlace(place)
  if (isConfigFailure(explanation)) return `${model.name}/config.pbtxt`
  return facts['file'] ?? `${model.repositoryPath}/${model.name}`
}

/** The log excerpt and the config of a model, read again whenever its state changes. */
function useModelDetail(model: ModelSummary): Detail {
  const [answer, setAnswer] = useState<{ readonly of: string; readonly detail: Detail }>({ of: '', detail: { kind: 'waiting' } })
  const of = `${model.name}@${model.changedAt}`
  useEffect(() => {
    let isCurrent = true
    command('model.detail', { name: model.name }).then(
      (detail) => { if (isCurrent) setAnswer({ of, detail: { kind: 'known', detail } }) },
      (error: unknown) => { if (isCurrent) setAnswer({ of, detail: { kind: 'failed', error } }) },
    )
    return () => { isCurrent = false }
  }, [model.name, of])
  return answer.of === of ? answer.detail : { kind: 'waiting' }
}

/** Triton often keeps the real cause in the log ("failed to poll..."): the newest error lines are asked too. */
function bestExplanation(reason: string, log: readonly LogEntry[]): FailureExplanation {
  const own = explainFailure(reason)
  if (own.cause !== null && own.cause !== 'configUnreadable') return own
  const errors = log.filter((entry) => entry.level === 'error' || entry.level === 'warning').reverse()
  return errors.map((entry) => explainFailure(entry.message + logFacts(entry))).find((entry) => entry.cause !== null && entry.cause !== 'configUnreadable') ?? own
}

function StillFine({ model }: { readonly model: ModelSummary }) {
  const { t } = useTranslation('failure')
  const others = useConsole((state) => (state.models ?? []).filter((entry) => entry.name !== model.name && ['ready', 'degraded'].includes(modelState(entry))).length)
  const serving = readyVersions(model)
  const own = serving.length > 0 ? t('fine.own', { versions: serving.join(', '), count: serving.length }) : t('fine.none')
  return <>{others > 0 ? t('fine.both', { own, others: t('fine.others', { count: others }) }) : own}</>
}

/** Plain text for an issue or a chat. English, as the log is. */
function failureReport(model: ModelSummary, answer: Detail): string {
  const status = useConsole.getState().status
  const known = answer.kind === 'known' ? answer.detail : null
  return [
    `model ${model.name} (backend ${model.backend || 'unknown'}): ${model.state}`, ...model.versions.map((version) => `  version ${version.version}: ${version.state} ${version.reason}`),
    `reason: ${failureReason(model)}`,
    status === null ? '' : `server ${status.version}, ONNX Runtime ${status.onnxRuntimeVersion ?? 'unknown'}, Node ${status.nodeVersion}, ${status.platform}${status.npuSource === 'simulated' ? `, cards ${SIMULATED_MARK}` : ''}`,
    '', 'config.pbtxt:', known?.configText ?? '(none)', '', 'log:', ...(known?.log ?? []).map((entry) => logLine(entry)),
  ].join('\n')
}
