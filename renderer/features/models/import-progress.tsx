/** How far a transfer is: bar, bytes of all, percent and the time left. */
import { ProgressBar } from '@fluentui/react-components'
import { useEffect, useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { durationParts, formatBytes } from '../../lib/format.ts'
import type { TransferProgress } from './import-store.ts'

export function ImportProgress({ sentence, progress }: { readonly sentence: string; readonly progress: TransferProgress }) {
  const { t } = useTranslation('import')
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  // The card may be longer than the window.
  useEffect(() => { place.current?.scrollIntoView({ block: 'nearest' }) }, [])
  const { bytesDone, bytesTotal, secondsLeft } = progress
  const share = bytesTotal === 0 ? 1 : bytesDone / bytesTotal
  const left = secondsLeft === null ? null : durationParts(secondsLeft * 1000)
  return (
    <div className="npu-import-progress" ref={place} data-testid="import-progress">
      <p id={id}>{sentence}</p>
      <ProgressBar value={share} max={1} aria-labelledby={id} aria-valuetext={`${Math.floor(share * 100)} %`} />
      <p className="npu-secondary">
        {t('progress', { done: formatBytes(bytesDone), total: formatBytes(bytesTotal), percent: Math.floor(share * 100) })}
        {left !== null && ` · ${t('timeLeft', { duration: t(`common:duration.${left.key}`, { first: left.first, second: left.second }) })}`}
      </p>
    </div>
  )
}
