/** Devices: the cards as they are now, who uses them, their numbers, and whether this machine is fit to serve from them. */
import { Button } from '@fluentui/react-components'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import type { DevicesReport } from '../../../server-core/contract/devices.ts'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { RescanIcon } from '../../components/icons.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SimulatedBanner } from '../../components/simulated-banner.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { consoleClient } from '../../console-client.ts'
import { localized } from '../../lib/localized-text.ts'
import { DeviceCard } from './device-card.tsx'
import { IdsCard, MemoryCard, ProcessesCard } from './device-tables.tsx'
import { examine, followDevices, useDevices } from './devices-store.ts'
import { DoctorCard } from './doctor-card.tsx'
import { FaultsCard } from './faults-card.tsx'
import '../../components/card.css'
import './devices.css'

export default function DevicesPage() {
  const { t } = useTranslation('devices')
  const report = useDevices((state) => state.report)
  const isExamining = useDevices((state) => state.examinedSince !== null)
  useEffect(() => followDevices(consoleClient), [])
  const hasCards = report !== null && report.cards.length > 0
  return (
    <div className="npu-page npu-devices">
      <PageHeader
        title={t('title')}
        {...(report?.isSimulated === true ? { state: <StatePill kind="simulated" text={t('simulated.pill')} /> } : {})}
        note={report === null ? undefined : hasCards ? t('note.cards', { count: report.cards.length, source: report.source === 'dcmi' ? 'DCMI' : 'npu-smi', driver: report.driverVersion ?? t('unknown') }) : t('note.none')}
      >
        <Button appearance="primary" icon={<RescanIcon />} disabledFocusable={isExamining} onClick={() => void examine(consoleClient)} data-testid="examine">{t('examine')}</Button>
      </PageHeader>
      {report?.isSimulated === true && <SimulatedBanner />}
      {report !== null && report.problem !== null && <p className="npu-devices-problem" role="status"><StateMark kind="degraded" isDecoration /><span><b>{t('problem')}</b> {localized(report.problem)}</span></p>}
      <div className="npu-devices-layout">
        <div className="npu-devices-main">
          {report !== null && (hasCards ? <Cards report={report} /> : <NoCards />)}
        </div>
        <DoctorCard />
      </div>
    </div>
  )
}

function Cards({ report }: { readonly report: DevicesReport }) {
  const samples = useDevices((state) => state.samples)
  const latest = samples[samples.length - 1]
  return (
    <>
      <div className="npu-devices-cards">
        {report.cards.map((device) => (
          <DeviceCard key={device.card} device={device} npu={latest?.npus?.find(({ card }) => card === device.card) ?? null} now={latest?.time ?? 0} samples={samples}
            processes={report.processes?.filter(({ card }) => card === device.card) ?? null} />
        ))}
      </div>
      <FaultsCard key={report.cards.map(({ logicalId }) => logicalId).join(' ')} cards={report.cards} />
      <ProcessesCard report={report} />
      <MemoryCard report={report} />
      <IdsCard report={report} />
    </>
  )
}

/** A machine without cards is a usual thing: what works is said first. */
function NoCards() {
  const { t } = useTranslation('devices')
  return (
    <Card title={t('none.card')} isFlush>
      <EmptyState title={t('none.title')}>
        <p>{t('none.works')}</p>
        <p className="npu-devices-hint">{t('none.later')}</p>
      </EmptyState>
    </Card>
  )
}
