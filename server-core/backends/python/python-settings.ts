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
  /** Path or name. */
  readonly interpreter: string
  /** Absolute: where archives of environments are unpacked. */
  readonly environmentCacheDirectory: string
  /** Most bytes that such an archive may hold. */
  readonly environmentByteSizeLimit: number
  /** Where CANN's libraries lie, for models that use them through our own packages; '' : where the loader looks. */
  readonly cannLibraryDirectory: string
}

const MEBIBYTE = 1024 * 1024
/** An environment with torch and CUDA or CANN packages has some 10 GiB. */
const DEFAULT_ENVIRONMENT_BYTES = 64 * 1024 * MEBIBYTE
const PREFIX_PATTERN = /^[\w.-]{1,200}$/

/** A name of the path: what models run with where nobody chose. */
export const DEFAULT_INTERPRETER = 'python3'

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
    interpreter: backendConfig['interpreter'] ?? DEFAULT_INTERPRETER,
    environmentCacheDirectory: cacheDirectory,
    environmentByteSizeLimit: bytes(BYTE_SIZE_LIMIT_SETTING, 1, `--backend-config=python,${BYTE_SIZE_LIMIT_SETTING} must be at least 1`, DEFAULT_ENVIRONMENT_BYTES),
    cannLibraryDirectory: backendConfig[CANN_LIBRARIES] ?? '',
  }
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
