/** The review of an import: name, version, backend, files, signature and config, with all that would stand in the way said beforehand. */
import { Button, Checkbox, DialogActions, DialogBody, DialogContent, DialogTitle, Field, Input, Radio, RadioGroup, Select } from '@fluentui/react-components'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { chooseRepository } from '../../frame/repository-actions.ts'
import { formatBytes, formatShape, UNKNOWN } from '../../lib/format.ts'
import { ImportProgress } from './import-progress.tsx'
import { chooseBackend, chooseMissingFiles, closeImport, createModel } from './import-store.ts'
import type { ImportReviewState } from './import-store.ts'
import { modelNameProblem } from './model-name.ts'
import { TrustButton } from './trust-notice.tsx'

export function ImportReview({ state }: { readonly state: ImportReviewState }) {
  const { t } = useTranslation('import')
  const { review, step, error, progress } = state
  const [name, setName] = useState(review.modelName)
  const [asVersion, setAsVersion] = useState(false)
  const [link, setLink] = useState(false)
  const status = useConsole((store) => store.status)
  const models = useConsole((store) => store.models)
  const folder = status?.repositoryPaths[0]
  const isExplicit = status?.controlMode === 'explicit'
  const isWritten = error?.step === 'load'
  const isFree = step === 'ask' && !isWritten && progress === null
  const existing = asVersion ? review.existingModel : null
  const modelName = existing?.name ?? name
  const nameProblem = isWritten || existing !== null ? null : modelNameProblem(name, (models ?? []).map((model) => model.name))
  const isHere = review.backends.some((backend) => backend.isHere && (existing !== null || backend.name === review.backend))
  // A model.py that declares no tensors has nothing to load with; an .om file that CANN does not describe here does not load here either.
  const isDescribed = review.signature === 'complete' || existing !== null
  const canLoad = isExplicit && (isWritten || (isHere && isDescribed))
  const isMissing = review.missingFiles.length > 0
  const isReady = nameProblem === null && !isMissing && folder !== undefined && step === 'ask' && progress === null
  const submit = () => { if (isReady) void createModel({ modelName, asVersion: existing !== null, link, shouldLoad: canLoad }) }
  const place = existing === null ? `${folder ?? ''}/${name}` : `${folder ?? ''}/${existing.name}/${existing.nextVersion}`
  const label = step === 'creating' ? t('creating') : step === 'loading' ? t('loading') : isWritten ? t('loadAgain') : canLoad ? t('createAndLoad') : isExplicit ? t('createOnly') : t('create')
  return (
    <form onSubmit={(event) => { event.preventDefault(); submit() }}>
      <DialogBody>
        <DialogTitle>{t('reviewTitle', { name: review.fileName })}</DialogTitle>
        <DialogContent className="npu-column">
          <p className="npu-secondary">{t(`kind.${review.kind}`)} · {formatBytes(review.byteSize)}{review.opset !== null && ` · opset ${review.opset}`}</p>
          {error !== null && <ImportFailure error={error} name={modelName} />}
          <Notices review={review} isHere={isHere} isVersion={existing !== null} />
          {review.existingModel !== null && (
            <Field label={t('target')}>
              <RadioGroup layout="horizontal" value={asVersion ? 'version' : 'new'} onChange={(_event, { value }) => setAsVersion(value === 'version')} disabled={!isFree}>
                <Radio value="new" label={t('newModel')} />
                <Radio value="version" label={t('newVersion', { version: review.existingModel.nextVersion, name: review.existingModel.name })} />
              </RadioGroup>
            </Field>
          )}
          <div className="npu-import-fields">
            <Field label={t('modelName')} {...(nameProblem === null ? {} : { validationMessage: t(`nameProblem.${nameProblem}`) })}>
              <Input value={existing?.name ?? name} onChange={(_event, { value }) => setName(value)} disabled={!isFree || existing !== null} className="npu-mono" spellCheck={false} autoFocus data-testid="import-name" />
            </Field>
            <Field label={t('version')}><Input value={versionOf(review, existing?.nextVersion)} readOnly className="npu-mono" data-testid="import-version" /></Field>
            <Field label={t('backend')}>
              {review.backends.length > 1 && existing === null
                ? <Select value={review.backend} disabled={!isFree} onChange={(_event, { value }) => void chooseBackend(value)} data-testid="import-backend">
                    {review.backends.map((backend) => <option key={backend.name} value={backend.name}>{backend.isHere ? backend.name : t('backendNotHere', { backend: backend.name })}</option>)}
                  </Select>
                : <Input value={review.backend} readOnly className="npu-mono" data-testid="import-backend" />}
            </Field>
          </div>
          {nameProblem === null && folder !== undefined && <p className="npu-secondary npu-import-place">{t('writtenTo', { folder: place })}</p>}
          {review.isLocal && <Checkbox className="npu-import-link" checked={link} disabled={!isFree} onChange={() => setLink(!link)} label={t('link')} data-testid="import-link" />}
          <Files review={review} version={existing?.nextVersion} />
          {review.signature !== 'unknown' && <Signature review={review} />}
          {existing === null ? (
            <div>
              <p className="npu-label">{t(review.isConfigGenerated ? 'config' : 'configKept')}</p>
              <pre className="npu-server-text npu-import-config" tabIndex={0} aria-label="config.pbtxt">{review.configText}</pre>
            </div>
          ) : <p className="npu-secondary">{t('versionConfig', { name: existing.name })}</p>}
          {folder === undefined && <Notice>{t('noRepository')}</Notice>}
          {!isExplicit && status !== null && <p className="npu-secondary">{t('noLoad', { mode: t(`common:controlMode.${status.controlMode}`) })}</p>}
          {progress !== null && <ImportProgress sentence={t(step === 'ask' ? 'uploading' : 'writing', { name: review.fileName })} progress={progress} />}
        </DialogContent>
        <DialogActions>
          {folder === undefined && <Button appearance="primary" onClick={chooseRepository} disabledFocusable={!isExplicit}>{t('chooseFolder')}</Button>}
          <Button type="submit" appearance={folder === undefined ? 'secondary' : 'primary'} disabledFocusable={!isReady} data-testid="import-create">{label}</Button>
          <Button onClick={closeImport} data-testid="import-cancel">{t(isWritten || step === 'loading' ? 'common:close' : 'common:cancel')}</Button>
        </DialogActions>
      </DialogBody>
    </form>
  )
}

