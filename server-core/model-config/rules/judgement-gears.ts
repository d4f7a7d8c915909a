/** Gears of `npu_ge` (the shapes a graph is compiled for): complete, readable, fit to the inputs, and covering what the batcher may form. */
import type { ConfigFix } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { gearBatchPositions, parseDynamicDims, parseInputShape, printDynamicDims, printInputShape, rangesText, uncoveredBatchSizes } from '../npu-gears.ts'
import type { GearInput } from '../npu-gears.ts'
import { NPU_LEVEL_PREFIX, readNpuParameterName } from '../npu-options.ts'
import type { NpuOptionLevel } from '../npu-options.ts'
import { editsInTurn } from './edits-in-turn.ts'
import type { EditStep } from './edits-in-turn.ts'
import { chipsOf } from './judgement-npu.ts'
import { backendOf, listText, namesText, parameterPath } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const INPUT_SHAPE = 'ge.inputShape'
const DYNAMIC_DIMS = 'ge.dynamicDims'
const NODE_TYPE = 'ge.dynamicNodeType'
const THREE = [INPUT_SHAPE, DYNAMIC_DIMS, NODE_TYPE]
const LEAST_GEARS = 2
const MOST_GEARS = 100
const MOST_GEARS_950 = 256
/** Characters of a value in the title of a repair. */
const MOST_SHOWN = 200
/** Gears proposed one by one up to this batch size, by powers of two beyond. */
const EVERY_SIZE_UP_TO = 16

interface Found {
  readonly key: string
  readonly level: NpuOptionLevel
  readonly value: string
}

function findOptions(config: ModelConfig): Map<string, Found> {
  const found = new Map<string, Found>()
  for (const [key, { string_value: value }] of Object.entries(config.parameters)) {
    const { name, level } = readNpuParameterName(key)
    if (level !== null && THREE.includes(name) && !found.has(name)) found.set(name, { key, level, value })
  }
  return found
}

const GEARS: ConfigRule = {
  codes: ['gears-incomplete', 'gears-unreadable', 'gears-count', 'gears-values', 'gears-twice', 'gears-inputs', 'gears-shape-differs', 'gears-coverage', 'gears-node-type'],
  * check(view) {
    const { config } = view
    if (config === null || backendOf(view) !== 'npu_ge') return
    const options = findOptions(config)
    if (options.size === 0) return
    if (options.size < THREE.length) {
      yield incomplete(view, config, options)
      return
    }
    const [shape, dims, type] = [options.get(INPUT_SHAPE), options.get(DYNAMIC_DIMS), options.get(NODE_TYPE)]
    if (shape === undefined || dims === undefined || type === undefined) return
    if (type.value === '0') {
      yield {
        code: 'gears-node-type', severity: 'warning', path: parameterPath(type.key),
        message: say('"0" stands for data sets; inputs of a served model are placeholders: "1".', '"0" 表示数据集输入；在线服务的输入是占位符，应为 "1"。'),
        fixes: [preferredFix('Set "1"', '设为 "1"', view.edit.setField(parameterPath(type.key), '1'))],
      }
    }
    const inputs = parseInputShape(shape.value)
    const gears = parseDynamicDims(dims.value)
    if (inputs === null) {
      yield unreadable(view, config, shape.key, shape.value, '"x:-1,3,224,224;y:-1,16"')
      return
    }
    yield* inputFindings(view, config, shape.key, inputs)
    if (gears === null) {
      yield unreadable(view, config, dims.key, dims.value, '"1;2;4;8"')
      return
    }
    yield* gearFindings(view, config, dims.key, inputs, gears)
  },
}

/** Every input with its batch dimension, as the config declares it. */
function declaredInputs(config: ModelConfig): GearInput[] {
  return config.input.map(({ name, dims }) => ({ name, dims: config.max_batch_size > 0 ? [-1, ...dims] : [...dims] }))
}

