/**
 * An instance that died, said in the corner of whatever page is shown. A notice repeats what stands on the model, as it changes: when the next
 * attempt begins, that it runs again, that it was given up.
 */
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { create } from 'zustand'
import type { ModelInstanceSummary, ModelSummary } from '../../server-core/contract/repository.ts'
import { CloseIcon } from '../components/icons.tsx'
import { FaultText } from '../components/fault-text.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { announce } from '../components/live-region.tsx'
import { RestartPill } from '../components/restart-pill.tsx'
import { StatePill } from '../components/state-pill.tsx'
import { useConsole } from '../console-store.ts'
import { routeHash } from '../router.ts'

export interface InstanceNotice {
  /** `model/version/instance`. */
  readonly key: string
  readonly model: string
  readonly version: string
  readonly instance: string
}

const SHOWN = 3
/** How long "runs again" stays. */
const RECOVERED_MILLISECONDS = 8000

export const useInstanceNotices = create<{ readonly notices: readonly InstanceNotice[] }>()(() => ({ notices: [] }))

export function dismissNotice(key: string): void {
  useInstanceNotices.setState(({ notices }) => ({ notices: notices.filter((notice) => notice.key !== key) }))
}

function instancesOf(models: readonly ModelSummary[] | null): Map<string, InstanceNotice & { readonly state: ModelInstanceSummary['state'] }> {
  return new Map((models ?? []).flatMap(({ name, versions }) => versions.flatMap(({ version, instances }) => instances.map((instance) => {
    const key = `${name}/${version}/${instance.name}`
    return [key, { key, model: name, version, instance: instance.name, state: instance.state }] as const
  }))))
}

const isDown = (state: ModelInstanceSummary['state'] | undefined) => state === 'RESTARTING' || state === 'FAILED'

/** Begins a notice for each instance that went down; mounted once. */
function useInstanceWatch(): void {
  const { t } = useTranslation()
  useEffect(() => useConsole.subscribe((state, before) => {
    if (state.models === before.models || before.models === null) return
    const was = instancesOf(before.models)
    for (const { state: now, ...notice } of instancesOf(state.models).values()) {
      const earlier = was.get(notice.key)?.state
      if (earlier === undefined || earlier === now) continue
      if (isDown(now)) {
        announce(t(now === 'FAILED' ? 'notice.givenUp' : 'notice.died', { model: notice.model, instance: notice.instance }), 'assertive')
        useInstanceNotices.setState(({ notices }) => ({ notices: [notice, ...notices.filter((other) => other.key !== notice.key)] }))
      } else if (isDown(earlier) && now === 'READY') announce(t('notice.runs', { model: notice.model, instance: notice.instance }))
    }
  }), [t])
}

export function InstanceNotices() {
  const { t } = useTranslation()
  useInstanceWatch()
  const notices = useInstanceNotices((state) => state.notices)
  if (notices.length === 0) return null
  return (
    <section className="npu-notices" aria-label={t('notice.name')}>
      {notices.slice(0, SHOWN).map((notice) => <Notice key={notice.key} notice={notice} />)}
    </section>
  )
}

function Notice({ notice }: { readonly notice: InstanceNotice }) {
  const { t } = useTranslation()
  const { key, model, version } = notice
  const instance = useConsole((state) => state.models?.find(({ name }) => name === model)?.versions.find((entry) => entry.version === version)?.instances.find(({ name }) => name === notice.instance))
  const isOver = instance === undefined || instance.state === 'READY'
  useEffect(() => {
    if (!isOver) return
    const timer = setTimeout(() => dismissNotice(key), RECOVERED_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [isOver, key])
  return (
    <div className={`npu-notices-entry${instance?.state === 'FAILED' ? ' npu-notices-failed' : ''}`} data-testid="instance-notice">
      <div className="npu-row">
        {instance === undefined ? <StatePill kind="unloaded" isPlain /> : instance.restart !== null ? <RestartPill restart={instance.restart} /> : <StatePill kind={instance.state === 'READY' ? 'ready' : 'failed'} text={t(instance.state === 'READY' ? 'notice.again' : 'notice.over')} isPlain />}
        <span className="npu-grow" />
        <IconButton icon={<CloseIcon />} label={t('notice.close', { instance: notice.instance })} tooltip={t('close')} onClick={() => dismissNotice(key)} />
      </div>
      <p><a className="npu-link npu-notices-model" href={routeHash('models', model)}>{model}</a> <span className="npu-mono">{notice.instance}</span></p>
      {instance !== undefined && instance.reason !== '' && <div className="npu-notices-reason"><FaultText what="instance" text={instance.reason} isShort /></div>}
    </div>
  )
}
