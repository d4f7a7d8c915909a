import { describe, expect, it } from 'vitest'
import { colorDistance, contrastRatio, SIGHTS } from './contrast.ts'
import { themes } from './theme.ts'
import type { ThemeName } from './tokens.ts'

const STATES = ['Ready', 'Loading', 'Failed', 'Unloaded', 'Degraded', 'Simulated'] as const
const CHART = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8'] as const

function color(theme: ThemeName, token: string): string {
  const value = (themes[theme] as unknown as Record<string, string>)[token]
  if (value === undefined) throw new Error(`theme ${theme} has no token ${token}`)
  return value
}

/** Tokens whose worst contrast against the grounds is below the floor, with the ratio. */
function tooFaint(theme: ThemeName, tokens: readonly string[], grounds: readonly string[], floor: number): string[] {
  return tokens.map((token) => ({ token, worst: Math.min(...grounds.map((ground) => contrastRatio(color(theme, token), color(theme, ground)))) }))
    .filter(({ worst }) => worst < floor).map(({ token, worst }) => `${token} ${worst.toFixed(2)}`)
}

const GROUNDS = ['colorNeutralBackground1', 'colorNeutralBackground2', 'colorNeutralBackground3', 'colorNeutralBackground1Hover', 'colorNeutralBackground1Selected'] as const

describe('contrast arithmetic', () => {
  it('agrees with known values', () => {
    expect(contrastRatio('#000000', '#ffffff')).toBeCloseTo(21, 5)
    expect(contrastRatio('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
    expect(colorDistance('#ff0000', '#ff0000')).toBe(0)
    expect(colorDistance('#000000', '#ffffff')).toBeCloseTo(100, 1)
  })
})

describe.each(['light', 'dark', 'contrast'] as const)('theme %s', (theme) => {
  // In high contrast a row is never filled: text lies on the ground colour only.
  const grounds = theme === 'contrast' ? ['colorNeutralBackground1', 'npuSelectedBg', 'npuHoverBg'] : GROUNDS

  it('keeps text readable on every ground', () => {
    expect(tooFaint(theme, ['colorNeutralForeground1', 'colorNeutralForeground2', 'colorNeutralForeground3', 'colorBrandForeground1'], grounds, 4.5)).toEqual([])
    expect(tooFaint(theme, ['colorNeutralForegroundOnBrand'], ['colorBrandBackground', 'colorBrandBackgroundHover', 'colorBrandBackgroundPressed'], 4.5)).toEqual([])
  })

  it('keeps the words of states readable, on every ground and on their pills', () => {
    expect(tooFaint(theme, STATES.map((state) => `npu${state}`), grounds, 4.5)).toEqual([])
    for (const state of STATES) expect(tooFaint(theme, [`npu${state}`, 'colorNeutralForeground1'], [`npu${state}Bg`], 4.5)).toEqual([])
  })

  it('keeps chart lines, control edges and the focus ring visible', () => {
    expect(tooFaint(theme, CHART, ['colorNeutralBackground1', 'colorNeutralBackground2', 'colorNeutralBackground3'], 3)).toEqual([])
    expect(tooFaint(theme, ['colorNeutralStrokeAccessible', 'colorCompoundBrandBackground', 'colorStrokeFocus2'], ['colorNeutralBackground1', 'colorNeutralBackground3'], 3)).toEqual([])
  })

  it('keeps code colours readable', () => {
    expect(tooFaint(theme, ['synKey', 'synStr', 'synNum', 'synEnum', 'synCom'], theme === 'contrast' ? ['colorNeutralBackground2'] : ['colorNeutralBackground2', 'colorNeutralBackground1Hover'], 4.5)).toEqual([])
  })

  it.each(Object.entries(SIGHTS))('keeps chart colours apart in %s sight', (_sight, matrix) => {
    const pairs = CHART.flatMap((one, index) => CHART.slice(0, index).map((other) => colorDistance(color(theme, one), color(theme, other), matrix)))
    expect(Math.min(...pairs)).toBeGreaterThanOrEqual(10.5)
  })
})
