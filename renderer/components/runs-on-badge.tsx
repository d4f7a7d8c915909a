/** Where a model runs, by the facts its instances report: a quiet badge; amber, with what was asked for, where that is not to be had; an em dash while unknown. */
import { useTranslation } from 'react-i18next'
import type { ModelSummary } from '../../server-core/contract/repository.ts'
import { UNKNOWN } from '../lib/format.ts'
import { explainNpuFault } from '../../server-core/contract/npu-fault.ts'
import { StateMark } from './state-pill.tsx'
import './runs-on-badge.css'

interface RunsOnBadgeProps {
  readonly model: Pick<ModelSummary, 'runsOn' | 'degraded' | 'isSimulated'>
}

export function RunsOnBadge({ model: { runsOn, degraded, isSimulated } }: RunsOnBadgeProps) {
  const { t } = useTranslation()
  if (runsOn === null || runsOn === '') return <span className="npu-quiet">{UNKNOWN}</span>
  const place = placeText(t, runsOn)
  if (degraded !== null) {
    const fault = explainNpuFault(degraded.reason)
    const reason = fault === null ? degraded.reason : t(`failure:cause.${fault.fault}`, { code: fault.code })
    return <span className="npu-badge npu-badge-degraded" title={reason} data-testid="runs-on-degraded"><StateMark kind="degraded" isDecoration />{t('runsOn.degraded', { place, wanted: placeText(t, degraded.wanted) })}</span>
  }
  return (
    <span className={`npu-badge${runsOn.startsWith('NPU') ? ' npu-badge-npu' : ''}`}>
      {place}
      {isSimulated && <span className="npu-row npu-is-simulated npu-badge-simulated" title={t('state.simulated')}><StateMark kind="simulated" isDecoration />{t('state.simulated')}</span>}
    </span>
  )
}

/** 'NPU 0, 1 + CPU' as the console names it: card 0, 1 + CPU. */
export function placeText(t: ReturnType<typeof useTranslation>['t'], place: string): string {
  if (place === 'NPU') return t('runsOn.any')
  return place.replace(/\bNPU (\d+(?:, \d+)*)/, (_whole, cards: string) => t('runsOn.cards', { cards }))
}
