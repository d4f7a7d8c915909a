/** One model: its state, and what can be seen and done about it, by tab. Address: `#/models/<name>/<tab>`. */
import { Button, Tab, TabList } from '@fluentui/react-components'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelDetail } from '../../../server-core/contract/console-api.ts'
import { DetailActionsContext } from '../../components/detail-actions.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { LoadIcon, UnloadIcon } from '../../components/icons.tsx'
import { useStageWord } from '../../components/loading-state.tsx'
import { RunsOnBadge } from '../../components/runs-on-badge.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { failureReason, modelState, readyVersions } from '../../lib/model-state.ts'
import { navigate, routeHash, useRoute } from '../../router.ts'
import { ModelCodeTab, ModelConfigTab } from '../../routes.tsx'
import { ModelDetailFiles } from './model-detail-files.tsx'
import { ModelDetailLog } from './model-detail-log.tsx'
import { ModelDetailSummary } from './model-detail-summary.tsx'
import { loadModels, unloadModels, useLoadAvailability, useModelsView } from './models-store.ts'
import { TestTab } from './test-tab/test-tab.tsx'
import { ModelTrustNotice } from './trust-notice.tsx'
import { useModelDetail } from './use-model-detail.ts'
import './model-detail.css'

const TABS = ['summary', 'config', 'code', 'test', 'files', 'log'] as const
type TabName = (typeof TABS)[number]

export default function ModelDetailPage() {
  const { t } = useTranslation('model-detail')
  const [name = '', tabName] = useRoute((route) => route.rest)
  const tab: TabName = TABS.find((candidate) => candidate === tabName) ?? 'summary'
  const { detail, error } = useModelDetail(name)
  const isAway = useConsole((state) => state.connection === 'reconnecting')
  const [actions, setActions] = useState<HTMLElement | null>(null)
  return (
    <div className="npu-page npu-detail">
      <header className="npu-page-header">
        <nav className="npu-detail-crumbs" aria-label={t('path')}><a className="npu-quiet" href={routeHash('models')}>{t('common:page.models')}</a><span className="npu-quiet" aria-hidden="true">/</span></nav>
        <h1 className="npu-cut" title={name}>{name}</h1>
        {detail && <HeaderState detail={detail} />}
        <span className="npu-grow" />
        {detail && <HeaderActions detail={detail} />}
      </header>
      {error !== null && <ErrorNotice sentence={t('notFound', { model: name })} error={error} actions={<Button onClick={() => navigate('models')}>{t('allModels')}</Button>} />}
      {detail === null && error === null && isAway && <div className="npu-card"><EmptyState title={t('away')}>{t('awayHint')}</EmptyState></div>}
      {detail && (
        <>
          <div className="npu-row npu-detail-tabs">
            <TabList size="small" selectedValue={tab} onTabSelect={(_, data) => navigate('models', name, String(data.value))} aria-label={t('tabs')}>
              {TABS.filter((entry) => entry !== 'code' || hasCode(detail)).map((entry) => <Tab key={entry} value={entry} id={`tab-${entry}`} data-testid={`tab-${entry}`}>{t(`tab.${entry}`)}</Tab>)}
            </TabList>
            <span className="npu-grow" />
            <div className="npu-row npu-detail-actions" ref={setActions} />
          </div>
          <DetailActionsContext value={actions}>
            <div className="npu-detail-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
              <ModelTrustNotice model={detail.summary} />
              <Failures name={name} />
              <Panel tab={tab} detail={detail} />
            </div>
          </DetailActionsContext>
        </>
      )}
    </div>
  )
}

/** A model.py, or another name that the config gives it. */
function hasCode({ summary: { backend, versions } }: ModelDetail): boolean {
  return versions.some(({ files }) => files.some(({ path }) => /^\d+\/model\.py$/.test(path) || (backend === 'python' && /^\d+\/[^/]+\.py$/.test(path))))
}

function Panel({ tab, detail }: { readonly tab: TabName; readonly detail: ModelDetail }) {
  switch (tab) {
    case 'summary': return <ModelDetailSummary detail={detail} />
    case 'config': return <Suspense fallback={null}><ModelConfigTab detail={detail} /></Suspense>
    case 'code': return <Suspense fallback={null}><ModelCodeTab detail={detail} /></Suspense>
    case 'test': return <TestTab detail={detail} />
    case 'files': return <ModelDetailFiles detail={detail} />
    case 'log': return <ModelDetailLog detail={detail} />
  }
}

function HeaderState({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const { summary } = detail
  const state = modelState(summary)
  const versions = readyVersions(summary)
  const stage = useStageWord(summary.stage)
  return (
    <>
      <StatePill kind={state} {...(state === 'loading' ? { text: stage } : {})} />
      {summary.runsOn !== null && <RunsOnBadge model={summary} />}
      {versions.length > 0 && <span className="npu-quiet">{t('servingVersions', { count: versions.length, versions: versions.join(', ') })}</span>}
    </>
  )
}

function HeaderActions({ detail }: { readonly detail: ModelDetail }) {
  const { t } = useTranslation('model-detail')
  const availability = useLoadAvailability()
  const { name } = detail.summary
  const state = modelState(detail.summary)
  const isBusy = state === 'loading' || state === 'unloading'
  const isLoaded = detail.metadata !== null || readyVersions(detail.summary).length > 0
  const isOff = !availability.canChange || isBusy
  return (
    <>
      {!availability.canChange && <span className="npu-secondary">{t(`models:blocked.${availability.reason}`)}</span>}
      {/* While it loads, the card of the load has the way to end it. */}
      {state !== 'loading' && (!isLoaded || failureReason(detail.summary) !== '') && <Button icon={<LoadIcon />} disabledFocusable={isOff} onClick={() => { if (!isOff) void loadModels([name]) }} data-testid="detail-load">{t(failureReason(detail.summary) === '' ? 'load' : 'common:retry')}</Button>}
      {isLoaded && <Button icon={<UnloadIcon />} disabledFocusable={isOff} onClick={() => { if (!isOff) void unloadModels([name]) }} data-testid="detail-unload">{t('unload')}</Button>}
    </>
  )
}

/** Loads and unloads that failed without a trace on the model itself. */
function Failures({ name }: { readonly name: string }) {
  const { t } = useTranslation('model-detail')
  const failures = useModelsView((state) => state.failures)
  return failures.filter((failure) => failure.model === name).map((failure) => <ErrorNotice key={failure.action} sentence={t(`failed.${failure.action}`, { model: name })} error={failure.error} />)
}
