import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_7_CASES: readonly ConformanceCase[] = []
