import { resolve } from 'node:path'
import type { ModelConfig } from '../../contract/model-config.ts'
import { CANN_LIBRARIES } from '../../options.ts'
import { ServerError } from '../../server-error.ts'
import { BYTE_SIZE_LIMIT_SETTING, CACHE_DIRECTORY_SETTING, defaultEnvironmentCacheDirectory } from './environments/environment-cache.ts'
import { DEFAULT_REGION_PREFIX } from './shared-region.ts'

/** `--backend-config=python,<key>=<value>`. */
export interface PythonSettings {
  /** Bytes of each of the two regions of an instance at its start, and the steps in which they grow. */
  readonly regionByteSize: number
  readonly regionGrowthByteSize: number
  readonly regionPrefix: string
  /** How long a process may take to start, or to answer while it runs. */
  readonly stubTimeoutSeconds: number
  /** Limits of calls into a model, after which its process is ended; 0: none. */
  readonly limits: CallLimits
  /** Seconds after which the log says where a call hangs; 0: never. */
  readonly slowCallSeconds: number
  /** Path or name. */
  readonly interpreter: string
  /** Absolute: where archives of environments are unpacked. */
  readonly environmentCacheDirectory: string
  /** Most bytes that such an archive may hold. */
  readonly environmentByteSizeLimit: number
  /** Where CANN's libraries lie, for models that use them through our own packages; '' : where the loader looks. */
  readonly cannLibraryDirectory: string
}

export interface CallLimits {
  /** Also of `auto_complete_config`. */
  readonly initializeSeconds: number
  readonly executeSeconds: number
}

const MEBIBYTE = 1024 * 1024
/** An environment with torch and CUDA or CANN packages has some 10 GiB. */
const DEFAULT_ENVIRONMENT_BYTES = 64 * 1024 * MEBIBYTE
const SLOW_CALL_SECONDS = 30
const PREFIX_PATTERN = /^[\w.-]{1,200}$/

/** A name of the path: what models run with where nobody chose. */
export const DEFAULT_INTERPRETER = 'python3'

/** Parameters of a model: limits of its calls in seconds, 0 for none. */
const INITIALIZE_TIMEOUT_PARAMETER = 'INITIALIZE_TIMEOUT_SECONDS'
const EXECUTE_TIMEOUT_PARAMETER = 'EXECUTE_TIMEOUT_SECONDS'

/** @throws ServerError INVALID_ARG that names the flag */
export function readPythonSettings(backendConfig: Readonly<Record<string, string>>): PythonSettings {
  const bytes = (key: string, least: number, tooSmall: string, otherwise = MEBIBYTE): number => {
    const text = backendConfig[key]
    if (text === undefined) return otherwise
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < 0) throw new ServerError('INVALID_ARG', `--backend-config=python,${key} must be a whole number of bytes, got '${text}'`)
    if (value < least) throw new ServerError('INVALID_ARG', tooSmall)
    return value
  }
  const timeout = backendConfig['stub-timeout-seconds'] ?? '30'
  if (!/^\d{1,6}$/.test(timeout) || Number(timeout) === 0) {
    throw new ServerError('INVALID_ARG', `--backend-config=python,stub-timeout-seconds must be a whole number of seconds from 1 on, got '${timeout}'`)
  }
  const seconds = (key: string, otherwise: number) => readSeconds(backendConfig[key], `--backend-config=python,${key}`, otherwise)
  const regionPrefix = backendConfig['shm-region-prefix-name'] ?? DEFAULT_REGION_PREFIX
  if (!PREFIX_PATTERN.test(regionPrefix)) {
    throw new ServerError('INVALID_ARG', `--backend-config=python,shm-region-prefix-name must be letters, digits, '_', '-' and '.', got '${regionPrefix}'`)
  }
  const cacheDirectory = resolve(backendConfig[CACHE_DIRECTORY_SETTING] ?? defaultEnvironmentCacheDirectory())
  return {
    // Triton's text, whose number is not the limit.
    regionByteSize: bytes('shm-default-byte-size', MEBIBYTE, "shm-default-byte-size can't be smaller than 4 MiBs"),
    regionGrowthByteSize: bytes('shm-growth-byte-size', 1, "shm-growth-byte-size can't be smaller than 1 byte"),
    regionPrefix,
    stubTimeoutSeconds: Number(timeout),
    limits: { initializeSeconds: seconds('initialize-timeout-seconds', 0), executeSeconds: seconds('execute-timeout-seconds', 0) },
    slowCallSeconds: seconds('slow-call-seconds', SLOW_CALL_SECONDS),
    interpreter: backendConfig['interpreter'] ?? DEFAULT_INTERPRETER,
    environmentCacheDirectory: cacheDirectory,
    environmentByteSizeLimit: bytes(BYTE_SIZE_LIMIT_SETTING, 1, `--backend-config=python,${BYTE_SIZE_LIMIT_SETTING} must be at least 1`, DEFAULT_ENVIRONMENT_BYTES),
    cannLibraryDirectory: backendConfig[CANN_LIBRARIES] ?? '',
  }
}

/** The limits of a model: its parameters before those of the server. @throws ServerError INVALID_ARG that names the parameter */
export function readCallLimits({ name, parameters }: ModelConfig, { limits }: PythonSettings): CallLimits {
  const seconds = (parameter: string, otherwise: number) => readSeconds(parameters[parameter]?.string_value, `parameter ${parameter} of model '${name}'`, otherwise)
  return { initializeSeconds: seconds(INITIALIZE_TIMEOUT_PARAMETER, limits.initializeSeconds), executeSeconds: seconds(EXECUTE_TIMEOUT_PARAMETER, limits.executeSeconds) }
}

function readSeconds(text: string | undefined, what: string, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d{1,6}$/.test(text)) throw new ServerError('INVALID_ARG', `${what} must be a whole number of seconds, 0 for none, got '${text}'`)
  return Number(text)
}

/** @throws ServerError INVALID_ARG */
export function refuseWrongParameters(config: ModelConfig): void {
  const force = config.parameters['FORCE_CPU_ONLY_INPUT_TENSORS']?.string_value ?? 'yes'
  if (force !== 'yes' && force !== 'no') throw new ServerError('INVALID_ARG', `Incorrect value for FORCE_CPU_ONLY_INPUT_TENSORS: ${force}'`)
}

/** Triton's settings that mean something in its own process only, and why they do not here. */
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  'thread-pool-size': 'answers of models that are decoupled or ask other models are worked on as they come, without a pool of threads',
  'shm-message-queue-size': 'messages go over a socket, which takes as many as there are',
}

/** What the log says once about settings that are taken and do nothing. */
export function settingsWithoutEffect(backendConfig: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(WITHOUT_EFFECT).flatMap(([key, why]) => (backendConfig[key] === undefined ? [] : [`--backend-config=python,${key} has no effect: ${why}`]))
}
