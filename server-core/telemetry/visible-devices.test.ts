import { expect, it } from 'vitest'
import { readVisibleDevices } from './visible-devices.ts'

it('takes ascending ids up to the first entry that is none', () => {
  const ids = (value: string, count: number | null = 4) => {
    const visible = readVisibleDevices(value, count)
    return [visible?.logicalIds, visible?.problem?.en ?? null]
  }
  expect(readVisibleDevices(undefined, 4)).toBeNull()
  expect(ids('0,1')).toEqual([[0, 1], null])
  expect(ids('2')).toEqual([[2], null])
  expect(ids('1, 2')).toEqual([[1], "' 2' is no device id (numbers, commas, no blanks): this entry and those after it are ignored"])
  expect(ids('1,0,2')).toEqual([[1], "'0' is not above the one before it: this entry and those after it are ignored"])
  expect(ids('1,1')).toEqual([[1], "'1' is not above the one before it: this entry and those after it are ignored"])
  expect(ids('0,7')).toEqual([[0], "'7' does not exist (there are 4 devices): this entry and those after it are ignored"])
  expect(ids('0,7', null)).toEqual([[0, 7], null])
  expect(ids('')).toEqual([[], 'the variable is empty: no device is visible'])
  expect(ids('all')).toEqual([[], "'all' is no device id (numbers, commas, no blanks): this entry and those after it are ignored"])
})
