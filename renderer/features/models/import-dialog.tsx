/** The review card of a dropped model file: what it is, what would be written, then Create & load. An error stays in it and loses nothing. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle, Field, Input } from '@fluentui/react-components'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelImportReview } from '../../../server-core/contract/console-api.ts'
import { ErrorNotice, errorText } from '../../components/error-notice.tsx'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { chooseRepository } from '../../frame/repository-actions.ts'
import { formatBytes, formatShape } from '../../lib/format.ts'
import { chooseModelFile, closeImport, createModel, reviewBytes, useImport } from './import-store.ts'
import type { ImportState } from './import-store.ts'
import { modelNameProblem } from './model-name.ts'
import './import-dialog.css'

export function ImportDialog() {
  const { t } = useTranslation('import')
  const state = useImport((store) => store.state)
  const isBusy = state.kind === 'reading' || (state.kind === 'review' && state.step !== 'ask')
  return (
    <Dialog open={state.kind !== 'idle'} onOpenChange={() => { if (!isBusy) closeImport() }}>
      <DialogSurface className="npu-dialog npu-import" data-testid="import-dialog">
        <ReturnFocus />
        {state.kind === 'review' ? <Review key={state.review.modelName} state={state} /> : (
          <DialogBody>
            <DialogTitle>{t('title')}</DialogTitle>
            <DialogContent><BeforeReview state={state} /></DialogContent>
            <DialogActions>
              {state.kind === 'reviewFailed' && state.file !== null && <Button appearance="primary" onClick={() => { if (state.file) void reviewBytes(state.file) }}>{t('common:retry')}</Button>}
              {state.kind !== 'reading' && <Button onClick={() => { closeImport(); chooseModelFile() }}>{t('chooseOther')}</Button>}
              <Button onClick={closeImport}>{t('common:close')}</Button>
            </DialogActions>
          </DialogBody>
        )}
      </DialogSurface>
    </Dialog>
  )
}

function BeforeReview({ state }: { readonly state: ImportState }) {
  const { t } = useTranslation('import')
  switch (state.kind) {
    case 'reading': return <StatePill kind="loading" text={t('reading', { name: state.fileName })} />
    case 'refused': return (
      <div className="npu-notice"><StateMark kind="degraded" isDecoration /><div>
        <p className="npu-notice-sentence">{t(`refused.${state.reason}`, { name: state.fileName })}</p>
        <p className="npu-secondary">{t('refused.nextStep')}</p>
      </div></div>
    )
    case 'reviewFailed': return <ErrorNotice sentence={t('reviewFailed', { name: state.fileName })} nextStep={t('reviewFailedNext')} error={state.error} />
    default: return null
  }
}

function Review({ state }: { readonly state: Extract<ImportState, { kind: 'review' }> }) {
  const { t } = useTranslation('import')
  const { review, step, error } = state
  const [name, setName] = useState(review.modelName)
  const status = useConsole((store) => store.status)
  const models = useConsole((store) => store.models)
  const canLoad = status?.controlMode === 'explicit'
  const folder = status?.repositoryPaths[0]
  const isWritten = error?.step === 'load'
  const problem = isWritten ? null : modelNameProblem(name, (models ?? []).map((model) => model.name))
  const create = () => { if (problem === null && folder !== undefined) void createModel(name, canLoad) }
  return (
    <form onSubmit={(event) => { event.preventDefault(); create() }}>
      <DialogBody>
        <DialogTitle>{t('reviewTitle', { name: review.fileName })}</DialogTitle>
        <DialogContent className="npu-column">
          <p className="npu-secondary">{t('facts', { size: formatBytes(review.byteSize), backend: review.backend })}{review.opset !== null && ` · opset ${review.opset}`}</p>
          {error !== null && <ErrorNotice error={error.error} sentence={t(error.step === 'create' ? 'createFailed' : 'loadFailed', { name, reason: errorText(error.error) })}
            nextStep={t(error.step === 'create' ? 'createFailedNext' : 'loadFailedNext')} />}
          <Field label={t('modelName')} {...(problem === null ? (folder === undefined ? {} : { hint: t('writtenTo', { folder: `${folder}/${name}` }) }) : { validationMessage: t(`nameProblem.${problem}`) })}>
            <Input value={name} onChange={(_event, { value }) => setName(value)} disabled={step !== 'ask' || isWritten} className="npu-mono" spellCheck={false} autoFocus data-testid="import-name" />
          </Field>
          <Signature review={review} />
          <div>
            <p className="npu-label">{t('config')}</p>
            <pre className="npu-server-text npu-import-config" tabIndex={0} aria-label="config.pbtxt">{review.configText.replace(`name: "${review.modelName}"`, `name: "${name}"`)}</pre>
          </div>
          {folder === undefined && <div className="npu-notice"><StateMark kind="degraded" isDecoration /><div><p>{t('noRepository')}</p></div></div>}
          {!canLoad && status !== null && <p className="npu-secondary">{t('noLoad', { mode: t(`common:controlMode.${status.controlMode}`) })}</p>}
        </DialogContent>
        <DialogActions>
          {folder === undefined && <Button appearance="primary" onClick={chooseRepository} disabledFocusable={!canLoad}>{t('chooseFolder')}</Button>}
          <Button type="submit" appearance={folder === undefined ? 'secondary' : 'primary'} disabledFocusable={problem !== null || step !== 'ask' || folder === undefined} data-testid="import-create">
            {step === 'creating' ? t('creating') : step === 'loading' ? t('loading') : isWritten ? t('loadAgain') : canLoad ? t('createAndLoad') : t('create')}
          </Button>
          <Button onClick={closeImport} disabled={step !== 'ask'}>{t(isWritten ? 'common:close' : 'common:cancel')}</Button>
        </DialogActions>
      </DialogBody>
    </form>
  )
}

function Signature({ review }: { readonly review: ModelImportReview }) {
  const { t } = useTranslation('import')
  const rows = [...review.inputs.map((tensor) => ({ ...tensor, way: 'input' as const })), ...review.outputs.map((tensor) => ({ ...tensor, way: 'output' as const }))]
  return (
    <div>
      <p className="npu-label">{t('signature')}</p>
      <div className="npu-import-signature" tabIndex={0} role="region" aria-label={t('signature')}>
        <table className="npu-table">
          <thead><tr><th scope="col">{t('tensor')}</th><th scope="col">{t('name')}</th><th scope="col">{t('datatype')}</th><th scope="col">{t('shape')}</th></tr></thead>
          <tbody>{rows.map((row) => (
            <tr key={`${row.way}/${row.name}`}><td className="npu-quiet">{t(`way.${row.way}`)}</td><td className="npu-mono">{row.name}</td><td className="npu-mono">{row.datatype}</td><td className="npu-mono">{formatShape(row.shape)}</td></tr>
          ))}</tbody>
        </table>
      </div>
    </div>
  )
}