function incomplete(view: ConfigView, config: ModelConfig, options: ReadonlyMap<string, Found>): Finding {
  const missing = THREE.filter((name) => !options.has(name))
  const [anchor] = [...options.values()]
  const level: NpuOptionLevel = anchor?.level === 'session' ? 'session' : 'graph'
  const prefix = NPU_LEVEL_PREFIX[level]
  const written = options.get(INPUT_SHAPE)?.value
  const inputs = written === undefined ? declaredInputs(config) : parseInputShape(written)
  const proposal: Readonly<Record<string, string | null>> | null = inputs === null || inputs.length === 0 ? null : {
    [INPUT_SHAPE]: printInputShape(inputs), [DYNAMIC_DIMS]: proposeGears(inputs, config.max_batch_size), [NODE_TYPE]: '1',
  }
  const additions = missing.map((name) => [prefix + name, proposal?.[name] ?? null] as const)
  const fixes: ConfigFix[] = []
  if (additions.length === 1 && additions.every(([, value]) => value !== null)) {
    const [[key, value]] = additions as [readonly [string, string | null]]
    fixes.push(preferredFix(`Add ${key} = "${value ?? ''}"`, `添加 ${key} = "${value ?? ''}"`, view.edit.setMapEntry(['parameters'], key, { string_value: value ?? '' })))
  } else if (additions.length > 1 && additions.every(([, value]) => value !== null)) {
    fixes.push(preferredFix(`Add ${missing.join(', ')}`, `添加 ${missing.join('、')}`, editsInTurn(view,
      additions.map(([key, value]): EditStep => (edit) => edit.setMapEntry(['parameters'], key, { string_value: value ?? '' })))))
  }
  fixes.push(otherFix('Remove the gears', '删除档位配置', editsInTurn(view,
    [...options.values()].map(({ key }): EditStep => (edit) => edit.removeMapEntry(['parameters'], key)))))
  return {
    code: 'gears-incomplete', severity: 'error', path: ['parameters', { key: anchor?.key ?? '' }], fixes,
    message: say(`Gears need ${THREE.join(', ')} together; missing: ${missing.join(', ')}.`, `档位需要同时设置 ${THREE.join('、')}；缺少：${missing.join('、')}。`),
  }
}

/** Gears for the batch sizes that may form; null where something else than the batch varies too. */
function proposeGears(inputs: readonly GearInput[], maxBatchSize: number): string | null {
  const positions = gearBatchPositions(inputs)
  if (maxBatchSize < LEAST_GEARS || positions.length === 0 || positions.includes(false)) return null
  const sizes: number[] = []
  if (maxBatchSize <= EVERY_SIZE_UP_TO) for (let size = 1; size <= maxBatchSize; size++) sizes.push(size)
  else {
    for (let size = 1; size < maxBatchSize; size *= 2) sizes.push(size)
    sizes.push(maxBatchSize)
  }
  return printDynamicDims(sizes.map((size) => positions.map(() => size)))
}

function unreadable(view: ConfigView, _config: ModelConfig, key: string, value: string, example: string): Finding {
  const ascii = value.replaceAll('；', ';').replaceAll('，', ',').replaceAll('：', ':').replaceAll(/\s+/g, '').replace(/[;,]+$/, '')
  const isRepaired = ascii !== value && (key.endsWith(INPUT_SHAPE) ? parseInputShape(ascii) : parseDynamicDims(ascii)) !== null
  return {
    code: 'gears-unreadable', severity: 'error', path: parameterPath(key),
    message: say(`"${value}" cannot be read; expected a form such as ${example}.`, `无法识别 "${value}"；格式应类似 ${example}。`),
    fixes: isRepaired ? [preferredFix(`Set "${ascii}"`, `设为 "${ascii}"`, view.edit.setField(parameterPath(key), ascii))] : [],
  }
}

