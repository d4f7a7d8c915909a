/** Triton's own validation, as findings. */
import type { ConfigRule } from './rule.ts'

export const TRITON_RULES: readonly ConfigRule[] = []
