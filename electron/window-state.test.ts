import { describe, expect, it } from 'vitest'
import { placeWindow, readWindowState } from './window-state.ts'

const PRIMARY = { x: 0, y: 0, width: 1920, height: 1040 }
const RIGHT = { x: 1920, y: 0, width: 2560, height: 1400 }

describe('window state', () => {
  it('centres a first window on the primary display', () => {
    expect(placeWindow(null, [PRIMARY, RIGHT])).toEqual({ bounds: { x: 240, y: 70, width: 1440, height: 900 }, isMaximized: false })
  })

  it('is no larger than a small display', () => {
    expect(placeWindow(null, [{ x: 0, y: 0, width: 1280, height: 720 }]).bounds).toEqual({ x: 0, y: 0, width: 1280, height: 720 })
  })

  it('comes back where it was, on any display, maximised as it was', () => {
    const stored = { bounds: { x: 2000, y: 50, width: 1200, height: 800 }, isMaximized: true }
    expect(placeWindow(stored, [PRIMARY, RIGHT])).toEqual(stored)
  })

  it('comes back to the primary display when its own is gone', () => {
    const stored = { bounds: { x: 2000, y: 50, width: 1200, height: 800 }, isMaximized: false }
    expect(placeWindow(stored, [PRIMARY]).bounds).toEqual({ x: 240, y: 70, width: 1440, height: 900 })
  })

  it('comes back when its title bar could not be reached', () => {
    for (const place of [{ x: 100, y: -50 }, { x: 100, y: 1030 }, { x: 1880, y: 100 }, { x: -1150, y: 100 }]) {
      expect(placeWindow({ bounds: { ...place, width: 1200, height: 800 }, isMaximized: false }, [PRIMARY]).bounds.x).toBe(240)
    }
  })

  it('fits a size that is too small or larger than the display', () => {
    expect(placeWindow({ bounds: { x: 10, y: 10, width: 500, height: 9000 }, isMaximized: false }, [PRIMARY]).bounds)
      .toEqual({ x: 10, y: 10, width: 960, height: 1040 })
  })

  it('reads only what is a state', () => {
    const state = { bounds: { x: 0, y: -5, width: 1000, height: 700 }, isMaximized: false }
    expect(readWindowState(JSON.parse(JSON.stringify(state)))).toEqual(state)
    for (const wrong of [null, 5, {}, { bounds: null, isMaximized: true }, { ...state, isMaximized: 1 }, { ...state, bounds: { ...state.bounds, x: 0.5 } }]) {
      expect(readWindowState(wrong)).toBeNull()
    }
  })
})
