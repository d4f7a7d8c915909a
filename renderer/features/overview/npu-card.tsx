/** The strip of cards. Without a card it says so; what a card does not report is an em dash, never 0. */
import { useTranslation } from 'react-i18next'
import type { NpuSample } from '../../../server-core/contract/statistics.ts'
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { useConsole } from '../../console-store.ts'
import { formatBytes } from '../../lib/format.ts'
import { routeHash } from '../../router.ts'

export function NpuCard() {
  const { t } = useTranslation('overview')
  const npus = useConsole((state) => state.samples[state.samples.length - 1]?.npus ?? null)
  if (npus === null || npus.length === 0) return <Card title={t('npu.title')} isFlush><EmptyState title={t('npu.none')}>{t('npu.noneHint')}</EmptyState></Card>
  return (
    <Card title={t('npu.title')} note={t('npu.note', { count: npus.length })} {...(npus.some((npu) => npu.isSimulated) ? { state: <StatePill kind="simulated" isPlain /> } : {})}
      actions={<a className="npu-link" href={routeHash('devices')}>{t('npu.all')}</a>}>
      <div className="npu-cards">{npus.map((npu) => <OneCard key={npu.card} npu={npu} />)}</div>
    </Card>
  )
}

function OneCard({ npu }: { readonly npu: NpuSample }) {
  const { t } = useTranslation('overview')
  const memoryShare = npu.memoryUsedBytes === null || npu.memoryTotalBytes === null ? null : (100 * npu.memoryUsedBytes) / npu.memoryTotalBytes
  return (
    <div>
      <div className="npu-row">
        <b>{t('common:npu.card', { card: npu.card })}</b><span className="npu-secondary">{npu.chip}</span>
        {npu.health !== null && npu.health !== 'ok' && <StatePill kind={npu.health === 'warning' ? 'degraded' : 'failed'} text={t(`devices:health.${npu.health}`)} isPlain />}
      </div>
      <Meter name={t('npu.core')} percent={npu.aiCorePercent} text={npu.aiCorePercent === null ? null : `${Math.round(npu.aiCorePercent)} %`} />
      <Meter name={t('npu.memory')} percent={memoryShare} text={memoryShare === null ? null : `${formatBytes(npu.memoryUsedBytes)} / ${formatBytes(npu.memoryTotalBytes)}`} />
      <Meter name={t('npu.temperature')} percent={npu.temperatureCelsius} text={npu.temperatureCelsius === null ? null : `${Math.round(npu.temperatureCelsius)} °C`} />
      <Meter name={t('npu.power')} percent={null} text={npu.powerWatts === null ? null : `${Math.round(npu.powerWatts)} W`} />
    </div>
  )
}

interface MeterProps { readonly name: string; readonly percent: number | null; readonly text: string | null }

function Meter({ name, percent, text }: MeterProps) {
  const { t } = useTranslation('overview')
  return (
    <div className="npu-card-meter">
      <span className="npu-quiet">{name}</span>
      {percent === null ? <span /> : <span className="npu-bar" aria-hidden><i style={{ width: `${Math.min(100, percent)}%` }} /></span>}
      <span className={text === null ? 'npu-right npu-quiet' : 'npu-right'}>{text ?? t('npu.notReported')}</span>
    </div>
  )
}
