/** "Runs on" from what the instances report. Pure. */
import { devicesOf, type ModelDegradation, type ModelInstanceReport } from '../contract/repository.ts'

export interface ModelPlacement {
  /** Each place once: 'CPU', 'NPU 0, 1', 'NPU 0 + CPU'. */
  readonly runsOn: string
  readonly isSimulated: boolean
  readonly degraded: ModelDegradation | null
}

/** @param reports of all instances, one each; null: the backend does not say, and then it is the CPU */
export function placementOf(reports: readonly (ModelInstanceReport | null)[]): ModelPlacement {
  const onNpu = reports.filter((report) => report?.runs_on === 'npu')
  const cards = [...new Set(onNpu.flatMap(devicesOf))].sort((a, b) => a - b)
  const npu = onNpu.length === 0 ? [] : [cards.length === 0 ? 'NPU' : `NPU ${cards.join(', ')}`]
  const fallback = reports.find((report) => report?.runs_on !== 'npu' && report?.fallback_reason !== undefined) ?? null
  return {
    runsOn: [...npu, ...(onNpu.length === reports.length && reports.length > 0 ? [] : ['CPU'])].join(' + '),
    isSimulated: onNpu.some((report) => report?.simulated === true),
    degraded: fallback === null ? null : { wanted: fallback.device === undefined ? 'NPU' : `NPU ${fallback.device}`, reason: fallback.fallback_reason ?? '' },
  }
}
