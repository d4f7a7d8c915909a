/** Mini-meter of the cards. No card: an em dash with the reason; what a card does not report has no bar; never 0 %. */
import { Tooltip } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { StatePill } from '../components/state-pill.tsx'
import { useConsole } from '../console-store.ts'
import { UNKNOWN } from '../lib/format.ts'

/** More do not fit beside the repository and the engine. */
const SHOWN_CARDS = 4

export function NpuMeter() {
  const { t } = useTranslation()
  const npus = useConsole((state) => state.samples[state.samples.length - 1]?.npus ?? null)
  if (npus === null || npus.length === 0) {
    return (
      <Tooltip content={t('npu.noneFound')} relationship="description">
        <span className="npu-meter npu-small-text npu-quiet" tabIndex={0} data-testid="npu-meter">NPU {UNKNOWN}</span>
      </Tooltip>
    )
  }
  return (
    <div className="npu-row npu-small-text" data-testid="npu-meter">
      {npus.some((npu) => npu.isSimulated) && <StatePill kind="simulated" />}
      {npus.slice(0, SHOWN_CARDS).map((npu) => (
        <span key={npu.card} className="npu-meter">
          <span className="npu-quiet">{t('npu.card', { card: npu.card })}</span>
          {npu.aiCorePercent !== null && <span className="npu-bar" aria-hidden><i style={{ width: `${Math.min(100, npu.aiCorePercent)}%`, ...(npu.isSimulated ? { background: 'var(--npuSimulated)' } : {}) }} /></span>}
          <span className="npu-meter-figure">{npu.aiCorePercent === null ? UNKNOWN : `${Math.round(npu.aiCorePercent)} %`}</span>
        </span>
      ))}
      {npus.length > SHOWN_CARDS && <span className="npu-quiet">{t('npu.more', { count: npus.length - SHOWN_CARDS })}</span>}
    </div>
  )
}
