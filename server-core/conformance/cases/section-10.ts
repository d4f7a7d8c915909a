import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_10_CASES: readonly ConformanceCase[] = []
