/** `--cann-set-env`: a process whose environment CANN's set_env.sh has changed. Library paths count only from a process's start, so it starts again. */
import { resolve } from 'node:path'
import { ServerError } from '../server-error.ts'
import { findCann, readCannEnvironment } from '../telemetry/doctor/cann-installation.ts'
import type { Machine } from '../telemetry/doctor/machine.ts'

/** In the environment of the process that was started so: the file that it was started with. */
export const APPLIED_VARIABLE = 'NPU_CONSOLE_CANN_SET_ENV'

/** The setting that overrules one before it. */
export const NO_SET_ENV = 'none'

/**
 * @param setting a path, `auto` (where CANN is found), or `none`
 * @returns the environment to start with; null: nothing is to be done (no setting, or applied already)
 * @throws ServerError NOT_FOUND, INTERNAL: the file is not there, or fails
 */
export async function environmentWithCann(setting: string, machine: Machine): Promise<NodeJS.ProcessEnv | null> {
  if (setting === '' || setting === NO_SET_ENV || (machine.environment[APPLIED_VARIABLE] ?? '') !== '') return null
  const path = setting === 'auto' ? (await findCann(machine))?.setEnvPath ?? null : resolve(setting)
  if (path === null) throw new ServerError('NOT_FOUND', '--cann-set-env=auto: no CANN with a set_env.sh was found. npu-console doctor says where it looked; leave the flag out to serve without CANN')
  if (!await machine.exists(path)) throw new ServerError('NOT_FOUND', `--cann-set-env: '${path}' is not there. Give the path of CANN's set_env.sh, or auto`)
  const { variables, problem } = await readCannEnvironment(machine, path)
  if (problem !== null) throw new ServerError('INTERNAL', `--cann-set-env: '${path}' failed: ${problem.en}`)
  return { ...machine.environment, ...variables, [APPLIED_VARIABLE]: path }
}
