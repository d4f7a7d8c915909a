import type { ConformanceCase } from '../conformance-case.ts'

export const SECTION_9_CASES: readonly ConformanceCase[] = []
