/** Mini-meter of the cards. No card: an em dash with the reason, never 0 %. */
import { Tooltip } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { useConsole } from '../console-store.ts'
import { UNKNOWN } from '../lib/format.ts'

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
      {npus.map((npu) => (
        <span key={npu.card} className="npu-meter">
          <span className="npu-quiet">{t('npu.card', { card: npu.card })}</span>
          <span className="npu-bar"><i style={{ width: `${npu.aiCorePercent ?? 0}%` }} /></span>
          <span className="npu-meter-figure">{npu.aiCorePercent === null ? UNKNOWN : `${Math.round(npu.aiCorePercent)} %`}</span>
        </span>
      ))}
    </div>
  )
}
