/** Who uses the cards, what loading a model cost, and by which numbers a card is known where. */
import { useTranslation } from 'react-i18next'
import type { DevicesReport } from '../../../server-core/contract/devices.ts'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { StateMark, StatePill } from '../../components/state-pill.tsx'
import { formatBytes, UNKNOWN } from '../../lib/format.ts'
import { localized } from '../../lib/localized-text.ts'

export function ProcessesCard({ report }: { readonly report: DevicesReport }) {
  const { t } = useTranslation('devices')
  const processes = report.processes ?? []
  const simulated = report.isSimulated ? { state: <StatePill kind="simulated" isPlain /> } : {}
  return (
    <Card title={t('processes.title')} note={t(report.problem === null ? 'processes.note' : 'processes.old')} isFlush {...simulated}>
      {report.processes === null ? <p className="npu-devices-empty npu-quiet">{t('processes.notListed')}</p> : processes.length === 0 ? <p className="npu-devices-empty npu-quiet">{t('processes.none')}</p> : (
        <div className="npu-devices-scroll">
          <table className="npu-table">
            <thead><tr><th>{t('processes.process')}</th><th>{t('processes.program')}</th><th>{t('processes.models')}</th><th className="npu-right">{t('column.card')}</th><th className="npu-right">{t('column.memory')}</th></tr></thead>
            <tbody>
              {processes.map((process) => (
                <tr key={`${process.card} ${process.processId}`} data-testid="device-process">
                  <td className="npu-mono">{process.processId}</td>
                  <td>{process.name === '' ? UNKNOWN : process.name}</td>
                  <td>{process.isOurs ? process.models.length === 0 ? <span className="npu-quiet">{t('processes.noModel')}</span> : process.models.join(', ') : <span className="npu-row npu-is-degraded"><StateMark kind="degraded" isDecoration />{t('processes.foreign')}</span>}</td>
                  <td className="npu-right">{process.card}</td>
                  <td className="npu-right">{formatBytes(process.memoryBytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

/** Only what was measured: there is no card while nothing was loaded onto one. */
export function MemoryCard({ report }: { readonly report: DevicesReport }) {
  const { t } = useTranslation('devices')
  if (report.memory.length === 0) return null
  const isCard = report.memory.some(({ basis }) => basis === 'card')
  const simulated = report.isSimulated ? { state: <StatePill kind="simulated" isPlain /> } : {}
  return (
    <Card title={t('ledger.title')} note={t(isCard ? 'ledger.noteCard' : 'ledger.noteProcess')} isFlush {...simulated}>
      <div className="npu-devices-scroll">
        <table className="npu-table">
          <thead><tr><th>{t('ledger.model')}</th><th className="npu-right">{t('column.card')}</th><th className="npu-right">{t('ledger.before')}</th><th className="npu-right">{t('ledger.loaded')}</th><th className="npu-right">{t('ledger.difference')}</th><th className="npu-right">{t('ledger.after')}</th><th className="npu-right" title={t('ledger.reportedHint')}>{t('ledger.reported')}</th></tr></thead>
          <tbody>
            {report.memory.map((record) => (
              <tr key={`${record.model} ${record.card}`}>
                <td><b>{record.model}</b>{record.isShared && <span className="npu-quiet" title={t('ledger.sharedHint')}> {t('ledger.shared')}</span>}</td>
                <td className="npu-right">{record.card}</td>
                <td className="npu-right">{formatBytes(record.beforeBytes)}</td>
                <td className="npu-right">{formatBytes(record.loadedBytes)}</td>
                <td className="npu-right">{difference(record.beforeBytes, record.loadedBytes)}</td>
                <td className="npu-right">{formatBytes(record.afterUnloadBytes)}</td>
                <td className="npu-right">{formatBytes(record.reportedBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

function difference(before: number | null, after: number | null): string {
  if (before === null || after === null) return UNKNOWN
  return `${after < before ? '−' : '+'}${formatBytes(Math.abs(after - before))}`
}

export function IdsCard({ report }: { readonly report: DevicesReport }) {
  const { t } = useTranslation('devices')
  const { cards, visibleDevices } = report
  return (
    <Card title={t('ids.title')} note={t('ids.note')} isFlush actions={(
      <span className="npu-row npu-small-text">
        <code>ASCEND_RT_VISIBLE_DEVICES</code>
        {visibleDevices === null ? <span className="npu-quiet">{t('ids.notSet')}</span> : (
          <>
            <code className="npu-devices-value">{visibleDevices.value === '' ? '""' : visibleDevices.value}</code>
            {visibleDevices.problem === null
              ? <span className="npu-row npu-is-ready"><StateMark kind="ready" isDecoration />{t('ids.valid')}</span>
              : <span className="npu-row npu-is-degraded" title={localized(visibleDevices.problem)}><StateMark kind="degraded" isDecoration />{t('ids.partly')}</span>}
          </>
        )}
      </span>
    )}>
      <div className="npu-devices-scroll">
        <table className="npu-table">
          <thead><tr>
            <th>{t('column.card')}</th><th>{t('ids.chip')}</th><th>{t('ids.bus')}</th><th className="npu-right">npu-smi NPU</th><th className="npu-right">Chip</th><th className="npu-right">{t('ids.logical')}</th><th className="npu-right">{t('ids.visible')}</th><th>{t('ids.node')}</th><th className="npu-right">{t('ids.config')}</th>
          </tr></thead>
          <tbody>
            {cards.map((card) => {
              const setting = card.visibleId === null ? null : `device_ids: "${card.visibleId}"`
              return (
                <tr key={card.card} data-testid="device-ids">
                  <td><b>{t('common:npu.card', { card: card.card })}</b></td>
                  <td>{card.chip}</td>
                  <td className="npu-mono">{card.busId ?? UNKNOWN}</td>
                  <td className="npu-right">{card.slot}</td>
                  <td className="npu-right">{card.chipIndex ?? UNKNOWN}</td>
                  <td className="npu-right">{card.logicalId ?? UNKNOWN}</td>
                  <td className="npu-right">{card.visibleId ?? (card.logicalId === null ? UNKNOWN : <span className="npu-quiet">{t('ids.hidden')}</span>)}</td>
                  <td className="npu-mono">{card.deviceNode ?? UNKNOWN}</td>
                  <td className="npu-right">{setting === null ? UNKNOWN : <span className="npu-devices-setting"><code>{setting}</code><CopyButton text={setting} label={t('ids.copy', { setting })} /></span>}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <p className="npu-devices-foot npu-small-text npu-secondary">{t('ids.explanation')}</p>
    </Card>
  )
}
