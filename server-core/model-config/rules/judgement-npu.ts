/** Parameters of the Ascend backends: cards, streams, static graphs, precision, core limits, option names. Gears: `judgement-gears.ts`. */
import { findAscendChip } from '../ascend-chips.ts'
import type { AscendChip } from '../ascend-chips.ts'
import { renameMapKey } from '../config-edit.ts'
import { NPU_LEVEL_PREFIX, NPU_OPTIONS, readNpuParameterName } from '../npu-options.ts'
import type { NpuOptionLevel } from '../npu-options.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn } from './edits-in-turn.ts'
import type { EditStep } from './edits-in-turn.ts'
import { backendOf, isNpuBackend, listText, namesText, parameterPath } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const LEVELS = Object.keys(NPU_LEVEL_PREFIX) as NpuOptionLevel[]
/** Documented as the most that helps. */
const MOST_STREAMS = 8
/** Unknown names looked at: similar ones are searched for each. */
const MOST_UNKNOWN = 100

function parameterOf(view: ConfigView, key: string): string | undefined {
  const parameters = view.config?.parameters ?? {}
  return Object.hasOwn(parameters, key) ? parameters[key]?.string_value : undefined
}

/** Chips of this machine, or the one that the config is compiled for. */
export function chipsOf(view: ConfigView): AscendChip[] {
  const named = LEVELS.flatMap((level) => parameterOf(view, `${NPU_LEVEL_PREFIX[level]}ge.socVersion`) ?? [])
  const names = named.length > 0 ? named : (view.context.machine?.npus ?? []).map(({ chip }) => chip)
  return [...new Set(names)].flatMap((name) => findAscendChip(name) ?? [])
}

const OPTION_NAMES: ConfigRule = {
  codes: ['npu-unknown-option', 'npu-option-prefix', 'npu-option-level', 'npu-option-value'],
  * check(view) {
    const { config } = view
    if (config === null || !isNpuBackend(backendOf(view))) return
    let count = 0
    for (const key of Object.keys(config.parameters)) {
      const { level, name, option } = readNpuParameterName(key)
      const path = ['parameters', { key }]
      if (option === undefined) {
        if (++count > MOST_UNKNOWN) continue
        yield* unknownOption(view, key, level, name)
        continue
      }
      if (level !== null && !option.levels.includes(level)) {
        const right = option.levels[0] ?? 'process'
        const better = NPU_LEVEL_PREFIX[right] + name
        yield {
          code: 'npu-option-level', severity: 'warning', path,
          message: say(`'${name}' acts for ${levelsText(option.levels, 'en')}, not for ${levelsText([level], 'en')}: write '${better}'.`,
            `'${name}' 只对${levelsText(option.levels, 'zh-CN')}生效，对${levelsText([level], 'zh-CN')}无效：请写 '${better}'。`),
          fixes: Object.hasOwn(config.parameters, better) ? [] : [preferredFix(`Rename to '${better}'`, `改名为 '${better}'`, renameMapKey(view.tree, ['parameters'], key, better))],
        }
      }
      const value = config.parameters[key]?.string_value ?? ''
      if (option.values === undefined || option.values.includes(value)) continue
      const near = didYouMean(value, option.values)
      yield {
        code: 'npu-option-value', severity: 'warning', path: parameterPath(key),
        message: say(`'${key}' takes ${namesText(option.values, 'en')}, not '${value}'.`, `'${key}' 只能取 ${namesText(option.values, 'zh-CN')}，不能是 '${value}'。`),
        fixes: near === undefined
          ? option.values.slice(0, 4).map((one) => otherFix(`Set "${one}"`, `设为 "${one}"`, view.edit.setField(parameterPath(key), one)))
          : [preferredFix(`Set "${near}"`, `设为 "${near}"`, view.edit.setField(parameterPath(key), near))],
      }
    }
  },
}

