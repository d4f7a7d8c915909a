/** What is wrong with a card, in plain words: what happened, whom it stops, the likely cause with the next step; and what was injected on purpose. */
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { DeviceCard, SimulatedFault } from '../../../server-core/contract/devices.ts'
import type { NpuSample } from '../../../server-core/contract/statistics.ts'
import { Disclosure } from '../../components/disclosure.tsx'
import { StateMark } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { modelsOnCard, troublesOfCard } from '../../lib/card-models.ts'
import { routeHash } from '../../router.ts'
import { useDevices } from './devices-store.ts'

/** The card as backends number it, which see only those that `ASCEND_RT_VISIBLE_DEVICES` leaves; null: hidden from them. */
export function deviceNumber({ card, logicalId, visibleId }: DeviceCard): number | null {
  return logicalId === null ? card : visibleId
}

/** `isExpired`: the driver itself has not answered for so long that nothing is known of any card. */
export function CardTroubles({ device, npu, isExpired }: { readonly device: DeviceCard; readonly npu: NpuSample | null; readonly isExpired: boolean }) {
  const { t } = useTranslation('devices')
  const models = useConsole((state) => state.models)
  const { card } = device
  const number = deviceNumber(device)
  const troubles = useMemo(() => troublesOfCard(models, number), [models, number])
  const injected = useDevices((state) => state.simulation?.faults ?? NONE).filter((fault) => fault.device === null || fault.device === card)
  const isUnwell = npu?.health === 'alarm' || npu?.health === 'critical'
  return (
    <>
      {troubles.map(({ explanation: { fault, code }, models: stopped, isRetried, text }) => (
        <div key={fault} className="npu-notice npu-notice-failed npu-devices-trouble" role="alert" data-testid="card-trouble" data-fault={fault}>
          <StateMark kind="failed" isDecoration />
          <div>
            <p className="npu-notice-sentence">{t(`failure:sentence.${fault}`, { what: t('common:npu.card', { card }) })}</p>
            <p className="npu-secondary">{t('trouble.stops')} {stopped.map((model, index) => <span key={model}>{index > 0 && ', '}<a className="npu-link" href={routeHash('models', model)}>{model}</a></span>)}</p>
            <p className="npu-secondary">{t(`failure:cause.${fault}`, { code })}</p>
            {isRetried && !CAUSES_WITH_RETRY.has(fault) && <p className="npu-secondary">{t('trouble.retried')}</p>}
            <Disclosure title={t('failure:serverText')}><pre className="npu-server-text" tabIndex={0} aria-label={t('failure:serverText')}>{text}</pre></Disclosure>
          </div>
        </div>
      ))}
      {isSilent(npu) && !isExpired && troubles.length === 0 && (
        <div className="npu-notice npu-notice-failed npu-devices-trouble" role="status" data-testid="card-silent">
          <StateMark kind="failed" isDecoration />
          <div><p className="npu-notice-sentence">{t('trouble.silent')}</p><p className="npu-secondary">{t('trouble.silentNext')}</p></div>
        </div>
      )}
      {isUnwell && troubles.length === 0 && (
        <div className="npu-notice npu-notice-failed npu-devices-trouble" role="status" data-testid="card-unwell">
          <StateMark kind="failed" isDecoration />
          <div><p className="npu-notice-sentence">{t('trouble.unwell', { codes: (npu.errorCodes ?? []).join(' ') || t('unknown') })}</p><p className="npu-secondary">{t('trouble.unwellNext')}</p></div>
        </div>
      )}
      {injected.length > 0 && <p className="npu-small-text npu-is-simulated npu-row npu-devices-injected"><StateMark kind="simulated" isDecoration />{t('trouble.injected', { faults: [...new Set(injected.map(({ kind }) => t(`faults.kind.${kind}`)))].join(', ') })}</p>}
    </>
  )
}

/** The driver lists the card and has no figure of it at all. */
export function isSilent(npu: NpuSample | null): boolean {
  return npu !== null && [npu.aiCorePercent, npu.memoryUsedBytes, npu.temperatureCelsius, npu.powerWatts, npu.health].every((figure) => figure === null)
}

/** Whose explained cause tells of the instances' restart already. */
const CAUSES_WITH_RETRY: ReadonlySet<string> = new Set(['cardLost', 'cardHung', 'cardSilent'])

const NONE: readonly SimulatedFault[] = []

/** Who computes on the card now. */
export function CardModels({ device }: { readonly device: DeviceCard }) {
  const { t } = useTranslation('devices')
  const models = useConsole((state) => state.models)
  const number = deviceNumber(device)
  const here = useMemo(() => modelsOnCard(models, number), [models, number])
  if (here.length === 0) return null
  return (
    <p className="npu-devices-models npu-small-text" data-testid="card-models"><span className="npu-quiet">{t('card.models')}</span> {here.map(({ model, instances }, index) => (
      <span key={model}>{index > 0 && ', '}<a className="npu-link" href={routeHash('models', model)}>{model}</a> <span className="npu-quiet">{t('card.instances', { count: instances })}</span></span>
    ))}</p>
  )
}
