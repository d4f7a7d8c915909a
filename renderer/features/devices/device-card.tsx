/** One card: what it is, how busy it is, its memory by user, ten minutes of AI Core, and its physical state. Unknown is said, never drawn as 0. */
import { memo, useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { DeviceCard as Device, DeviceProcess } from '../../../server-core/contract/devices.ts'
import type { NpuSample, ServerSample } from '../../../server-core/contract/statistics.ts'
import { StatePill, type StateKind } from '../../components/state-pill.tsx'
import { useElementSize } from '../../components/use-element-size.ts'
import { ageParts, formatBytes, formatDecimal, UNKNOWN } from '../../lib/format.ts'
import { historyPaths } from './card-history.ts'
import { CardModels, CardTroubles, isSilent } from './card-troubles.tsx'
import { memoryShares, type MemoryShare } from './card-memory.ts'
import { HISTORY_SECONDS } from './devices-store.ts'

interface DeviceCardProps {
  readonly device: Device
  /** Of this second; null: nothing was told yet. */
  readonly npu: NpuSample | null
  /** Time of that second. */
  readonly now: number
  /** Of this card; null: the driver lists none. */
  readonly processes: readonly DeviceProcess[] | null
  readonly samples: readonly ServerSample[]
}

const HEALTH_STATES: Readonly<Record<NonNullable<NpuSample['health']>, StateKind>> = { ok: 'ready', warning: 'degraded', alarm: 'failed', critical: 'failed' }
/** From here on the temperature is marked; the chips slow themselves down above it. */
const HOT_CELSIUS = 80
/** Older than two periods is old. */
const STALE_MILLISECONDS = 2500
/** The server takes older values back: what is absent then is not for the card to report. */
const EXPIRED_MILLISECONDS = 10_000

export function DeviceCard({ device, npu, now, processes, samples }: DeviceCardProps) {
  const { t } = useTranslation('devices')
  const titleId = useId()
  const { chip } = device
  const health = npu?.health ?? null
  const age = npu === null ? 0 : now - npu.readAt
  const cores = device.aiCores === null ? null : device.vectorCores === null ? t('card.aiCores', { count: device.aiCores }) : t('card.cubeAndVector', { cube: device.aiCores, vector: device.vectorCores })
  const total = npu?.memoryTotalBytes ?? null
  const facts = [total === null ? null : formatBytes(total), cores].filter((fact) => fact !== null)
  const withUnit = (value: number | null | undefined, unit: string) => (value === null || value === undefined ? null : `${formatDecimal(value, 0)} ${unit}`)
  const errors = npu?.errorCodes ?? null
  const isExpired = age > EXPIRED_MILLISECONDS
  // Beside the simulated mark or a long word about the health they would be cut off.
  const hasRoom = health !== null && npu?.isSimulated !== true
  const absent = isExpired || isSilent(npu) ? UNKNOWN : t('notReported', { chip })
  const absentFigure = isExpired || isSilent(npu) ? UNKNOWN : t('unknown')
  return (
    <section className="npu-card" aria-labelledby={titleId} data-testid={`device-${device.card}`} data-simulated={npu?.isSimulated === true}>
      <div className="npu-card-head">
        <h2 id={titleId}>{t('common:npu.card', { card: device.card })}</h2>
        <b>{chip}</b>
        {hasRoom && <span className="npu-quiet npu-cut" title={facts.join(' · ')}>{facts.join(' · ')}</span>}
        <span className="npu-grow" />
        {npu?.isSimulated === true && <StatePill kind="simulated" isPlain />}
        <StatePill kind={health === null ? 'unloaded' : HEALTH_STATES[health]} text={t(health === null && isExpired ? 'health.old' : `health.${health ?? 'unknown'}`)} />
      </div>
      <div className="npu-card-body">
        {!hasRoom && facts.length > 0 && <p className="npu-devices-facts npu-quiet">{facts.join(' · ')}</p>}
        <CardTroubles device={device} npu={npu} isExpired={isExpired} />
        {age > STALE_MILLISECONDS && <p className="npu-devices-stale npu-small-text" data-testid="stale">{t('card.stale', { age: ageText(t, age) })}</p>}
        <Meter name={t('meter.aiCore')} percent={npu?.aiCorePercent ?? null} text={withUnit(npu?.aiCorePercent, '%')} absent={absent} isStrong />
        <Meter name={t('meter.cube')} percent={npu?.cubeCorePercent ?? null} text={withUnit(npu?.cubeCorePercent, '%')} absent={absent} />
        <Meter name={t('meter.vector')} percent={npu?.vectorCorePercent ?? null} text={withUnit(npu?.vectorCorePercent, '%')} absent={absent} />
        <Memory npu={npu} absent={absent} processes={processes} />
        <History card={device.card} samples={samples} now={now} name={`${t('common:npu.card', { card: device.card })} AI Core`} />
        <CardModels device={device} />
        {npu !== null && <Ages npu={npu} age={age} now={now} />}
      </div>
      <dl className="npu-devices-figures">
        <Figure absent={absentFigure} name={t('figure.temperature')} value={withUnit(npu?.temperatureCelsius, '°C')} isHot={(npu?.temperatureCelsius ?? 0) >= HOT_CELSIUS} />
        <Figure absent={absentFigure} name={t('figure.power')} value={withUnit(npu?.powerWatts, 'W')} />
        <Figure absent={absentFigure} name={t('figure.errors')} value={errors === null ? null : errors.length === 0 ? t('figure.none') : errors.join(' ')} isBad={errors !== null && errors.length > 0} />
        <Figure absent={absentFigure} name={t('figure.processes')} value={processes === null || isExpired ? null : String(processes.length)} />
      </dl>
    </section>
  )
}

/** How old the figures are. Cores and error codes are asked for in turn, so that they may be older than the rest. */
function Ages({ npu, age, now }: { readonly npu: NpuSample; readonly age: number; readonly now: number }) {
  const { t } = useTranslation('devices')
  const detailsAge = npu.detailsReadAt === null ? null : now - npu.detailsReadAt
  // What is late stands at the top of the card already.
  const parts = [...(age > STALE_MILLISECONDS ? [] : [t('card.read', { age: ageText(t, age) })]), ...(detailsAge === null || detailsAge <= age ? [] : [t('card.detailsRead', { age: ageText(t, detailsAge) })])]
  return parts.length === 0 ? null : <p className="npu-devices-ages npu-small-text npu-quiet" data-testid="card-ages">{parts.join(' · ')}</p>
}

type Texts = ReturnType<typeof useTranslation<'devices'>>['t']

function ageText(t: Texts, milliseconds: number): string {
  if (milliseconds < 60_000) return t('card.seconds', { count: Math.max(0, Math.floor(milliseconds / 1000)) })
  const { key, count } = ageParts(0, milliseconds)
  return key === 'date' ? t('common:age.days', { count }) : t(`common:age.${key}`, { count })
}

interface MeterProps { readonly name: string; readonly percent: number | null; readonly text: string | null; readonly absent: string; readonly isStrong?: boolean }

function Meter({ name, percent, text, absent, isStrong = false }: MeterProps) {
  return (
    <div className="npu-devices-meter">
      <span className="npu-quiet">{name}</span>
      {percent === null ? <span /> : <span className="npu-devices-bar" aria-hidden><i style={{ width: `${Math.min(100, percent)}%`, background: 'var(--c1)' }} /></span>}
      {text === null ? <span className="npu-right npu-quiet">{absent}</span> : <span className="npu-right">{isStrong ? <b>{text}</b> : text}</span>}
    </div>
  )
}

const SHARE_COLORS: readonly string[] = ['var(--c1)', 'var(--c3)', 'var(--c2)', 'var(--c6)']

function Memory({ npu, absent, processes }: Pick<DeviceCardProps, 'npu' | 'processes'> & { readonly absent: string }) {
  const { t } = useTranslation('devices')
  const used = npu?.memoryUsedBytes ?? null
  const total = npu?.memoryTotalBytes ?? null
  const shares = npu === null ? [] : memoryShares(npu, processes)
  const parts: readonly MemoryShare[] = shares.length > 0 || used === null ? shares : [{ kind: 'system', models: [], bytes: used }]
  const colorOf = (share: MemoryShare, index: number) => (share.kind === 'system' ? 'var(--colorNeutralStrokeAccessible)' : share.kind === 'others' ? 'var(--c8)' : SHARE_COLORS[index % SHARE_COLORS.length] ?? 'var(--c1)')
  const nameOf = (share: MemoryShare) => (share.kind === 'models' ? share.models.join(', ') : t(`share.${share.kind}`))
  return (
    <>
      <div className="npu-devices-meter">
        <span className="npu-quiet">{t('meter.memory')}</span>
        {used === null || total === null ? <span /> : (
          <span className="npu-devices-bar" aria-hidden>{parts.map((share, index) => <i key={`${share.kind}${index}`} style={{ width: `${(100 * share.bytes) / total}%`, background: shares.length === 0 ? 'var(--c1)' : colorOf(share, index) }} />)}</span>
        )}
        {used === null ? <span className="npu-right npu-quiet">{absent}</span> : <span className="npu-right">{formatBytes(used)} / {formatBytes(total)}</span>}
      </div>
      <ul className="npu-devices-legend" aria-label={t('share.name')}>
        {shares.map((share, index) => (
          <li key={`${share.kind}${index}`}><svg width="8" height="8" aria-hidden="true"><rect width="8" height="8" rx="2" style={{ fill: colorOf(share, index) }} /></svg><span className="npu-cut" title={nameOf(share)}>{nameOf(share)}</span> {formatBytes(share.bytes)}</li>
        ))}
      </ul>
    </>
  )
}

const HISTORY_HEIGHT = 56

/** Drawn anew once a second, and not at all while the window is hidden: then the samples stay the same. */
const History = memo(function History({ card, samples, now, name }: { readonly card: number; readonly samples: readonly ServerSample[]; readonly now: number; readonly name: string }) {
  const { t } = useTranslation('devices')
  const [ref, size] = useElementSize<HTMLDivElement>()
  const width = Math.max(0, size.width - 48)
  const paths = width < 40 ? [] : historyPaths(samples, { card, end: now, seconds: HISTORY_SECONDS, width, height: HISTORY_HEIGHT })
  const known = samples.flatMap((sample) => sample.npus?.find((npu) => npu.card === card)?.aiCorePercent ?? [])
  return (
    <div className="npu-devices-history" ref={ref}>
      <p className="npu-visually-hidden">{known.length === 0 ? t('history.nothing', { name }) : t('history.summary', { name, now: formatDecimal(known[known.length - 1], 0), highest: formatDecimal(Math.max(...known), 0) })}</p>
      {width >= 40 && (
        <svg width={size.width} height={HISTORY_HEIGHT + 24} aria-hidden="true">
          <g transform="translate(48 4)">
            {[0, 0.5, 1].map((share) => <line key={share} x1={0} x2={width} y1={share * HISTORY_HEIGHT} y2={share * HISTORY_HEIGHT} stroke="var(--npuGrid)" />)}
            {paths.map((path) => <path key={path.slice(0, 24)} d={path} fill="none" stroke="var(--c1)" strokeWidth={1.5} />)}
          </g>
          <g fontSize={11} fill="var(--npuAxis)">
            <text x={42} y={8} textAnchor="end">100 %</text><text x={42} y={HISTORY_HEIGHT + 4} textAnchor="end">0</text>
            <text x={48} y={HISTORY_HEIGHT + 20}>{t('history.ago', { count: HISTORY_SECONDS / 60 })}</text><text x={size.width} y={HISTORY_HEIGHT + 20} textAnchor="end">{t('history.now')}</text>
          </g>
        </svg>
      )}
    </div>
  )
})

function Figure({ name, value, absent, isHot = false, isBad = false }: { readonly name: string; readonly value: string | null; readonly absent: string; readonly isHot?: boolean; readonly isBad?: boolean }) {
  const state = isBad ? 'npu-is-failed' : isHot ? 'npu-is-degraded' : ''
  return <div><dt>{name}</dt><dd className={value === null ? 'npu-quiet' : state}>{value === null ? absent : <b title={value}>{value}</b>}</dd></div>
}
