import { describe, expect, it } from 'vitest'
import { ASCEND_CHIPS, findAscendChip } from './ascend-chips.ts'

describe('the chip table', () => {
  it('finds a chip by every spelling that tools print', () => {
    for (const name of ['Ascend910B3', '910B3', 'ascend910b3', ' Ascend 910B3']) expect(findAscendChip(name)).toMatchObject({ aiCores: 20, vectorCores: 40 })
    expect(findAscendChip('310P3')).toMatchObject({ aiCores: 8, vectorCores: 7, coreLimit: 'aiCoresOnly', hasOnlineGraphEngine: true })
  })

  it('tells the old 910B from those of A2', () => {
    expect(findAscendChip('Ascend910B')).toMatchObject({ aiCores: 30, vectorCores: null })
    expect(findAscendChip('Ascend910')).toBeUndefined()
  })

  it('knows which chips run compiled files only', () => {
    expect(ASCEND_CHIPS.filter((chip) => !chip.hasOnlineGraphEngine).map(({ chip }) => chip)).toEqual(['Ascend310B1', 'Ascend310B2', 'Ascend310B3', 'Ascend310B4'])
  })

  it('names each chip once', () => {
    expect(new Set(ASCEND_CHIPS.map(({ chip }) => chip)).size).toBe(ASCEND_CHIPS.length)
  })
})
