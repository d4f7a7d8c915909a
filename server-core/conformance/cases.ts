/** Every case of the suite. */
import { SECTION_3_CASES } from './cases/section-3.ts'
import { SECTION_4_CASES } from './cases/section-4.ts'
import { SECTION_5_CASES } from './cases/section-5.ts'
import { SECTION_6_CASES } from './cases/section-6.ts'
import { SECTION_7_CASES } from './cases/section-7.ts'
import { SECTION_8_CASES } from './cases/section-8.ts'
import { SECTION_9_CASES } from './cases/section-9.ts'
import { SECTION_10_CASES } from './cases/section-10.ts'
import { SECTION_11_CASES } from './cases/section-11.ts'
import { PYTHON_MODEL_CASES } from './cases/python-models.ts'
import { SHARED_MEMORY_CASES } from './cases/shared-memory.ts'
import type { ConformanceCase } from './conformance-case.ts'

export const CASES: readonly ConformanceCase[] = [
  ...SECTION_3_CASES, ...SECTION_4_CASES, ...SECTION_5_CASES, ...SECTION_6_CASES, ...SECTION_7_CASES, ...SECTION_8_CASES, ...SECTION_9_CASES,
  ...SECTION_10_CASES, ...SECTION_11_CASES, ...PYTHON_MODEL_CASES, ...SHARED_MEMORY_CASES,
]