function levelsText(levels: readonly NpuOptionLevel[], language: 'en' | 'zh-CN'): string {
  const en = { process: 'the process (ge.)', session: 'the session (session.ge.)', graph: 'the graph (graph.ge.)' }
  const zh = { process: '进程（ge.）', session: '会话（session.ge.）', graph: '图（graph.ge.）' }
  return levels.map((level) => (language === 'en' ? en : zh)[level]).join(language === 'en' ? ' or ' : '或')
}

function* unknownOption(view: ConfigView, key: string, level: NpuOptionLevel | null, name: string): Generator<Finding> {
  const rename = (better: string, isSure: boolean) => (isSure ? preferredFix : otherFix)(`Rename to '${better}'`, `改名为 '${better}'`,
    renameMapKey(view.tree, ['parameters'], key, better))
  const taken = view.config?.parameters ?? {}
  const options = NPU_OPTIONS.filter((option) => option.levels.length > 0)
  if (level !== null) {
    const near = didYouMean(name, options.map((option) => option.name))
    const better = near === undefined ? undefined : NPU_LEVEL_PREFIX[level] + near
    yield {
      code: 'npu-unknown-option', severity: near === undefined ? 'info' : 'warning', path: ['parameters', { key }],
      message: near === undefined
        ? say(`'${name}' is not an option of the graph engine that is known here; it is passed on as it is.`, `'${name}' 不是这里已知的图引擎选项，会原样传递。`)
        : say(`There is no option '${name}'. Did you mean '${near}'?`, `没有选项 '${name}'。是否指 '${near}'？`),
      fixes: better === undefined || Object.hasOwn(taken, better) ? [] : [rename(better, true)],
    }
    return
  }
  // The name of an option behind a prefix that is none, or behind none at all.
  const behind = /(?:^|\.)(ge\..+)$/i.exec(key)?.[1]
  const exact = options.find((option) => option.name === behind || option.name === `ge.${key}` || option.name === `ge.exec.${key}`)
  const near = exact?.name ?? (behind === undefined ? undefined : didYouMean(behind, options.map((option) => option.name)))
  if (behind !== undefined || exact !== undefined) {
    const prefix = near === undefined ? undefined : NPU_LEVEL_PREFIX[prefixMeant(key, options.find((option) => option.name === near)?.levels ?? ['session'])]
    const better = near === undefined || prefix === undefined ? undefined : prefix + near
    yield {
      code: 'npu-option-prefix', severity: 'warning', path: ['parameters', { key }],
      message: say(`'${key}' reaches nobody: options of the graph engine start with ge., session.ge. or graph.ge.`,
        `'${key}' 不会生效：图引擎选项必须以 ge.、session.ge. 或 graph.ge. 开头。`),
      fixes: better === undefined || Object.hasOwn(taken, better) ? [] : [rename(better, true)],
    }
    return
  }
  const plain = didYouMean(key, NPU_OPTIONS.filter((option) => option.levels.length === 0).map((option) => option.name))
  if (plain === undefined) return
  yield {
    code: 'npu-unknown-option', severity: 'warning', path: ['parameters', { key }],
    message: say(`The backend has no parameter '${key}'. Did you mean '${plain}'?`, `该后端没有参数 '${key}'。是否指 '${plain}'？`),
    fixes: Object.hasOwn(taken, plain) ? [] : [rename(plain, true)],
  }
}

/** The level that a wrong prefix stands for, where it looks like one. */
function prefixMeant(key: string, levels: readonly NpuOptionLevel[]): NpuOptionLevel {
  const first = key.slice(0, Math.max(0, key.toLowerCase().indexOf('ge.'))).replace(/\.$/, '')
  const meant = didYouMean(first, ['session', 'graph']) ?? first.toLowerCase()
  return levels.find((level) => level === meant) ?? (levels.includes('session') ? 'session' : levels[0] ?? 'session')
}

