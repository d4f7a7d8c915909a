/** Parameters of the NPU backends as the form edits them: plain keys, and GE options that may carry the prefix of their level. */
import type { PbtxtTree } from '../../../../server-core/model-config/pbtxt-tree.ts'
import { mapEntries, parameterAt } from './form-tree.ts'

/** Keys that a backend reads as they are. */
export const PLAIN_KEYS = ['device_ids', 'device_exec_blocks', 'instance_exec_blocks', 'static_model', 'dump_graph', 'dump_data', 'profiling'] as const
export type PlainKey = (typeof PLAIN_KEYS)[number]

/** GE options with the prefix a new entry gets: gears belong to the graph, cores and precision to the session. */
export const OPTIONS = {
  'ge.inputShape': 'graph.', 'ge.dynamicDims': 'graph.', 'ge.dynamicNodeType': 'graph.', 'ge.aicoreNum': 'session.', 'ge.exec.precision_mode_v2': 'session.', 'ge.exec.precision_mode': 'session.',
  'ge.exec.enableDump': 'session.', 'ge.exec.dumpPath': 'session.', 'ge.exec.dumpMode': 'session.', 'ge.exec.profilingMode': '', 'ge.exec.profilingOptions': '',
} as const
export type OptionName = keyof typeof OPTIONS

const PREFIXES = ['graph.', 'session.', ''] as const

/** The key under which an option is written, or would be. */
export function optionKey(tree: PbtxtTree, option: OptionName): string {
  return PREFIXES.map((prefix) => `${prefix}${option}`).find((key) => parameterAt(tree, key) !== null) ?? `${OPTIONS[option]}${option}`
}

export function optionAt(tree: PbtxtTree, option: OptionName): string | null {
  return parameterAt(tree, optionKey(tree, option))
}

/** Keys that the NPU section shows; the others are rows of the parameters section. */
export function npuKeys(tree: PbtxtTree): readonly string[] {
  const known = new Set<string>([...PLAIN_KEYS, ...PREFIXES.flatMap((prefix) => Object.keys(OPTIONS).map((option) => `${prefix}${option}`))])
  return mapEntries(tree.root, 'parameters').map(({ key }) => key).filter((key) => known.has(key))
}

export const PRECISION_MODES_V2 = ['fp16', 'origin', 'cube_fp16in_fp32out', 'mixed_float16', 'mixed_bfloat16', 'mixed_hif8', 'cube_hif8'] as const
export const PRECISION_MODES = ['force_fp16', 'force_fp32', 'cube_fp16in_fp32out', 'allow_fp32_to_fp16', 'must_keep_origin_dtype', 'allow_mix_precision', 'allow_mix_precision_fp16', 'allow_mix_precision_bf16', 'allow_fp32_to_bf16'] as const