function* inputFindings(view: ConfigView, config: ModelConfig, key: string, inputs: readonly GearInput[]): Generator<Finding> {
  if (config.input.length === 0) return
  const declared = declaredInputs(config)
  const given = new Set(inputs.map(({ name }) => name))
  const byName = new Map(declared.map((input) => [input.name, input]))
  const missing = declared.filter(({ name }) => !given.has(name))
  const unknown = inputs.filter(({ name }) => !byName.has(name))
  const path = parameterPath(key)
  if (missing.length > 0 || unknown.length > 0) {
    const names = declared.map(({ name }) => name)
    // Only where no new variable dimension comes in do the gears still fit.
    const kept = [...inputs.filter(({ name }) => byName.has(name)), ...missing]
    const stillFits = [...missing, ...unknown].every(({ dims }) => !dims.includes(-1))
    yield {
      code: 'gears-inputs', severity: 'error', path,
      message: say(`ge.inputShape must list every input (${namesText(names, 'en')})`
        + `${missing.length > 0 ? `; missing: ${namesText(missing.map(({ name }) => name), 'en')}` : ''}${unknown.length > 0 ? `; unknown: ${namesText(unknown.map(({ name }) => name), 'en')}` : ''}.`,
      `ge.inputShape 必须列出每个输入（${namesText(names, 'zh-CN')}）`
        + `${missing.length > 0 ? `；缺少：${namesText(missing.map(({ name }) => name), 'zh-CN')}` : ''}${unknown.length > 0 ? `；未知：${namesText(unknown.map(({ name }) => name), 'zh-CN')}` : ''}。`),
      fixes: kept.length === 0 ? [] : [(stillFits ? preferredFix : otherFix)(`Set "${printInputShape(kept)}"`, `设为 "${printInputShape(kept)}"`,
        view.edit.setField(path, printInputShape(kept)))],
    }
    return
  }
  const ownOf = (input: GearInput): GearInput => {
    const own = byName.get(input.name) ?? input
    return own.dims.length === input.dims.length && own.dims.every((dim, axis) => dim === input.dims[axis] || dim === -1) ? input : own
  }
  // One repair for all of them.
  const repaired = inputs.map(ownOf)
  if (repaired.every((own, index) => own === inputs[index])) return
  const text = printInputShape(repaired)
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text
  const fixes = [otherFix(`Set "${shown}"`, `设为 "${shown}"`, view.edit.setField(path, text))]
  for (const [index, input] of inputs.entries()) {
    const own = repaired[index] ?? input
    if (own === input) continue
    yield {
      code: 'gears-shape-differs', severity: 'error', path, fixes,
      message: say(`ge.inputShape gives '${input.name}' ${listText(input.dims)}; the config's full shape is ${listText(own.dims)}.`,
        `ge.inputShape 中 '${input.name}' 是 ${listText(input.dims)}；配置中的完整形状是 ${listText(own.dims)}。`),
    }
  }
}