const STATIC_GRAPH: ConfigRule = {
  codes: ['static-model-with-batching', 'static-model-variable-dim'],
  * check(view) {
    const { config } = view
    if (config === null || backendOf(view) !== 'npu_ge' || parameterOf(view, 'static_model') !== '1') return
    const notStatic = otherFix('Remove static_model', '删除 static_model', view.edit.removeMapEntry(['parameters'], 'static_model'))
    if (config.dynamic_batching !== undefined) {
      yield {
        code: 'static-model-with-batching', severity: 'error', path: ['dynamic_batching'],
        message: say('A static graph has one fixed batch: static_model excludes dynamic_batching.', '静态图的批次是固定的：static_model 不能与 dynamic_batching 同时使用。'),
        fixes: [preferredFix('Remove dynamic_batching', '删除 dynamic_batching', view.edit.removeField(['dynamic_batching'])), notStatic],
      }
    }
    const tensors = (['input', 'output'] as const).flatMap((role) => config[role].map((tensor, index) => ({ role, index, tensor })))
    if (config.max_batch_size > 0) {
      yield {
        code: 'static-model-with-batching', severity: 'error', path: ['max_batch_size'],
        message: say('A static graph wants full shapes: leave max_batch_size out and write the first dimension into dims.',
          '静态图需要完整形状：不要写 max_batch_size，把第一维写进 dims。'),
        fixes: [
          preferredFix('Remove max_batch_size, write dims with a batch of 1', '删除 max_batch_size，dims 写成批次 1', editsInTurn(view, [
            (edit) => edit.removeField(['max_batch_size']),
            ...tensors.map(({ role, index }): EditStep => (edit) => edit.insertItem([role, index, 'dims'], 0, 1)),
          ])),
          notStatic,
        ],
      }
    }
    const signature = view.completions[0]?.signature
    for (const { role, index, tensor } of tensors) {
      if (!tensor.dims.includes(-1)) continue
      const inFile = signature?.[`${role}s`].find(({ name }) => name === tensor.name)?.dims.slice(config.max_batch_size > 0 ? 1 : 0)
      const fixed = tensor.dims.map((dim, axis) => {
        const known = inFile?.[axis]
        return dim !== -1 ? dim : typeof known === 'number' && known > 0 ? known : axis === 0 && config.max_batch_size === 0 ? 1 : -1
      })
      yield {
        code: 'static-model-variable-dim', severity: 'error', path: [role, index, 'dims'],
        message: say(`A static graph has no variable dimension, but '${tensor.name}' is ${listText(tensor.dims)}.`,
          `静态图不能有可变维，但 '${tensor.name}' 是 ${listText(tensor.dims)}。`),
        fixes: fixed.includes(-1) ? [notStatic]
          : [preferredFix(`Set dims ${listText(fixed)}`, `设为 dims ${listText(fixed)}`, view.edit.setField([role, index, 'dims'], fixed)), notStatic],
      }
    }
  },
}

const PRECISION: ConfigRule = {
  codes: ['precision-mode-twice'],
  * check(view) {
    const { config } = view
    if (config === null || !isNpuBackend(backendOf(view))) return
    const keys = Object.keys(config.parameters)
    const old = keys.filter((key) => readNpuParameterName(key).name === 'ge.exec.precision_mode')
    const second = keys.filter((key) => readNpuParameterName(key).name === 'ge.exec.precision_mode_v2')
    if (old.length === 0 || second.length === 0) return
    const remove = (list: readonly string[]) => editsInTurn(view, list.map((key): EditStep => (edit) => edit.removeMapEntry(['parameters'], key)))
    yield {
      code: 'precision-mode-twice', severity: 'error', path: ['parameters', { key: old[0] ?? '' }],
      message: say('precision_mode and precision_mode_v2 exclude each other.', 'precision_mode 与 precision_mode_v2 不能同时设置。'),
      fixes: [
        preferredFix('Keep precision_mode_v2', '保留 precision_mode_v2', remove(old)), otherFix('Keep precision_mode', '保留 precision_mode', remove(second)),
      ],
    }
  },
}

