import { describe, expect, it } from 'vitest'
import { labelWidth, placeLabels } from './label-placement.ts'

describe('placeLabels', () => {
  it('puts labels to the right where there is room, to the left at the right edge', () => {
    expect(placeLabels([{ at: 50, text: 'loaded' }, { at: 580, text: 'failed' }], 600)).toEqual(['right', 'left'])
  })

  it('keeps the newer of two that would cover each other', () => {
    expect(placeLabels([{ at: 100, text: 'a long label' }, { at: 130, text: 'a long label' }], 600)).toEqual(['left', 'right'])
    expect(placeLabels([{ at: 10, text: 'a long label' }, { at: 30, text: 'a long label' }], 600)).toEqual(['none', 'right'])
  })
})

describe('placeLabels on one spot', () => {
  it('labels the newest of marks that stand together', () => {
    expect(placeLabels([{ at: 200, text: 'first' }, { at: 201, text: 'second' }], 600)).toEqual(['none', 'right'])
  })

  it('writes over no mark that can still be told from its own', () => {
    expect(placeLabels([{ at: 570, text: 'first' }, { at: 578, text: 'engine started' }, { at: 586, text: 'second' }], 600)).toEqual(['left', 'none', 'none'])
  })
})

describe('labelWidth', () => {
  it('gives Han characters more room', () => {
    expect(labelWidth('加载')).toBeGreaterThan(labelWidth('ab'))
  })
})
