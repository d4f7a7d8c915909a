/** Numbers as the window prints them: one space before the unit, thin-space thousands, an em dash for what is unknown (never 0). */

export const UNKNOWN = '—'
const THIN_SPACE = '\u2009'

export interface Figure {
  readonly value: string
  readonly unit: string
}

/** A whole number with thin-space thousands. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE)
}

/** A decimal number with a fixed count of digits after the point. */
export function formatDecimal(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN
  const [whole = '0', fraction] = value.toFixed(digits).split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE)
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** Requests a second: one decimal below a thousand, none above. */
export function formatRate(perSecond: number | null | undefined): string {
  if (perSecond === null || perSecond === undefined) return UNKNOWN
  return formatDecimal(perSecond, perSecond >= 1000 ? 0 : 1)
}

/** Milliseconds split in figure and unit: `0.42 ms`, `18.4 ms`, `412 ms`, `12.3 s`. */
export function millisecondsFigure(milliseconds: number | null | undefined): Figure {
  if (milliseconds === null || milliseconds === undefined || !Number.isFinite(milliseconds)) return { value: UNKNOWN, unit: '' }
  if (milliseconds >= 10_000) return { value: formatDecimal(milliseconds / 1000, 1), unit: 's' }
  const digits = milliseconds < 1 ? 2 : milliseconds < 100 ? 1 : 0
  return { value: formatDecimal(milliseconds, digits), unit: 'ms' }
}

export function formatMilliseconds(milliseconds: number | null | undefined): string {
  return joinFigure(millisecondsFigure(milliseconds))
}

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** Bytes split in figure and unit; GB = 2^30. */
export function bytesFigure(bytes: number | null | undefined): Figure {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return { value: UNKNOWN, unit: '' }
  let value = bytes
  let step = 0
  while (value >= 1024 && step < BYTE_UNITS.length - 1) {
    value /= 1024
    step++
  }
  return { value: formatDecimal(value, step === 0 || value >= 100 ? 0 : 1), unit: BYTE_UNITS[step] ?? 'B' }
}

export function formatBytes(bytes: number | null | undefined): string {
  return joinFigure(bytesFigure(bytes))
}

/** A share 0..1 in percent, split; small shares keep enough digits not to read as zero. */
export function percentFigure(share: number | null | undefined): Figure {
  if (share === null || share === undefined || !Number.isFinite(share)) return { value: UNKNOWN, unit: '' }
  const percent = share * 100
  const digits = percent === 0 || percent >= 10 ? 0 : percent >= 1 ? 1 : percent >= 0.1 ? 2 : 3
  return { value: formatDecimal(percent, digits), unit: '%' }
}

export function joinFigure({ value, unit }: Figure): string {
  return unit === '' ? value : `${value} ${unit}`
}

const two = (value: number) => String(value).padStart(2, '0')

/** `14:32:08`, local time. */
export function formatClock(time: number): string {
  const date = new Date(time)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** `14:32:08.418`, local time. */
export function formatClockMilliseconds(time: number): string {
  return `${formatClock(time)}.${String(new Date(time).getMilliseconds()).padStart(3, '0')}`
}

/** `2026-11-29`, local date. */
export function formatDate(time: number): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

export interface AgeParts {
  /** Key below `common:age`; 'date': older than a week, print the date. */
  readonly key: 'now' | 'minutes' | 'hours' | 'days' | 'date'
  readonly count: number
}

/** How long ago a moment was, in the largest whole unit, up to a week. */
export function ageParts(time: number, now: number): AgeParts {
  const minutes = Math.floor((now - time) / 60_000)
  if (minutes < 1) return { key: 'now', count: 0 }
  if (minutes < 60) return { key: 'minutes', count: minutes }
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return { key: 'hours', count: hours }
  const days = Math.floor(hours / 24)
  return days <= 7 ? { key: 'days', count: days } : { key: 'date', count: days }
}

export interface DurationParts {
  /** Key below `common:duration`. */
  readonly key: 'daysHours' | 'hoursMinutes' | 'minutes' | 'seconds'
  readonly first: number
  readonly second: number
}

/** The two largest parts of a duration, to be worded by `common:duration.<key>`. */
export function durationParts(milliseconds: number): DurationParts {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (days > 0) return { key: 'daysHours', first: days, second: hours % 24 }
  if (hours > 0) return { key: 'hoursMinutes', first: hours, second: minutes % 60 }
  if (minutes > 0) return { key: 'minutes', first: minutes, second: seconds % 60 }
  return { key: 'seconds', first: seconds, second: 0 }
}

/** Shape of a tensor as text, `[-1, 3, 48, 320]`. */
export function formatShape(shape: readonly (number | string)[]): string {
  return `[${shape.join(', ')}]`
}
