import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_5_CASES: readonly ConformanceCase[] = []
