/**
 * Instance groups against the machine and the backend. What Triton says about KIND_GPU (and KIND_AUTO with gpus) on a machine without GPU is
 * said here, because the repair depends on the backend: CPU, or cards of an NPU.
 */
import type { ModelConfig } from '../../contract/model-config.ts'
import { editsInTurn } from './edits-in-turn.ts'
import type { EditStep } from './edits-in-turn.ts'
import { backendOf, isEnsemble, isNpuBackend } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const GPU_KIND: ConfigRule = {
  codes: ['no-gpu-here', 'gpus-mean-device-ids'],
  * check(view) {
    const { config, context } = view
    if (config === null || isEnsemble(config)) return
    // Models in Python may use cards of either kind: those that are here.
    const isNpu = isNpuBackend(backendOf(view)) || (backendOf(view) === 'python' && context.machine?.gpuCount === 0 && (context.machine.npus?.length ?? 0) > 0)
    for (const [index, group] of config.instance_group.entries()) {
      if (isNpu && (group.gpus.length > 0 || group.kind === 'KIND_GPU')) yield deviceIds(view, config, index)
      else if (context.machine?.gpuCount === 0 && (group.kind === 'KIND_GPU' || (group.kind === 'KIND_AUTO' && group.gpus.length > 0))) yield noGpu(view, config, index)
    }
  },
}

/** Everything of one group that speaks of GPUs goes; cards are named by a parameter. */
function deviceIds(view: ConfigView, config: ModelConfig, index: number): Finding {
  const group = config.instance_group[index]
  const gpus = group?.gpus ?? []
  const edits = editsInTurn(view, [
    (edit) => (gpus.length > 0 ? edit.removeField(['instance_group', index, 'gpus']) : []),
    (edit) => (group?.kind === 'KIND_GPU' ? edit.setField(['instance_group', index, 'kind'], 'KIND_CPU') : []),
    (edit) => (gpus.length > 0 && config.parameters['device_ids'] === undefined
      ? edit.setMapEntry(['parameters'], 'device_ids', { string_value: gpus.join(',') }) : []),
  ])
  const cards = gpus.join(',')
  return {
    code: 'gpus-mean-device-ids', severity: 'error', path: ['instance_group', index, gpus.length > 0 ? 'gpus' : 'kind'],
    ...(group?.kind === 'KIND_GPU' ? { serverText: noGpuText(view, index, group.name) } : {}),
    message: gpus.length > 0
      ? say(`gpus names CUDA devices, not NPU cards. Cards are chosen by the parameter device_ids: "${cards}".`, `gpus 指的是 CUDA 设备，不是 NPU 卡。NPU 卡用参数 device_ids: "${cards}" 选择。`)
      : say('KIND_GPU means CUDA devices. Instances on NPU cards are of KIND_CPU; cards are chosen by the parameter device_ids.',
        'KIND_GPU 指 CUDA 设备。NPU 卡上的实例写 KIND_CPU，用参数 device_ids 选卡。'),
    fixes: [gpus.length > 0
      ? preferredFix(`Write device_ids: "${cards}" instead`, `改写为 device_ids: "${cards}"`, edits)
      : preferredFix('Set KIND_CPU', '设为 KIND_CPU', edits)],
  }
}

function noGpuText(view: ConfigView, index: number, name: string): string {
  return `instance group ${name === '' ? `${view.modelName}_${index}` : name} of model ${view.modelName} has kind KIND_GPU but server does not support GPUs`
}

function noGpu(view: ConfigView, config: ModelConfig, index: number): Finding {
  const group = config.instance_group[index]
  const isGpuKind = group?.kind === 'KIND_GPU'
  const name = group?.name === '' || group === undefined ? `${view.modelName}_${index}` : group.name
  const removeGpus: EditStep = (edit) => ((group?.gpus.length ?? 0) > 0 ? edit.removeField(['instance_group', index, 'gpus']) : [])
  const setKind = (kind: string) => editsInTurn(view, [(edit) => edit.setField(['instance_group', index, 'kind'], kind), removeGpus])
  return {
    code: 'no-gpu-here', severity: 'error', path: ['instance_group', index, isGpuKind ? 'kind' : 'gpus'],
    serverText: isGpuKind ? noGpuText(view, index, group.name) : `instance group ${name} of model ${view.modelName} has kind KIND_CPU but specifies one or more GPUs`,
    message: say('No GPU found: use KIND_CPU, or KIND_AUTO without gpus.', '没有找到 GPU：请用 KIND_CPU，或不带 gpus 的 KIND_AUTO。'),
    fixes: isGpuKind
      ? [
          preferredFix('Use KIND_CPU', '使用 KIND_CPU', setKind('KIND_CPU')),
          otherFix('Use KIND_AUTO', '使用 KIND_AUTO', setKind('KIND_AUTO')),
        ]
      : [preferredFix('Remove gpus', '删除 gpus', removeGpus(view.edit))],
  }
}

const COUNTS: ConfigRule = {
  codes: ['more-instances-than-cores', 'more-threads-than-cores', 'count-below-one'],
  * check(view) {
    const { config, context } = view
    if (config === null || isEnsemble(config)) return
    for (const [index, group] of config.instance_group.entries()) {
      if (group.count >= 0) continue
      yield {
        code: 'count-below-one', severity: 'warning', path: ['instance_group', index, 'count'],
        message: say(`A count of ${group.count} is read as the default.`, `count 为 ${group.count} 时按默认值处理。`),
        fixes: [preferredFix('Set count: 1', '设为 count: 1', view.edit.setField(['instance_group', index, 'count'], 1))],
      }
    }
    const cores = context.machine?.cpuCount ?? 0
    if (cores === 0 || isNpuBackend(backendOf(view))) return
    const onCpu = config.instance_group.map((group, index) => ({ group, index })).filter(({ group }) => group.kind !== 'KIND_GPU')
    const total = onCpu.reduce((sum, { group }) => sum + Math.max(0, group.count), 0)
    const largest = onCpu.toSorted((a, b) => b.group.count - a.group.count)[0]
    if (largest === undefined) return
    const path = ['instance_group', largest.index, 'count']
    if (total > cores) {
      yield {
        code: 'more-instances-than-cores', severity: 'warning', path,
        message: say(`${total} instances on ${cores} processor cores: they slow each other down and take ${total} times the memory.`,
          `${cores} 个处理器核上有 ${total} 个实例：会互相拖慢，并占用 ${total} 份内存。`),
        ...(onCpu.length === 1 ? { fixes: [otherFix(`Set count: ${cores}`, `设为 count: ${cores}`, view.edit.setField(path, cores))] } : {}),
      }
      return
    }
    const threads = Number(config.parameters['intra_op_thread_count']?.string_value ?? 0)
    const each = Math.max(1, Math.floor(cores / Math.max(1, total)))
    if (backendOf(view) !== 'onnxruntime' || !Number.isInteger(threads) || threads <= 1 || threads * total <= cores) return
    const threadPath = ['parameters', { key: 'intra_op_thread_count' }, 'value', 'string_value']
    yield {
      code: 'more-threads-than-cores', severity: 'info', path: threadPath,
      message: say(`${total} instances with ${threads} threads each want ${total * threads} cores; there are ${cores}.`,
        `${total} 个实例各用 ${threads} 个线程，共需 ${total * threads} 个核，实际只有 ${cores} 个。`),
      fixes: [otherFix(`Set ${each} threads`, `设为 ${each} 个线程`, view.edit.setField(threadPath, String(each)))],
    }
  },
}

export const INSTANCE_RULES: readonly ConfigRule[] = [GPU_KIND, COUNTS]
