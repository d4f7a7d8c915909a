import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_3_CASES: readonly ConformanceCase[] = []
