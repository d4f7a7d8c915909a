/** Rules of judgement: what loads in the parser's eyes but is wrong beside the model file, the machine, the repository, or common sense. */
import { BATCHING_RULES } from './judgement-batching.ts'
import { ENSEMBLE_RULES } from './judgement-ensemble.ts'
import { FILE_RULES } from './judgement-files.ts'
import { GEAR_RULES } from './judgement-gears.ts'
import { INSTANCE_RULES } from './judgement-instances.ts'
import { LOADER_RULES } from './judgement-loader.ts'
import { NPU_RULES } from './judgement-npu.ts'
import { OM_RULES } from './judgement-om.ts'
import { TENSOR_RULES } from './judgement-tensors.ts'
import { WARM_UP_RULES } from './judgement-warm-up.ts'
import type { ConfigRule } from './rule.ts'

/** Nobody reads more of one kind, and each may come with repairs that take time to work out. */
const MOST_FINDINGS = 300

function limited(rule: ConfigRule): ConfigRule {
  return {
    codes: rule.codes,
    * check(view) {
      let count = 0
      for (const finding of rule.check(view)) {
        if (++count > MOST_FINDINGS) return
        yield finding
      }
    },
  }
}

export const JUDGEMENT_RULES: readonly ConfigRule[] = [
  ...FILE_RULES, ...TENSOR_RULES, ...BATCHING_RULES, ...INSTANCE_RULES, ...ENSEMBLE_RULES, ...WARM_UP_RULES, ...LOADER_RULES, ...NPU_RULES, ...GEAR_RULES, ...OM_RULES,
].map(limited)
