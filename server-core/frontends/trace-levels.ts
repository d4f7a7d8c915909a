import type { TraceSettings } from '../tracing/trace-settings.ts'

/** As both protocols show them. */
export function shownLevels({ levels }: TraceSettings): readonly string[] { return levels.length === 0 ? ['OFF'] : levels }
