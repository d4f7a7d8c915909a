import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_11_CASES: readonly ConformanceCase[] = []
