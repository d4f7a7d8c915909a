/** Faults for simulated cards: chosen here, injected at once, cleared at once. It is there only while the cards are simulated. */
import { Button, Checkbox, Select } from '@fluentui/react-components'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { FAULT_KINDS, FAULT_PHASES, type DeviceCard, type FaultKind, type FaultPhase, type SimulatedFault } from '../../../server-core/contract/devices.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CloseIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { consoleClient } from '../../console-client.ts'
import { setFaults, useDevices } from './devices-store.ts'

const COUNTS = [null, 1, 3, 10] as const

export function FaultsCard({ cards }: { readonly cards: readonly DeviceCard[] }) {
  const { t } = useTranslation('devices')
  const simulation = useDevices((state) => state.simulation)
  const error = useDevices((state) => state.faultsError)
  const [kind, setKind] = useState<FaultKind>('card-lost')
  const [device, setDevice] = useState<number | null>(cards[0]?.logicalId ?? null)
  const [phase, setPhase] = useState<FaultPhase | null>(null)
  const [count, setCount] = useState<number | null>(null)
  const [needsReset, setNeedsReset] = useState(false)
  if (simulation?.isOn !== true) return null
  const { faults } = simulation
  const isCounted = kind !== 'hang'
  const inject = () => void setFaults(consoleClient, [...faults, { kind, device, count: isCounted ? count : null, phase, needsReset }])
  return (
    <Card title={t('faults.title')} state={<StatePill kind="simulated" isPlain />} note={t('faults.note')}>
      <p className="npu-secondary">{t('faults.explanation')}</p>
      <div className="npu-devices-faults">
        <Field label={t('faults.kindLabel')}>{(id) => <Select id={id} value={kind} data-testid="fault-kind" onChange={(_event, { value }) => { const next = FAULT_KINDS.find((known) => known === value); if (next !== undefined) setKind(next) }}>{FAULT_KINDS.map((known) => <option key={known} value={known}>{t(`faults.kind.${known}`)}</option>)}</Select>}</Field>
        <Field label={t('faults.cardLabel')}>{(id) => <Select id={id} value={String(device)} data-testid="fault-card" onChange={(_event, { value }) => setDevice(value === 'null' ? null : Number(value))}><option value="null">{t('faults.everyCard')}</option>{cards.flatMap(({ logicalId }) => (logicalId === null ? [] : [<option key={logicalId} value={logicalId}>{t('common:npu.card', { card: logicalId })}</option>]))}</Select>}</Field>
        <Field label={t('faults.phaseLabel')}>{(id) => <Select id={id} value={String(phase)} onChange={(_event, { value }) => setPhase(FAULT_PHASES.find((known) => known === value) ?? null)}><option value="null">{t('faults.anyPhase')}</option>{FAULT_PHASES.map((known) => <option key={known} value={known}>{t(`faults.phase.${known}`)}</option>)}</Select>}</Field>
        <Field label={t('faults.countLabel')}>{(id) => <Select id={id} value={String(isCounted ? count : null)} disabled={!isCounted} onChange={(_event, { value }) => setCount(value === 'null' ? null : Number(value))}>{COUNTS.map((known) => <option key={String(known)} value={String(known)}>{known === null ? t('faults.untilCleared') : t('faults.times', { count: known })}</option>)}</Select>}</Field>
      </div>
      <Checkbox checked={needsReset} label={t('faults.needsReset')} onChange={(_event, { checked }) => setNeedsReset(checked === true)} />
      <div className="npu-row npu-devices-fault-buttons">
        <Button onClick={inject} data-testid="fault-inject">{t('faults.inject')}</Button>
        {faults.length > 0 && <Button onClick={() => void setFaults(consoleClient, [])} data-testid="fault-clear">{t('faults.clear')}</Button>}
      </div>
      {error !== null && <ErrorNotice sentence={t('faults.notSet')} error={error} />}
      {faults.length > 0 && (
        <ul className="npu-devices-fault-list" aria-label={t('faults.active')}>{faults.map((fault, index) => (
          <li key={index} className="npu-row" data-testid="fault"><StateMark kind="simulated" isDecoration /><span><FaultWords fault={fault} /></span><span className="npu-grow" />
            <IconButton icon={<CloseIcon />} label={t('faults.remove', { fault: t(`faults.kind.${fault.kind}`) })} onClick={() => void setFaults(consoleClient, faults.filter((other) => other !== fault))} /></li>
        ))}</ul>
      )}
    </Card>
  )
}

function Field({ label, children }: { readonly label: string; readonly children: (id: string) => ReactNode }) {
  const id = useId()
  return <div><label className="npu-label" htmlFor={id}>{label}</label>{children(id)}</div>
}

/** "Card lost · card 1 · while it runs · 3 times". */
function FaultWords({ fault: { kind, device, phase, count, needsReset } }: { readonly fault: SimulatedFault }) {
  const { t } = useTranslation('devices')
  return <>{[
    t(`faults.kind.${kind}`), device === null ? t('faults.everyCard') : t('common:npu.card', { card: device }), ...(phase === null ? [] : [t(`faults.phase.${phase}`)]),
    count === null ? t('faults.untilCleared') : t('faults.times', { count }), ...(needsReset ? [t('faults.untilReset')] : []),
  ].join(' · ')}</>
}
