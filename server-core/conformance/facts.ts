/** Every fact of sections 3 to 11 by its id. A case that names an id which is not here does not compile. */
import { SECTION_3 } from './facts/section-3.ts'
import { SECTION_4 } from './facts/section-4.ts'
import { SECTION_5 } from './facts/section-5.ts'
import { SECTION_6 } from './facts/section-6.ts'
import { SECTION_7 } from './facts/section-7.ts'
import { SECTION_8 } from './facts/section-8.ts'
import { SECTION_9 } from './facts/section-9.ts'
import { SECTION_10 } from './facts/section-10.ts'
import { SECTION_11 } from './facts/section-11.ts'

export const FACTS = {
  ...SECTION_3, ...SECTION_4, ...SECTION_5, ...SECTION_6, ...SECTION_7, ...SECTION_8, ...SECTION_9, ...SECTION_10, ...SECTION_11,
}

export type FactId = keyof typeof FACTS
