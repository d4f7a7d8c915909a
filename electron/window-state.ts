/** Where the window was, and whether that place still exists. Pure. */

export interface WindowBounds {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface WindowState {
  /** The bounds when not maximised. */
  readonly bounds: WindowBounds
  readonly isMaximized: boolean
}

export const MINIMUM_WIDTH = 960
export const MINIMUM_HEIGHT = 600
const DEFAULT_SIZE = { width: 1440, height: 900 }
/** So much of the window's top edge has to lie on a display that a hand can grab it. */
const VISIBLE_MARGIN = { width: 120, height: 40 }

/** A stored state, or null where the value is not one. */
export function readWindowState(value: unknown): WindowState | null {
  if (typeof value !== 'object' || value === null) return null
  const { bounds, isMaximized } = value as { bounds?: unknown; isMaximized?: unknown }
  if (typeof bounds !== 'object' || bounds === null || typeof isMaximized !== 'boolean') return null
  const { x, y, width, height } = bounds as Record<string, unknown>
  const numbers = [x, y, width, height]
  if (!numbers.every((entry): entry is number => Number.isInteger(entry))) return null
  return { bounds: { x: x as number, y: y as number, width: width as number, height: height as number }, isMaximized }
}

/**
 * Size and place for the window: the stored ones where they still lie on a display, else centred on the first display.
 * @param displays work areas, the primary display first; never empty
 */
export function placeWindow(stored: WindowState | null, displays: readonly WindowBounds[]): WindowState {
  const primary = displays[0] ?? { x: 0, y: 0, ...DEFAULT_SIZE }
  const display = stored === null ? undefined : displays.find((area) => isReachable(stored.bounds, area))
  if (stored === null || display === undefined) return { bounds: centred(DEFAULT_SIZE, primary), isMaximized: stored?.isMaximized ?? false }
  const width = clamp(stored.bounds.width, MINIMUM_WIDTH, display.width)
  const height = clamp(stored.bounds.height, MINIMUM_HEIGHT, display.height)
  return { bounds: { ...stored.bounds, width, height }, isMaximized: stored.isMaximized }
}

function isReachable(bounds: WindowBounds, area: WindowBounds): boolean {
  const overlap = Math.min(bounds.x + bounds.width, area.x + area.width) - Math.max(bounds.x, area.x)
  return overlap >= VISIBLE_MARGIN.width && bounds.y >= area.y && bounds.y <= area.y + area.height - VISIBLE_MARGIN.height
}

function centred(size: { width: number; height: number }, area: WindowBounds): WindowBounds {
  const width = Math.min(size.width, area.width)
  const height = Math.min(size.height, area.height)
  return { x: area.x + Math.round((area.width - width) / 2), y: area.y + Math.round((area.height - height) / 2), width, height }
}

/** Where the display is smaller than the minimum, the display wins. */
function clamp(value: number, minimum: number, maximum: number): number {
  return Math.min(Math.max(value, minimum), maximum)
}
