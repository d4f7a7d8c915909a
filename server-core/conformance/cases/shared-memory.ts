/** Shared memory over both transports: sections 5.9, 6.3, 6.4 and 9.2 of the protocol. */
import type { ConformanceCase } from '../conformance-case.ts'

export const SHARED_MEMORY_CASES: readonly ConformanceCase[] = []