function* gearFindings(view: ConfigView, config: ModelConfig, key: string, inputs: readonly GearInput[], gears: readonly (readonly number[])[]): Generator<Finding> {
  const path = parameterPath(key)
  const set = (text: string): ReturnType<ConfigView['edit']['setField']> => view.edit.setField(path, text)
  const positions = gearBatchPositions(inputs)
  const wrong = gears.find((gear) => gear.length !== positions.length)
  if (wrong !== undefined) {
    // "1,2,4" where "1;2;4" is meant.
    const asGears = gears.length === 1 && positions.length === 1 ? printDynamicDims(wrong.map((value) => [value])) : null
    const spread = wrong.length === 1 && positions.every(Boolean) ? printDynamicDims(gears.map((gear) => positions.map(() => gear[0] ?? 1))) : null
    const better = asGears ?? (positions.length > 1 ? spread : null)
    yield {
      code: 'gears-values', severity: 'error', path,
      message: say(`A gear has one value for each -1 of ge.inputShape, ${positions.length} in all; "${wrong.join(',')}" has ${wrong.length}.`,
        `每个档位对应 ge.inputShape 中的每个 -1，共 ${positions.length} 个值；"${wrong.join(',')}" 有 ${wrong.length} 个。`),
      fixes: better === null ? [] : [preferredFix(`Set "${better}"`, `设为 "${better}"`, set(better))],
    }
    return
  }
  const most = chipsOf(view).some(({ chip }) => chip.startsWith('Ascend950')) ? MOST_GEARS_950 : MOST_GEARS
  const distinct = [...new Map(gears.map((gear) => [gear.join(), gear])).values()]
  if (distinct.length < gears.length) {
    yield {
      code: 'gears-twice', severity: 'warning', path,
      message: say('A gear stands twice; each one is compiled.', '有重复的档位；每个档位都要编译一次。'),
      fixes: [preferredFix(`Set "${printDynamicDims(distinct)}"`, `设为 "${printDynamicDims(distinct)}"`, set(printDynamicDims(distinct)))],
    }
  }
  if (distinct.length < LEAST_GEARS || distinct.length > most) {
    const proposed = distinct.length < LEAST_GEARS ? proposeGears(inputs, config.max_batch_size) : null
    yield {
      code: 'gears-count', severity: 'error', path,
      message: say(`There must be ${LEAST_GEARS} to ${most} gears, there are ${distinct.length}.`, `档位数必须在 ${LEAST_GEARS} 到 ${most} 之间，现在是 ${distinct.length}。`),
      fixes: proposed === null ? [] : [preferredFix(`Set "${proposed}"`, `设为 "${proposed}"`, set(proposed))],
    }
  }
  yield* coverage(view, config, path, inputs, distinct, positions, most)
}

function* coverage(
  view: ConfigView, config: ModelConfig, path: ReturnType<typeof parameterPath>, inputs: readonly GearInput[], gears: readonly (readonly number[])[],
  positions: readonly boolean[], most: number,
): Generator<Finding> {
  const uncovered = uncoveredBatchSizes(inputs, gears, config.max_batch_size)
  if (uncovered.length === 0) return
  const batch = positions.indexOf(true)
  const largest = Math.max(...gears.map((gear) => gear[batch] ?? 0))
  const beyond = uncovered.filter((size) => size > largest)
  const isOnlyBatch = positions.every(Boolean)
  const complete = [...gears, ...uncovered.map((size) => positions.map(() => size))].toSorted((a, b) => (a[batch] ?? 0) - (b[batch] ?? 0))
  const fixes: ConfigFix[] = []
  if (isOnlyBatch && complete.length <= most) {
    fixes.push((beyond.length > 0 ? preferredFix : otherFix)(`Add the gears ${rangesText(uncovered, 'en')}`, `添加档位 ${rangesText(uncovered, 'zh-CN')}`,
      view.edit.setField(path, printDynamicDims(complete))))
  }
  if (beyond.length > 0 && largest >= 1) {
    const preferred = config.dynamic_batching?.preferred_batch_size ?? []
    const kept = preferred.filter((size) => size <= largest)
    fixes.push(otherFix(`Set max_batch_size: ${largest}`, `设为 max_batch_size: ${largest}`, editsInTurn(view, [
      (edit) => edit.setField(['max_batch_size'], largest),
      (edit) => (kept.length === preferred.length ? [] : edit.setField(['dynamic_batching', 'preferred_batch_size'], kept)),
    ])))
  }
  yield {
    code: 'gears-coverage', severity: beyond.length > 0 ? 'error' : 'warning', path, fixes,
    message: say(`Batches of ${rangesText(uncovered, 'en')} may form (max_batch_size ${config.max_batch_size}), but no gear has that size: `
      + `${beyond.length > 0 ? 'such requests fail.' : 'they run only padded to the next gear, and fail where the backend does not pad.'}`,
    `可能形成大小为 ${rangesText(uncovered, 'zh-CN')} 的批次（max_batch_size ${config.max_batch_size}），但没有对应的档位：`
      + `${beyond.length > 0 ? '这些请求会失败。' : '只能补齐到下一个档位执行；不支持补齐的后端会报错。'}`),
  }
}

export const GEAR_RULES: readonly ConfigRule[] = [GEARS]
