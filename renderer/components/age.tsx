/** When something happened: "3 days ago" up to a week, then the date; the exact time in the tooltip. */
import { useTranslation } from 'react-i18next'
import { ageParts, formatClock, formatDate, UNKNOWN } from '../lib/format.ts'
import { useNow } from '../lib/use-now.ts'

/** @param time milliseconds since the epoch; 0: unknown */
export function Age({ time }: { readonly time: number }) {
  const { t } = useTranslation()
  const now = useNow()
  if (time <= 0) return <>{UNKNOWN}</>
  const { key, count } = ageParts(time, now)
  return <time dateTime={new Date(time).toISOString()} title={`${formatDate(time)} ${formatClock(time)}`}>{key === 'date' ? formatDate(time) : t(`age.${key}`, { count })}</time>
}
