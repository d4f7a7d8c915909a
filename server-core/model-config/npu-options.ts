/**
 * Parameters of the Ascend backends: those of the backend itself, and options of the graph engine, which are passed on by level. An option
 * `ge.x` is written `ge.x` for the whole process, `session.ge.x` for the session, `graph.ge.x` for the graph. Pure.
 */

export type NpuOptionLevel = 'process' | 'session' | 'graph'

/** How the parameter's key starts, before the option's own name. */
export const NPU_LEVEL_PREFIX: Readonly<Record<NpuOptionLevel, string>> = { process: '', session: 'session.', graph: 'graph.' }

export interface NpuOption {
  /** Without the prefix of a level. */
  readonly name: string
  /** Where it acts; empty: not an engine option but a parameter of the backend. */
  readonly levels: readonly NpuOptionLevel[]
  /** All values it takes, where that is a short list. */
  readonly values?: readonly string[]
}

const ALL: readonly NpuOptionLevel[] = ['process', 'session', 'graph']
const FLAG = ['0', '1']

export const NPU_OPTIONS: readonly NpuOption[] = [
  { name: 'device_ids', levels: [] },
  { name: 'device_exec_blocks', levels: [] },
  { name: 'instance_exec_blocks', levels: [] },
  { name: 'npu_fallback', levels: [], values: ['fail', 'allow'] },
  { name: 'static_model', levels: [], values: FLAG },
  { name: 'dump_graph', levels: [], values: FLAG },
  { name: 'dump_data', levels: [], values: FLAG },
  { name: 'profiling', levels: [], values: ['true', 'dynamic', 'false'] },
  { name: 'sessions', levels: [], values: ['card', 'stream'] },
  { name: 'execution_timeout_ms', levels: [] },
  { name: 'load_timeout_ms', levels: [] },
  { name: 'gear_padding', levels: [], values: ['all', 'batch', 'none'] },
  { name: 'aicore_num', levels: [] },
  { name: 'output_bytes', levels: [] },
  { name: 'check_chip', levels: [], values: ['true', 'false'] },
  { name: 'ge.exec.deviceId', levels: ['process'] },
  { name: 'ge.session_device_id', levels: ['session'] },
  { name: 'ge.graphRunMode', levels: ['process', 'session'], values: FLAG },
  { name: 'ge.socVersion', levels: ALL },
  {
    name: 'ge.exec.precision_mode', levels: ALL,
    values: [
      'force_fp16', 'force_fp32', 'cube_fp16in_fp32out', 'allow_fp32_to_fp16', 'must_keep_origin_dtype', 'allow_mix_precision', 'allow_mix_precision_fp16',
      'allow_mix_precision_bf16', 'allow_fp32_to_bf16',
    ],
  },
  {
    name: 'ge.exec.precision_mode_v2', levels: ALL,
    values: ['fp16', 'origin', 'cube_fp16in_fp32out', 'mixed_float16', 'mixed_bfloat16', 'mixed_hif8', 'cube_hif8'],
  },
  { name: 'ge.inputShape', levels: ['session', 'graph'] },
  { name: 'ge.dynamicDims', levels: ['session', 'graph'] },
  { name: 'ge.dynamicNodeType', levels: ['session', 'graph'], values: FLAG },
  { name: 'ge.exec.dataInputsShapeRange', levels: ALL },
  { name: 'ge.aicoreNum', levels: ['process', 'session'] },
  { name: 'ge.exec.staticMemoryPolicy', levels: ALL, values: ['0', '2', '3', '4'] },
  { name: 'ge.exec.reuseZeroCopyMemory', levels: ALL, values: FLAG },
  { name: 'ge.exec.disableReuseMemory', levels: ALL, values: FLAG },
  { name: 'ge.exec.inputReuseMemIndexes', levels: ALL },
  { name: 'ge.exec.outputReuseMemIndexes', levels: ALL },
  { name: 'ge.exec.outputReuseInputMemIndexes', levels: ALL },
  { name: 'ge.exec.hostInputIndexes', levels: ['graph'] },
  { name: 'ge.exec.frozenInputIndexes', levels: ['graph'] },
  { name: 'ge.constLifecycle', levels: ALL, values: ['session', 'graph'] },
  { name: 'ge.featureBaseRefreshable', levels: ALL, values: FLAG },
  { name: 'ge.externalWeight', levels: ALL, values: ['0', '1', '2'] },
  { name: 'ge.externalWeightDir', levels: ALL },
  { name: 'ge.enableSingleStream', levels: ['graph'], values: ['true', 'false'] },
  { name: 'ge.graphMaxParallelModelNum', levels: ALL },
  { name: 'ge.AllowMultiGraphParallelCompile', levels: ALL, values: FLAG },
  { name: 'ge.op_compiler_cache_mode', levels: ALL, values: ['enable', 'force', 'disable'] },
  { name: 'ge.op_compiler_cache_dir', levels: ALL },
  { name: 'ge.graph_compiler_cache_dir', levels: ALL },
  { name: 'ge.graph_key', levels: ALL },
  { name: 'ge.exec.enableDump', levels: ALL, values: FLAG },
  { name: 'ge.exec.dumpPath', levels: ALL },
  { name: 'ge.exec.dumpMode', levels: ALL },
  { name: 'ge.exec.profilingMode', levels: ['process'], values: FLAG },
  { name: 'ge.exec.profilingOptions', levels: ['process'] },
  { name: 'ge.deterministic', levels: ALL, values: FLAG },
  { name: 'ge.outputDatatype', levels: ALL },
  { name: 'ge.topoSortingMode', levels: ALL },
  { name: 'ge.optimizationSwitch', levels: ALL },
  { name: 'ge.tiling_schedule_optimize', levels: ALL, values: FLAG },
  { name: 'ge.graphMemoryMaxSize', levels: ALL },
  { name: 'ge.variableMemoryMaxSize', levels: ALL },
  { name: 'ge.autoMultistreamParallelMode', levels: ALL },
]

const BY_NAME = new Map(NPU_OPTIONS.map((option) => [option.name, option]))

export interface NpuParameterName {
  /** null: the key does not start like an engine option. */
  readonly level: NpuOptionLevel | null
  /** Name without the level's prefix. */
  readonly name: string
  /** undefined: not in the table. */
  readonly option: NpuOption | undefined
}

/** Takes a parameter's key apart. */
export function readNpuParameterName(key: string): NpuParameterName {
  const plain = BY_NAME.get(key)
  if (plain !== undefined && plain.levels.length === 0) return { level: null, name: key, option: plain }
  for (const level of ['session', 'graph', 'process'] as const) {
    const prefix = NPU_LEVEL_PREFIX[level]
    if (!key.startsWith(`${prefix}ge.`)) continue
    const name = key.slice(prefix.length)
    return { level, name, option: BY_NAME.get(name) }
  }
  // npu_ge takes `global.ge.x` for `ge.x`.
  if (key.startsWith('global.ge.')) return { level: 'process', name: key.slice('global.'.length), option: BY_NAME.get(key.slice('global.'.length)) }
  return { level: null, name: key, option: undefined }
}
