/** What a tensor holds, in a few numbers. */
import type { DataType } from '../contract/inference.ts'
import { tensorReader } from './tensor-codec.ts'

export interface TensorStatistics {
  readonly count: number
  /** Not-a-number elements; they take no part in the other numbers. */
  readonly nanCount: number
  /** null: no comparable element (empty, all NaN, or BYTES). */
  readonly min: number | bigint | null
  readonly max: number | bigint | null
  /** null also when an element is infinite. */
  readonly mean: number | null
  /** Flat index of the first greatest element. */
  readonly argmax: number | null
}

/** Reads every element once. BOOL counts as 0 and 1; BYTES only has a count. */
export function tensorStatistics(datatype: DataType, data: Uint8Array): TensorStatistics {
  const reader = tensorReader(datatype, data)
  let min: number | bigint | null = null
  let max: number | bigint | null = null
  let argmax: number | null = null
  let sum = 0
  let integerSum = 0n
  let nanCount = 0
  if (datatype !== 'BYTES') {
    for (let index = 0; index < reader.count; index++) {
      const raw = reader.read(index)
      const value = typeof raw === 'boolean' ? Number(raw) : (raw as number | bigint)
      if (typeof value === 'number' && Number.isNaN(value)) {
        nanCount++
        continue
      }
      if (min === null || value < min) min = value
      if (max === null || value > max) {
        max = value
        argmax = index
      }
      if (typeof value === 'bigint') integerSum += value
      else sum += value
    }
  }
  const comparable = reader.count - nanCount
  const total = sum + Number(integerSum)
  const mean = min === null || comparable === 0 || !Number.isFinite(total) ? null : total / comparable
  return { count: reader.count, nanCount, min, max, mean, argmax }
}

/** A flat index as one index per axis: 7 in [2, 5] is [1, 2]. */
export function unravelIndex(index: number, shape: readonly number[]): number[] {
  const result: number[] = []
  let rest = index
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const dim = shape[axis] ?? 1
    result.unshift(dim > 0 ? rest % dim : 0)
    rest = dim > 0 ? Math.floor(rest / dim) : 0
  }
  return result
}
