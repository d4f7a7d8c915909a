import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_4_CASES: readonly ConformanceCase[] = []