/** Of the version folder that is written; a model folder brings its own. */
function versionOf(review: ModelImportReview, next: number | undefined): string {
  if (next !== undefined) return String(next)
  const versions = new Set(review.files.map(({ path }) => /^(\d+)\//.exec(path)?.[1]).filter((version) => version !== undefined))
  return [...versions].toSorted((a, b) => Number(a) - Number(b)).join(', ')
}

const FAILURE_TEXTS = {
  review: ['reviewFailed', 'reviewFailedNext'], create: ['createFailed', 'createFailedNext'], load: ['loadFailed', 'loadFailedNext'],
} as const

function ImportFailure({ error: { step, error }, name }: { readonly error: NonNullable<ImportReviewState['error']>; readonly name: string }) {
  const { t } = useTranslation('import')
  const [sentence, nextStep] = FAILURE_TEXTS[step]
  return <ErrorNotice error={error} sentence={t(sentence, { name })} nextStep={t(nextStep)} />
}

function Notice({ children }: { readonly children: ReactNode }) {
  return <div className="npu-notice"><StateMark kind="degraded" isDecoration /><div>{children}</div></div>
}

/** What is known to stand in the way of a load, before anything is written. */
function Notices({ review, isHere, isVersion }: { readonly review: ModelImportReview; readonly isHere: boolean; readonly isVersion: boolean }) {
  const { t } = useTranslation('import')
  return (
    <>
      {review.missingFiles.length > 0 && (
        <Notice>
          <p className="npu-notice-sentence">{t('missing', { count: review.missingFiles.length })}</p>
          <p className="npu-mono">{review.missingFiles.join(', ')}</p>
          <div className="npu-row"><Button size="small" onClick={chooseMissingFiles} data-testid="import-add-files">{t('addFiles')}</Button><span className="npu-secondary">{t('missingNext')}</span></div>
        </Notice>
      )}
      {review.awaitsTrust !== null && !isVersion && (
        <Notice>
          <p className="npu-notice-sentence">{t('trust')}</p>
          <p className="npu-mono npu-break">{review.awaitsTrust}</p>
          <p className="npu-secondary">{t('trustNext')}</p>
          <div className="npu-row"><TrustButton path={review.awaitsTrust} onTrusted={() => { void chooseBackend(review.backend) }} /></div>
        </Notice>
      )}
      {review.signature !== 'complete' && !isVersion && review.awaitsTrust === null && (
        <Notice>
          <p className="npu-notice-sentence">{t(`unknown.${review.kind === 'om' ? 'om' : review.signature}`)}</p>
          <p className="npu-secondary">{t(`unknownNext.${review.kind === 'om' ? 'om' : 'python'}`)}</p>
          {review.signatureReason !== null && <pre className="npu-server-text">{review.signatureReason}</pre>}
        </Notice>
      )}
      {!isHere && (
        <Notice>
          <p className="npu-notice-sentence">{t('backendMissing', { backend: review.backend })}</p>
          <p className="npu-secondary">{t('backendMissingNext')}</p>
        </Notice>
      )}
    </>
  )
}

function Files({ review, version }: { readonly review: ModelImportReview; readonly version: number | undefined }) {
  const { t } = useTranslation('import')
  return (
    <div>
      <p className="npu-label">{t('files', { count: review.files.length })}</p>
      <ul className="npu-import-files" tabIndex={0} aria-label={t('files', { count: review.files.length })} data-testid="import-files">
        {review.files.map((file) => <li key={file.path}><span className="npu-mono">{version === undefined ? file.path : file.path.replace(/^1\//, `${version}/`)}</span><span className="npu-quiet">{formatBytes(file.byteSize)}</span></li>)}
      </ul>
      {review.leftOut.length > 0 && <p className="npu-secondary">{t('leftOut', { names: review.leftOut.join(', ') })}</p>}
    </div>
  )
}

function Signature({ review }: { readonly review: ModelImportReview }) {
  const { t } = useTranslation('import')
  const rows = [...review.inputs.map((tensor) => ({ ...tensor, way: 'input' as const })), ...review.outputs.map((tensor) => ({ ...tensor, way: 'output' as const }))]
  const isDescribed = review.signature === 'complete'
  return (
    <div>
      <p className="npu-label">{t('signature')}</p>
      <div className="npu-import-signature" tabIndex={0} role="region" aria-label={t('signature')}>
        <table className="npu-table">
          <thead><tr><th scope="col">{t('tensor')}</th><th scope="col">{t('name')}</th><th scope="col">{t('datatype')}</th><th scope="col">{t('shape')}</th></tr></thead>
          <tbody>{rows.map((row) => (
            <tr key={`${row.way}/${row.name}`}><td className="npu-quiet">{t(`way.${row.way}`)}</td><td className="npu-mono">{row.name}</td>
              <td className="npu-mono">{isDescribed ? row.datatype : UNKNOWN}</td><td className="npu-mono">{isDescribed ? formatShape(row.shape) : UNKNOWN}</td></tr>
          ))}</tbody>
        </table>
      </div>
    </div>
  )
}
