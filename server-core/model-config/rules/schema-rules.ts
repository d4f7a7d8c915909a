/** Fields and values that the schema does not allow. */
import type { ConfigRule } from './rule.ts'

export const SCHEMA_RULES: readonly ConfigRule[] = []
