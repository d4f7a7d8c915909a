/** What `ASCEND_RT_VISIBLE_DEVICES` makes visible. Pure. */
import type { VisibleDevices } from '../contract/devices.ts'
import type { LocalizedText } from '../contract/config-language.ts'

/**
 * Logical ids, ascending, commas without blanks; CANN stops reading at the first entry that is none of that, and numbers what it took from 0.
 * @param count how many devices there are; null: unknown
 * @returns null: the variable is not set
 */
export function readVisibleDevices(value: string | undefined, count: number | null): VisibleDevices | null {
  if (value === undefined) return null
  const logicalIds: number[] = []
  const stop = (problem: LocalizedText | null): VisibleDevices => ({ value, logicalIds, problem })
  if (value === '') return stop({ en: 'the variable is empty: no device is visible', 'zh-CN': '变量为空：没有设备可见' })
  for (const entry of value.split(',')) {
    const id = Number(entry)
    const last = logicalIds[logicalIds.length - 1] ?? -1
    const rest = (reason: LocalizedText): VisibleDevices => stop({
      en: `'${entry}' ${reason.en}: this entry and those after it are ignored`, 'zh-CN': `“${entry}”${reason['zh-CN']}：它和它之后的各项都会被忽略`,
    })
    if (!/^\d+$/.test(entry)) return rest({ en: 'is no device id (numbers, commas, no blanks)', 'zh-CN': '不是设备号（只能是数字和逗号，不含空格）' })
    if (id <= last) return rest({ en: 'is not above the one before it', 'zh-CN': '没有大于前一项' })
    if (count !== null && id >= count) return rest({ en: `does not exist (there are ${count} devices)`, 'zh-CN': `不存在（共有 ${count} 个设备）` })
    logicalIds.push(id)
  }
  return stop(null)
}