const CORE_LIMIT: ConfigRule = {
  codes: ['core-limit', 'core-limit-over-chip'],
  * check(view) {
    const { config } = view
    if (config === null || !isNpuBackend(backendOf(view))) return
    for (const key of Object.keys(config.parameters)) {
      if (readNpuParameterName(key).name === 'ge.aicoreNum') yield* coreFindings(view, key)
    }
  },
}

function* coreFindings(view: ConfigView, key: string): Generator<Finding> {
  const text = parameterOf(view, key) ?? ''
  const chips = chipsOf(view)
  const path = parameterPath(key)
  const match = /^(\d{1,6})(?:\|(\d{0,6}))?$/.exec(text.trim())
  const [cube, vector] = [Number(match?.[1] ?? 0), match?.[2] === undefined || match[2] === '' ? null : Number(match[2])]
  const chip = chips.toSorted((a, b) => a.aiCores - b.aiCores)[0]
  const form = chip?.coreLimit === 'aiCoresOnly' ? `"${chip.aiCores}"` : chip === undefined ? '"12|10"' : `"${chip.aiCores}|${chip.vectorCores ?? 0}"`
  if (match === null || cube === 0 || vector === 0) {
    yield {
      code: 'core-limit', severity: 'error', path,
      message: say(`ge.aicoreNum is "cube|vector" or one number, each at least 1, such as ${form}; not "${text}".`,
        `ge.aicoreNum 应为 "cube|vector" 或一个数，至少为 1，例如 ${form}；不能是 "${text}"。`),
    }
    return
  }
  if (chip === undefined) return
  const isOver = cube > chip.aiCores || (chip.vectorCores !== null && chip.coreLimit === 'cubeAndVector' && vector !== null && vector > chip.vectorCores)
  if (!isOver) return
  const kept = `${Math.min(cube, chip.aiCores)}${vector === null ? '' : `|${chip.coreLimit === 'cubeAndVector' ? Math.min(vector, chip.vectorCores ?? vector) : vector}`}`
  const has = chip.coreLimit === 'cubeAndVector'
    ? { en: `${chip.aiCores} cube and ${chip.vectorCores ?? 0} vector cores`, zh: `${chip.aiCores} 个 cube 核和 ${chip.vectorCores ?? 0} 个 vector 核` }
    : { en: `${chip.aiCores} AI cores`, zh: `${chip.aiCores} 个 AI 核` }
  yield {
    code: 'core-limit-over-chip', severity: 'error', path,
    message: say(`"${text}" is more than the ${chip.chip} has: ${has.en}.`, `"${text}" 超过了 ${chip.chip} 的核数：${has.zh}。`),
    fixes: [preferredFix(`Set "${kept}"`, `设为 "${kept}"`, view.edit.setField(path, kept))],
  }
}

const CARDS: ConfigRule = {
  codes: ['device-ids-format', 'device-not-there', 'streams-per-card', 'block-count', 'no-online-engine'],
  * check(view) {
    const { config, context } = view
    if (config === null || !(isNpuBackend(backendOf(view)) || backendOf(view) === 'python')) return
    const cards = context.machine?.npus ?? null
    yield* deviceFindings(view, cards === null || cards.length === 0 ? null : cards.map(({ card }) => card))
    if (!isNpuBackend(backendOf(view))) return
    for (const key of ['device_exec_blocks', 'instance_exec_blocks']) {
      const text = parameterOf(view, key)
      if (text === undefined || /^[1-9]\d{0,4}$/.test(text.trim())) continue
      yield {
        code: 'block-count', severity: 'error', path: parameterPath(key),
        message: say(`'${key}' is a whole number from 1 on, not "${text}".`, `'${key}' 应为不小于 1 的整数，不能是 "${text}"。`),
        fixes: [preferredFix('Set "1"', '设为 "1"', view.edit.setField(parameterPath(key), '1'))],
      }
    }
    yield* streamFindings(view, cards?.length ?? 0)
    const offline = chipsOf(view).find((chip) => !chip.hasOnlineGraphEngine)
    if (offline !== undefined && backendOf(view) === 'npu_ge') {
      yield {
        code: 'no-online-engine', severity: 'error', path: ['backend'],
        message: say(`The ${offline.chip} has no online graph engine: compile the model to an .om file and use npu_om.`,
          `${offline.chip} 不支持在线图引擎：请把模型编译成 .om 文件并使用 npu_om。`),
      }
    }
  },
}

