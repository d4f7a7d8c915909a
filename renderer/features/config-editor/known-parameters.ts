/** Keys of `parameters` that a backend is known to read, with the values they take. */
import type { LocalizedText } from '../../../server-core/contract/config-language.ts'

export interface KnownParameter {
  readonly key: string
  readonly backends: readonly string[]
  /** To choose from; empty: anything. */
  readonly values: readonly string[]
  readonly meaning: LocalizedText
}

const ONNX = ['onnxruntime']
const GE = ['npu_ge']
const OM = ['npu_om']
const NPU = [...GE, ...OM]
const PYTHON = ['python']

function known(backends: readonly string[], key: string, values: readonly string[], en: string, zh: string): KnownParameter {
  return { key, backends, values, meaning: { en, 'zh-CN': zh } }
}

export const KNOWN_PARAMETERS: readonly KnownParameter[] = [
  known(ONNX, 'intra_op_thread_count', ['0', '1', '2', '4'], 'Threads inside one operator; 0 lets ONNX Runtime choose.', '单个算子内部的线程数；0 由 ONNX Runtime 决定。'),
  known(ONNX, 'inter_op_thread_count', ['0', '1', '2', '4'], 'Threads across operators, used in parallel execution mode.', '算子之间的线程数，并行执行模式下使用。'),
  known(ONNX, 'execution_mode', ['0', '1'], '0: operators one after another; 1: in parallel.', '0：算子依次执行；1：并行执行。'),
  known(ONNX, 'enable_mem_arena', ['0', '1'], '1 keeps freed memory for the next request; 0 gives it back.', '1 保留释放的内存供下次请求使用；0 归还给系统。'),
  known(ONNX, 'enable_mem_pattern', ['0', '1'], '1 plans memory ahead, for inputs of a fixed shape.', '1 预先规划内存，适合固定形状的输入。'),
  known(NPU, 'npu_fallback', ['fail', 'allow'], 'No NPU to be had: fail the load, or run an ONNX file on the CPU, marked as degraded.', '没有可用的 NPU 时：fail 使加载失败；allow 让 ONNX 文件在 CPU 上运行，并标为降级。'),
  known([...NPU, ...PYTHON], 'device_ids', ['0', '1', '0,1'], 'Logical ids of the cards, separated by commas. Left out: all cards; instances of a model in Python are then told none.', '卡的逻辑 ID，逗号分隔。不写：使用全部卡；Python 模型的实例则不会得到卡号。'),
  known(PYTHON, 'PYTHON_INTERPRETER', ['python3', '$$TRITON_MODEL_DIRECTORY/env'], 'Interpreter that runs the model: a path, a name, or the folder of a virtual or conda environment.', '运行模型的解释器：路径、名称，或虚拟环境、conda 环境的文件夹。'),
  known(PYTHON, 'EXECUTION_ENV_PATH', ['$$TRITON_MODEL_DIRECTORY/env.tar.gz'], 'Environment that conda-pack or venv-pack made: an archive, or its folder.', '由 conda-pack 或 venv-pack 打包的环境：压缩包或其文件夹。'),
  known(PYTHON, 'FORCE_CPU_ONLY_INPUT_TENSORS', ['yes', 'no'], 'As for Triton; inputs are in the memory of the processor either way.', '与 Triton 相同；无论如何输入都在主机内存中。'),
  known(GE, 'device_exec_blocks', ['1', '2', '4', '8'], 'Streams per card; more than 8 makes p99 grow.', '每张卡的流数；超过 8 会拉高 p99。'),
  known(GE, 'instance_exec_blocks', ['1', '2', '4'], 'Streams over which one instance splits its batch; 1 where it is left out.', '一个实例把批拆到几个流上；不写为 1。'),
  known(GE, 'static_model', ['0', '1'], '1 compiles one static graph: no dynamic_batching, no -1 in dims.', '1 编译为静态图：不能有 dynamic_batching，dims 不能有 -1。'),
  known(GE, 'dump_graph', ['0', '1'], '1 writes the graphs that GE makes.', '1 写出 GE 生成的图。'),
  known(GE, 'dump_data', ['0', '1'], '1 writes tensors to the folder dump_data, which must exist.', '1 把张量写入 dump_data 目录，该目录须先建好。'),
  known(GE, 'profiling', ['true', 'dynamic'], 'true records from the start; dynamic waits for msprof.', 'true 从一开始就采集；dynamic 等待 msprof。'),
  known(GE, 'session.ge.exec.precision_mode_v2', ['fp16', 'origin', 'cube_fp16in_fp32out', 'mixed_float16', 'mixed_bfloat16'], 'Precision of the computation; fp16 where it is left out. Excludes precision_mode.', '计算精度；不写为 fp16。与 precision_mode 互斥。'),
  known(GE, 'session.ge.exec.precision_mode', ['force_fp16', 'force_fp32', 'allow_fp32_to_fp16', 'must_keep_origin_dtype', 'allow_mix_precision'], 'Older way to choose the precision. Excludes precision_mode_v2.', '选择精度的旧方式。与 precision_mode_v2 互斥。'),
  known(GE, 'session.ge.aicoreNum', ['12|10', '7|10'], 'Core limit: cube|vector cores one stream may use (one number on 310P).', '锁核：一个流可用的 矩阵核|向量核（310P 为一个数字）。'),
  known(GE, 'graph.ge.inputShape', [], 'Shapes with -1 where gears vary: pixel_values:-1,3,224,224. Lists every input.', '分档变化处写 -1 的形状：pixel_values:-1,3,224,224。须列出全部输入。'),
  known(GE, 'graph.ge.dynamicDims', ['1;2;4;8'], 'Gears, separated by semicolons: 1;2;4;8.', '分档，分号分隔：1;2;4;8。'),
  known(GE, 'graph.ge.dynamicNodeType', ['1'], '1: gears at the placeholders. Needed together with inputShape and dynamicDims.', '1：分档作用于占位节点。须与 inputShape、dynamicDims 一起给出。'),
  known(GE, 'graph.ge.enableSingleStream', ['true', 'false'], 'true compiles the graph onto one stream.', 'true 把图编译到单个流上。'),
  known(NPU, 'execution_timeout_ms', ['60000', '10000'], 'How long a step of a run may take before the card counts as hung; 60000 where it is left out.', '一次运行的某一步超过多久即视为卡挂死；不写为 60000 毫秒。'),
  known(NPU, 'load_timeout_ms', ['600000'], 'How long loading on a card may take; 600000 where it is left out.', '在卡上加载的最长时间；不写为 600000 毫秒。'),
  known(OM, 'gear_padding', ['all', 'batch', 'none'], 'What may be padded to reach a gear: every dimension, the first one only, or nothing.', '为凑到某一档可以补齐什么：所有维度、仅第一维，或都不补。'),
  known(OM, 'aicore_num', ['8', '12|10'], 'Core limit: cores (cube|vector) that runs of an instance may take, on models with free shapes.', '锁核：一个实例运行时可用的核（矩阵核|向量核），作用于形状自由的模型。'),
  known(OM, 'output_bytes', [], 'Room for each output of a model with free shapes: one number, or one per output by commas.', '形状自由的模型每个输出预留的字节数：一个数字，或每个输出一个，逗号分隔。'),
  known(OM, 'check_chip', ['true', 'false'], 'false loads a file although it names a chip of another family.', 'false：即使文件写的是另一系列的芯片也加载。'),
]

export function knownParameters(backend: string): readonly KnownParameter[] {
  const own = KNOWN_PARAMETERS.filter((parameter) => parameter.backends.includes(backend))
  return own.length > 0 || backend !== '' ? own : KNOWN_PARAMETERS
}
