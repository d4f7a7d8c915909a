/** What activating an environment changes in the variables of a process. */
import { readdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { ServerError } from '../../../server-error.ts'
import { sourceScripts } from '../../../sourced-environment.ts'
import { runTool } from '../../../telemetry/run-tool.ts'
import type { EnvironmentFolder } from './environment-folder.ts'

/** Scripts of packages may compile or look for things; none of those known takes longer than a second. */
const TIMEOUT_MILLISECONDS = 60_000

/** What `source <directory>/bin/activate` makes of the variables, which is how Triton starts models of an `EXECUTION_ENV_PATH`. @throws ServerError INTERNAL with the script's words */
export async function activateByScript(directory: string, base: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  return sourced([join(directory, 'bin', 'activate')], base)
}

/**
 * The variables of an environment that a model or the server chose as its interpreter, as activating it sets them: its programs come first. Scripts that packages of conda
 * have put into `etc/conda/activate.d` run as conda runs them.
 * @throws ServerError INTERNAL with the words of such a script
 */
export async function activateFolder({ directory, kind }: EnvironmentFolder, base: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { PYTHONHOME: _home, ...rest } = base
  const variables = { ...rest, PATH: prepended(join(directory, 'bin'), base['PATH']), ...(kind === 'venv' ? { VIRTUAL_ENV: directory } : { CONDA_PREFIX: directory }) }
  if (kind === 'venv') return variables
  const scripts = (await readdir(join(directory, 'etc/conda/activate.d')).catch(() => [])).filter((name) => name.endsWith('.sh')).sort()
  return scripts.length === 0 ? variables : sourced(scripts.map((name) => join(directory, 'etc/conda/activate.d', name)), variables)
}

/** A path at the beginning of a list of them. */
export function prepended(path: string, list: string | undefined): string {
  return [path, list ?? ''].filter((part) => part !== '').join(delimiter)
}

async function sourced(paths: readonly string[], environment: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const what = `the Python environment cannot be activated: ${paths.join(', ')}`
  const { variables, unset, problem } = await sourceScripts({ run: runTool, paths, environment, timeoutMilliseconds: TIMEOUT_MILLISECONDS })
    .catch((cause: unknown) => { throw new ServerError('INTERNAL', `${what} needs /bin/bash: ${cause instanceof Error ? cause.message : String(cause)}`, { cause }) })
  if (problem?.kind === 'timeout') throw new ServerError('INTERNAL', `${what} did not end within ${TIMEOUT_MILLISECONDS / 1000} s. Run it in a shell to see why`)
  if (problem !== null) throw new ServerError('INTERNAL', `${what} ended with code ${problem.exitCode ?? '-'}${problem.said === '' ? '' : `: ${problem.said}`}. Run it in a shell to see why`)
  return { ...Object.fromEntries(Object.entries(environment).filter(([name]) => !unset.includes(name))), ...variables }
}
