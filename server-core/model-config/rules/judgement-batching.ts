/** Batching that loads but does not do what it says. Triton's own limits (sizes over the maximum, priority ranges) are rules of its validation. */
import { editsInTurn } from './edits-in-turn.ts'
import { isEnsemble, listText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigPath } from '../config-edit.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

interface OldestStrategy {
  readonly preferred_batch_size: readonly number[]
}

const PREFERRED_SIZES: ConfigRule = {
  codes: ['preferred-sizes-unsorted'],
  * check(view) {
    const oldest = view.config?.sequence_batching?.['oldest'] as OldestStrategy | undefined
    yield* unsorted(view, view.config?.dynamic_batching?.preferred_batch_size ?? [], ['dynamic_batching', 'preferred_batch_size'])
    yield* unsorted(view, oldest?.preferred_batch_size ?? [], ['sequence_batching', 'oldest', 'preferred_batch_size'])
  },
}

function* unsorted(view: ConfigView, sizes: readonly number[], path: ConfigPath): Generator<Finding> {
  const sorted = [...new Set(sizes)].toSorted((a, b) => a - b)
  if (sorted.length === sizes.length && sorted.every((size, index) => size === sizes[index])) return
  yield {
    code: 'preferred-sizes-unsorted', severity: 'warning', path,
    message: say(`The preferred sizes ${listText(sizes.slice(0, 64))} are not in rising order, or one stands twice: easy to misread.`,
      `首选批次大小 ${listText(sizes.slice(0, 64))} 没有从小到大排列，或有重复，容易看错。`),
    // Nobody writes more by hand, and each change of a list is worked out by itself.
    fixes: sizes.length > 64 ? [] : [preferredFix(`Sort: ${listText(sorted)}`, `排序：${listText(sorted)}`, view.edit.setField(path, sorted))],
  }
}

const WITHOUT_EFFECT: ConfigRule = {
  codes: ['batching-without-batch-size', 'delay-without-batching'],
  * check(view) {
    const { config } = view
    const batching = config?.dynamic_batching
    // Left out, max_batch_size may still be completed from the model file, unless both lists are there.
    if (config === null || batching === undefined || config.max_batch_size > 1 || isEnsemble(config)) return
    const mayBeCompleted = config.max_batch_size === 0 && (config.input.length === 0 || config.output.length === 0)
    if (mayBeCompleted) return
    const setSize = otherFix('Set max_batch_size: 8', '设为 max_batch_size: 8', view.edit.setField(['max_batch_size'], 8))
    const remove = otherFix('Remove dynamic_batching', '删除 dynamic_batching', view.edit.removeField(['dynamic_batching']))
    const size = config.max_batch_size
    if (batching.max_queue_delay_microseconds > 0) {
      yield {
        code: 'delay-without-batching', severity: 'warning', path: ['dynamic_batching', 'max_queue_delay_microseconds'],
        message: say(`max_batch_size is ${size}: no batch can form, so requests would wait ${batching.max_queue_delay_microseconds} µs for nothing.`,
          `max_batch_size 为 ${size}，不能组批，请求会白等 ${batching.max_queue_delay_microseconds} 微秒。`),
        fixes: [
          preferredFix('Remove the delay', '删除等待时间', view.edit.removeField(['dynamic_batching', 'max_queue_delay_microseconds'])), setSize, remove,
        ],
      }
      return
    }
    yield {
      code: 'batching-without-batch-size', severity: 'warning', path: ['dynamic_batching'],
      message: say(`dynamic_batching has no effect while max_batch_size is ${size}: every request runs alone.`,
        `max_batch_size 为 ${size} 时 dynamic_batching 不起作用：每个请求单独执行。`),
      fixes: [setSize, remove],
    }
  },
}

const PRIORITIES: ConfigRule = {
  codes: ['priority-without-levels'],
  * check(view) {
    const batching = view.config?.dynamic_batching
    if (batching === undefined || batching.priority_levels !== 0) return
    const levels = Math.max(0, ...Object.keys(batching.priority_queue_policy).map(Number), batching.default_priority_level)
    if (levels === 0 && Object.keys(batching.priority_queue_policy).length === 0) return
    const field = batching.default_priority_level > 0 ? 'default_priority_level' : 'priority_queue_policy'
    yield {
      code: 'priority-without-levels', severity: 'warning', path: ['dynamic_batching', field],
      message: say(`${field} has no effect: without priority_levels there are no priorities.`, `${field} 不起作用：没有 priority_levels 就没有优先级。`),
      fixes: [
        otherFix(`Set priority_levels: ${Math.max(1, levels)}`, `设为 priority_levels: ${Math.max(1, levels)}`, editsInTurn(view, [
          (edit) => edit.setField(['dynamic_batching', 'priority_levels'], Math.max(1, levels)),
          (edit) => (batching.default_priority_level > 0 ? [] : edit.setField(['dynamic_batching', 'default_priority_level'], Math.max(1, levels))),
        ])),
        otherFix(`Remove ${field}`, `删除 ${field}`, view.edit.removeField(['dynamic_batching', field])),
      ],
    }
  },
}

export const BATCHING_RULES: readonly ConfigRule[] = [PREFERRED_SIZES, WITHOUT_EFFECT, PRIORITIES]
