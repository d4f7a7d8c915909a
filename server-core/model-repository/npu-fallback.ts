/** What happens to a model that asks for an NPU and cannot get it: its load fails, or it runs on the CPU and says so. Pure. */
import type { NpuFallback, NpuSource } from '../contract/devices.ts'
import type { ModelConfig, ModelInstanceGroup } from '../contract/model-config.ts'
import type { ModelInstanceReport } from '../contract/repository.ts'
import { NPU_BACKENDS } from '../options.ts'
import { ServerError, toServerError } from '../server-error.ts'

/** `parameters { key: "npu_fallback" value: { string_value: "allow" } }` overrules `--npu-fallback` for one model. */
export const FALLBACK_PARAMETER = 'npu_fallback'

export interface NpuPolicy {
  readonly source: NpuSource
  readonly fallback: NpuFallback
}

/** How a model runs on the CPU instead. */
export interface CpuInstead {
  readonly config: ModelConfig
  /** Of each of its instances. */
  readonly report: ModelInstanceReport
}

/** @throws ServerError INVALID_ARG: the parameter has another value */
export function fallbackOf({ name, parameters }: Pick<ModelConfig, 'name' | 'parameters'>, { fallback }: NpuPolicy): NpuFallback {
  const value = parameters[FALLBACK_PARAMETER]?.string_value
  if (value === undefined || value === 'fail' || value === 'allow') return value ?? fallback
  throw new ServerError('INVALID_ARG', `parameter ${FALLBACK_PARAMETER} of model '${name}' must be "fail" or "allow", got "${value}"`)
}

/** A backend that runs on cards, or a group on devices: in this server those are cards. */
export function wantsNpu(config: Pick<ModelConfig, 'backend' | 'instance_group'>): boolean {
  return isNpuBackend(config.backend) || config.instance_group.some(isOnDevices)
}

/** @throws ServerError UNAVAILABLE: the server was told to leave the cards alone */
export function refuseWhileOff(config: ModelConfig, { source }: NpuPolicy): void {
  if (source === 'off' && wantsNpu(config)) throw new ServerError('UNAVAILABLE', `model '${config.name}' asks for an NPU, and this server runs with --npu=off: start it with --npu=auto`)
}

/**
 * How the model runs on the CPU, if it can.
 * @param config as it was to be loaded
 * @param fileNames of the version folder
 * @param isInstalled is there a library of its backend? A config that an existing backend refuses is to be mended, not to be run elsewhere
 * @returns null: it cannot; the error stands
 */
export function cpuInstead(config: ModelConfig, fileNames: readonly string[], error: unknown, isInstalled: boolean): CpuInstead | null {
  if (!wantsNpu(config)) return null
  const { kind, message } = toServerError(error)
  if (kind === 'CANCELLED' || (kind === 'INVALID_ARG' && isNpuBackend(config.backend) && isInstalled)) return null
  const { default_model_filename: named } = config
  const file = named === '' ? fileNames.find((name) => name === 'model.onnx') ?? fileNames.find((name) => name.endsWith('.onnx')) : named
  // Only ONNX has a second home.
  if (file?.endsWith('.onnx') !== true || (config.backend !== 'onnxruntime' && !isNpuBackend(config.backend))) return null
  const device = wantedDevice(config)
  return {
    config: {
      ...config, backend: 'onnxruntime', platform: 'onnxruntime_onnx', default_model_filename: file, runtime: '',
      instance_group: config.instance_group.map((group) => (isOnDevices(group) ? { ...group, kind: 'KIND_CPU', gpus: [] } : group)),
    },
    report: { runs_on: 'cpu', fallback_reason: message, ...(device === null ? {} : { device }) },
  }
}

/** The error of a load that could have gone on on the CPU, with how. What a Triton server says of groups on devices stays as it says it. */
export function withFallbackHint({ backend }: ModelConfig, error: unknown): ServerError {
  const { kind, message } = toServerError(error)
  const hint = isNpuBackend(backend) ? `\nTo let it run on the CPU instead: --npu-fallback=allow, or the parameter ${FALLBACK_PARAMETER} of the model` : ''
  return new ServerError(kind, `${message}${hint}`, { cause: error })
}

/** How an NPU backend is told its cards, where a config does it as for GPUs. Triton's sentence about those comes first. */
export function withGroupHint({ backend, instance_group: groups }: ModelConfig, error: unknown): unknown {
  if (!isNpuBackend(backend) || !groups.some(isOnDevices)) return error
  const { kind, message } = toServerError(error)
  return new ServerError(kind, `${message}\nCards of NPUs are named with the parameter device_ids, and instance groups of ${backend} are KIND_CPU in this server`, { cause: error })
}

/** The one card that it names; null: several, or any. */
function wantedDevice({ parameters, instance_group: groups }: ModelConfig): number | null {
  const named = [...(parameters['device_ids']?.string_value ?? '').split(',').filter((id) => /^\s*\d+\s*$/.test(id)).map(Number), ...groups.flatMap(({ gpus }) => gpus)]
  return new Set(named).size === 1 ? named[0] ?? null : null
}

function isNpuBackend(backend: string): boolean { return NPU_BACKENDS.some((name) => name === backend) }

function isOnDevices({ kind, gpus }: ModelInstanceGroup): boolean { return kind === 'KIND_GPU' || gpus.length > 0 }
