/** The Doctor's findings: what needs repair first, each with the exact repair to copy. */
import { Button } from '@fluentui/react-components'
import { Fragment } from 'react'
import { useTranslation } from 'react-i18next'
import type { ServerRestart } from '../../../server-core/contract/console-api.ts'
import { SIMULATED_MARK, type DoctorCheck, type DoctorReport, type DoctorVerdict } from '../../../server-core/contract/devices.ts'
import { Age } from '../../components/age.tsx'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { FixIcon } from '../../components/icons.tsx'
import { StateMark, type StateKind } from '../../components/state-pill.tsx'
import { consoleClient } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { restartEngine, useEngineRestart } from '../../engine-restart.ts'
import { localized } from '../../lib/localized-text.ts'
import { useNow } from '../../lib/use-now.ts'
import { useDevices } from './devices-store.ts'

const MARKS: Readonly<Record<DoctorVerdict, StateKind>> = { ok: 'ready', warning: 'degraded', problem: 'failed', unknown: 'unloaded' }
const COUNTED: readonly DoctorVerdict[] = ['ok', 'warning', 'problem', 'unknown']

export function DoctorCard() {
  const { t } = useTranslation('devices')
  const doctor = useDevices((state) => state.doctor)
  const error = useDevices((state) => state.doctorError)
  return (
    <Card title={t('doctor.title')} note={<Examined />} isFlush className="npu-devices-doctor" actions={doctor === null ? undefined : <Counts doctor={doctor} />}>
      {error !== null && <ErrorNotice sentence={t('doctor.failed')} error={error} />}
      {doctor !== null && (
        <>
          <p className="npu-devices-summary" data-testid="doctor-summary">{localized(doctor.summary)}</p>
          <ul className="npu-devices-checks" tabIndex={0} aria-label={t('doctor.title')}>{doctor.checks.map((check) => <Check key={check.id} check={check} />)}</ul>
          <div className="npu-devices-foot"><CopyButton text={() => reportText(doctor, (verdict) => t(`verdict.${verdict}`))} label={t('doctor.copy')} hasLabel /></div>
        </>
      )}
    </Card>
  )
}

/** How old the findings are, or for how long the machine has been looked at. */
function Examined() {
  const { t } = useTranslation('devices')
  const since = useDevices((state) => state.examinedSince)
  const ranAt = useDevices((state) => state.doctor?.ranAt ?? 0)
  const seconds = Math.floor((useNow() - (since ?? 0)) / 1000)
  if (since !== null) return seconds < 1 ? null : <>{t('doctor.running', { seconds })}</>
  return ranAt === 0 ? null : <Age time={ranAt} />
}

function Counts({ doctor }: { readonly doctor: DoctorReport }) {
  const { t } = useTranslation('devices')
  return (
    <span className="npu-row">
      {COUNTED.map((verdict) => ({ verdict, count: doctor.checks.filter((check) => check.verdict === verdict).length })).filter(({ count }) => count > 0).map(({ verdict, count }) => (
        <span key={verdict} className={`npu-devices-count npu-is-${MARKS[verdict]}`} title={t(`verdict.${verdict}`)}><StateMark kind={MARKS[verdict]} isDecoration /><b>{count}</b><span className="npu-visually-hidden">{t(`verdict.${verdict}`)}</span></span>
      ))}
    </span>
  )
}

function Check({ check }: { readonly check: DoctorCheck }) {
  const { t } = useTranslation('devices')
  const { verdict, title, detail, fix } = check
  return (
    <li className="npu-devices-check" data-testid={`doctor-${check.id}`} data-verdict={verdict}>
      <StateMark kind={MARKS[verdict]} isDecoration />
      <div className="npu-devices-check-text">
        <p><span className="npu-visually-hidden">{t(`verdict.${verdict}`)}{t('doctor.colon')}</span><b>{localized(title)}</b></p>
        <p className="npu-secondary"><Breakable text={localized(detail)} /></p>
        {fix !== null && <p className="npu-small-text"><Breakable text={localized(fix.text)} /></p>}
        {fix !== null && fix.restart !== null && <ApplyFix title={localized(title)} restart={fix.restart} />}
        {fix !== null && fix.command !== null && <div className="npu-devices-command"><code>{fix.command}</code><CopyButton text={fix.command} label={t('doctor.copyFix', { title: localized(title) })} /></div>}
      </div>
    </li>
  )
}

/** Between a Chinese sign and a path a line may break, and never within a flag; browsers would break inside both instead. */
function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=[、：；，])(?=\/)|(--[a-z][\w=-]*)/).filter((part) => part !== undefined).map((part, index) => (
    <Fragment key={index}>{index > 0 && <wbr />}{part.startsWith('--') ? <span className="npu-devices-flag">{part}</span> : part}</Fragment>
  ))
}

/** Starts the engine again so that this is mended. */
function ApplyFix({ title, restart }: { readonly title: string; readonly restart: ServerRestart }) {
  const { t } = useTranslation('devices')
  const canRestart = useConsole((state) => state.status?.canRestart === true)
  const { leaving, error } = useEngineRestart()
  if (!canRestart) return null
  return (
    <>
      <div className="npu-row npu-devices-apply">
        <Button size="small" className="npu-small" icon={<FixIcon />} disabledFocusable={leaving !== null} aria-label={t('doctor.applyFix', { title })} onClick={() => void restartEngine(consoleClient, restart)} data-testid="doctor-apply">{t('doctor.apply')}</Button>
        <span className="npu-secondary">{t(leaving === null ? 'doctor.applyHint' : 'doctor.applying')}</span>
      </div>
      {error !== null && <ErrorNotice sentence={t('doctor.notApplied')} error={error} />}
    </>
  )
}

function reportText({ isSimulated, summary, devices, checks }: DoctorReport, word: (verdict: DoctorVerdict) => string): string {
  // As npu-console doctor lists them: whoever reads the report needs the numbers, in the tools' own words.
  const cards = devices.map(({ slot, chipIndex, chip, busId, logicalId, visibleId, deviceNode }) => `NPU ${slot} · Chip ${chipIndex ?? '-'} · ${chip} · ${busId ?? '-'} · Logical id ${logicalId ?? '-'} · Visible id ${visibleId ?? '-'} · ${deviceNode ?? '-'}`)
  return [`${isSimulated ? `${SIMULATED_MARK} ` : ''}${localized(summary)}`, ...cards, ...checks.map(({ verdict, title, detail, fix }) => [`[${word(verdict)}] ${localized(title)}`, `  ${localized(detail)}`, ...(fix === null ? [] : [`  ${localized(fix.text)}`]), ...(fix === null || fix.command === null ? [] : [`  ${fix.command}`])].join('\n'))].join('\n')
}
