/** What happened to models and the engine, as flags of the charts' lane. */
import type { TFunction } from 'i18next'
import type { Activity } from '../../console-store.ts'
import type { ChartAnnotation } from '../../components/chart-cursor.tsx'

type Texts = TFunction<'monitor'>

const COLORS: Readonly<Partial<Record<Activity['kind'], string>>> = {
  ready: 'var(--npuReady)', degraded: 'var(--npuDegraded)', failed: 'var(--npuFailed)', unloaded: 'var(--npuUnloaded)', engineStarted: 'var(--colorBrandForeground1)', connectionLost: 'var(--npuFailed)',
}

/** Oldest first, inside (start, end]; steps on the way (loading, unloading) are left out, and so are other models than the one selected. */
export function monitorAnnotations(activity: readonly Activity[], start: number, end: number, model: string, t: Texts): ChartAnnotation[] {
  return activity
    .filter((entry) => COLORS[entry.kind] !== undefined && entry.time > start && entry.time <= end && (model === '' || entry.model === null || entry.model === model))
    .map((entry) => ({ id: entry.id, time: entry.time, color: COLORS[entry.kind] ?? '', text: t(`annotation.${entry.kind}`, { model: entry.model ?? '' }) }))
    .sort((a, b) => a.time - b.time)
}
