import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_6_CASES: readonly ConformanceCase[] = []