function* deviceFindings(view: ConfigView, cards: readonly number[] | null): Generator<Finding> {
  const text = parameterOf(view, 'device_ids')
  if (text === undefined) return
  const path = parameterPath('device_ids')
  const ids = text.split(/[\s,，;；、]+/).filter((part) => part !== '')
  const isReadable = ids.length > 0 && ids.every((id) => /^\d{1,4}$/.test(id))
  const plain = [...new Set(ids.map(Number))].join(',')
  if (!isReadable || text !== plain) {
    yield {
      code: 'device-ids-format', severity: isReadable ? 'warning' : 'error', path,
      message: say(`device_ids is a list of card numbers such as "2" or "2,3", not "${text}".`, `device_ids 是卡号列表，例如 "2" 或 "2,3"，不能是 "${text}"。`),
      fixes: isReadable ? [preferredFix(`Set "${plain}"`, `设为 "${plain}"`, view.edit.setField(path, plain))] : [],
    }
    if (!isReadable) return
  }
  const missing = cards === null ? [] : ids.map(Number).filter((id) => !cards.includes(id))
  if (cards === null || missing.length === 0) return
  const there = ids.map(Number).filter((id) => cards.includes(id))
  const kept = (there.length > 0 ? there : cards.slice(0, 1)).join(',')
  yield {
    code: 'device-not-there', severity: 'error', path,
    message: say(`This machine has no card ${missing.join(', ')}. It has ${cards.join(', ')}.`, `本机没有 ${missing.join('、')} 号卡。现有 ${cards.join('、')} 号。`),
    fixes: [preferredFix(`Set "${kept}"`, `设为 "${kept}"`, view.edit.setField(path, kept))],
  }
}

/** Streams per card: given, or the instances' blocks spread over the cards. */
function* streamFindings(view: ConfigView, cardCount: number): Generator<Finding> {
  const given = parameterOf(view, 'device_exec_blocks')
  const devices = Math.max(1, parameterOf(view, 'device_ids')?.split(',').length ?? cardCount)
  const instances = (view.config?.instance_group ?? []).reduce((sum, group) => sum + Math.max(1, group.count), 0)
  const streams = given === undefined ? Math.ceil(instances * Number(parameterOf(view, 'instance_exec_blocks') ?? 1) / devices) : Number(given)
  if (!Number.isFinite(streams) || streams <= MOST_STREAMS) return
  yield {
    code: 'streams-per-card', severity: 'warning', path: given === undefined ? ['instance_group'] : parameterPath('device_exec_blocks'),
    message: say(`${streams} streams a card: beyond ${MOST_STREAMS} the slowest requests get slower, and each stream compiles and keeps a graph of its own.`,
      `每张卡 ${streams} 个流：超过 ${MOST_STREAMS} 个后长尾时延会变差，而且每个流都要编译并占用一份图。`),
    fixes: given === undefined ? [] : [otherFix(`Set "${MOST_STREAMS}"`, `设为 "${MOST_STREAMS}"`, view.edit.setField(parameterPath('device_exec_blocks'), String(MOST_STREAMS)))],
  }
}

export const NPU_RULES: readonly ConfigRule[] = [OPTION_NAMES, STATIC_GRAPH, PRECISION, CORE_LIMIT, CARDS]
