import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { chipErrorCodes, chipUsage, parseChipBlocks, parseIdTable } from './npu-smi-details.ts'

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8')
const usages = (name: string) => [...parseChipBlocks(fixture(name))].map(([chip, fields]) => [chip, chipUsage(fields)])
const errors = (name: string) => [...parseChipBlocks(fixture(name)).values()].map((fields) => chipErrorCodes(fields))

describe('npu-smi details', () => {
  it('reads vector and cube core of an A2', () => {
    expect(usages('usages-910b')).toEqual([[0, { vectorCorePercent: 19, cubeCorePercent: 34 }]])
  })

  it('reads the vector core of each chip of a Duo, which has no cube of its own; NA is unknown', () => {
    expect(usages('usages-310p-duo')).toEqual([[0, { vectorCorePercent: 22, cubeCorePercent: null }], [1, { vectorCorePercent: null, cubeCorePercent: null }]])
  })

  it('reads blocks that begin with the chip instead of ending with it', () => {
    expect([...parseChipBlocks(fixture('usages-310'))].map(([chip, fields]) => [chip, fields.get('aicoreusagerate(%)')])).toEqual([[0, '12'], [1, '40']])
  })

  it('takes a block without a chip as the card (950)', () => {
    expect([...parseChipBlocks('\tNPU ID : 2\n\tAivector Usage Rate(%) : 5\n').entries()].map(([chip, fields]) => [chip, chipUsage(fields).vectorCorePercent])).toEqual([[null, 5]])
  })

  it('tells error codes, that there are none, and that nothing is told', () => {
    expect(errors('health-alarm')).toEqual([['80E01801', '80CB8009']])
    expect(errors('health-ok')).toEqual([[]])
    expect(errors('usages-910b')).toEqual([null])
  })

  it('maps slot and chip to the logical id, without the controllers', () => {
    expect(parseIdTable(fixture('ids-310p-duo'))).toEqual([
      { slot: 1, chipIndex: 0, logicalId: 0, name: 'Ascend 310P3' }, { slot: 1, chipIndex: 1, logicalId: 1, name: 'Ascend 310P3' }, { slot: 4, chipIndex: 0, logicalId: 2, name: 'Ascend 310P3' },
    ])
    expect(parseIdTable(fixture('ids-a3')).map(({ chipIndex, logicalId }) => [chipIndex, logicalId])).toEqual([[0, 0], [1, 1]])
    expect(parseIdTable('dcmi module initialize failed. ret is -8005')).toEqual([])
  })
})
