import { realpath, stat } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { ModelConfig } from '../../contract/model-config.ts'
import { PYTHON_ENVIRONMENT_PARAMETER, PYTHON_INTERPRETER_PARAMETER } from '../../contract/python-interpreters.ts'
import { ServerError } from '../../server-error.ts'
import { NATIVE_ADDON_PATH } from '../native-addon.ts'
import { activateByScript, activateFolder, prepended } from './environments/activation.ts'
import { environmentOfInterpreter, interpreterOf, readEnvironmentFolder } from './environments/environment-folder.ts'
import { type EnvironmentCache, type HeldEnvironment, requireActivate } from './environments/environment-cache.ts'
import type { PythonSettings } from './python-settings.ts'

/** What a model's process is started with. */
export interface PythonEnvironment {
  /** Path or name of the interpreter. */
  readonly interpreter: string
  /** Variables of its environment. */
  readonly variables: NodeJS.ProcessEnv
}

/** To be let go when the last process is over that was started with it. */
export interface HeldPythonEnvironment extends PythonEnvironment {
  release(): Promise<void>
}

export interface EnvironmentSearch {
  readonly config: ModelConfig
  /** Absolute. */
  readonly modelDirectory: string
  /** Of the backend that the model is based on; null: it has a model.py of its own. */
  readonly codeDirectory: string | null
  readonly settings: PythonSettings
  /** Where archives are unpacked. */
  readonly cache: EnvironmentCache
  /** Variables of the server. */
  readonly base?: NodeJS.ProcessEnv
}

const MODEL_DIRECTORY = '$$TRITON_MODEL_DIRECTORY'

/** The packages that come with the native parts: names of Huawei's `ais_bench`, last in the path so that Huawei's own come first where they are installed. */
const NATIVE_PACKAGES = join(dirname(NATIVE_ADDON_PATH), 'python')

/** In whose environment those packages look for CANN, where the loader does not. */
const CANN_DIRECTORY_VARIABLE = 'NPU_CONSOLE_CANN_LIBRARY_DIRECTORY'

/**
 * The interpreter of a model and its environment: that of the server (with CANN's, `--cann-set-env`), and of the environment that `EXECUTION_ENV_PATH` or
 * `PYTHON_INTERPRETER` names as if it had been activated.
 * @throws ServerError INVALID_ARG, NOT_FOUND, INTERNAL for what is no environment; as `EnvironmentCache.acquire` for an archive
 */
export async function findPythonEnvironment({ config, modelDirectory, codeDirectory, settings, cache, base = process.env }: EnvironmentSearch): Promise<HeldPythonEnvironment> {
  const variables = pythonVariables(settings, base)
  const chosen = config.parameters[PYTHON_INTERPRETER_PARAMETER]?.string_value ?? ''
  const ownArchive = config.parameters[PYTHON_ENVIRONMENT_PARAMETER]?.string_value ?? ''
  const written = ownArchive === '' && chosen === '' && codeDirectory !== null ? await backendArchive(codeDirectory) : ownArchive
  if (written === '') {
    const environment = chosen === '' ? await withInterpreter(settings.interpreter, '--backend-config=python,interpreter', variables)
      : await withInterpreter(inModelDirectory(chosen, modelDirectory), `parameter ${PYTHON_INTERPRETER_PARAMETER} of model '${config.name}'`, variables)
    return { ...environment, release: async () => {} }
  }
  if (chosen !== '') throw new ServerError('INVALID_ARG', `model '${config.name}' has both parameters ${PYTHON_ENVIRONMENT_PARAMETER} and ${PYTHON_INTERPRETER_PARAMETER}: leave one out`)
  const { directory, release } = await executionEnvironment(inModelDirectory(written, modelDirectory), cache)
  try {
    const interpreter = await interpreterOf(directory)
    if (interpreter === null) throw new ServerError('INVALID_ARG', `the Python environment '${directory}' of model '${config.name}' has no bin/python3 that can be started`)
    const activated = await activateByScript(directory, variables)
    return { interpreter, variables: { ...activated, LD_LIBRARY_PATH: prepended(join(directory, 'lib'), activated['LD_LIBRARY_PATH']) }, release }
  } catch (error) {
    await release()
    throw error
  }
}

/** The variables of every process with a model in Python: those of the server, and where our own packages and CANN are found. */
export function pythonVariables({ cannLibraryDirectory }: Pick<PythonSettings, 'cannLibraryDirectory'>, base: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    ...base, PYTHONPATH: [base['PYTHONPATH'], NATIVE_PACKAGES].filter((path) => path !== undefined && path !== '').join(delimiter),
    ...(cannLibraryDirectory === '' ? {} : { [CANN_DIRECTORY_VARIABLE]: cannLibraryDirectory }),
  }
}

/** @param where says who chose it, in errors */
async function withInterpreter(chosen: string, where: string, variables: NodeJS.ProcessEnv): Promise<PythonEnvironment> {
  if (!chosen.includes('/')) return { interpreter: chosen, variables }
  if (!isAbsolute(chosen)) {
    throw new ServerError('INVALID_ARG', `${where} is the relative path '${chosen}': give the absolute path of an interpreter or an environment's folder, a name of the path such as python3.11, or (in a model's config) one that begins with ${MODEL_DIRECTORY}`)
  }
  const information = await stat(chosen).catch((cause: NodeJS.ErrnoException) => {
    throw new ServerError('NOT_FOUND', `the Python interpreter '${chosen}' (${where}) cannot be used: ${cause.code === 'ENOENT' ? 'it is not there' : cause.message}. Install python3 and numpy there, or choose another`, { cause })
  })
  if (!information.isDirectory()) {
    const inside = await environmentOfInterpreter(chosen)
    return { interpreter: chosen, variables: inside === null ? variables : await activateFolder(inside, variables) }
  }
  const folder = await readEnvironmentFolder(chosen)
  if (folder === null) throw new ServerError('INVALID_ARG', `the folder '${chosen}' (${where}) is no Python environment: it has neither pyvenv.cfg (virtual environments) nor conda-meta (conda). Give the path of the interpreter in it`)
  if (folder.interpreter === null) throw new ServerError('INVALID_ARG', `the Python environment '${chosen}' (${where}) has no bin/python3 that can be started. Where it was copied from another machine, make it again here`)
  return { interpreter: folder.interpreter, variables: await activateFolder(folder, variables) }
}

function inModelDirectory(path: string, modelDirectory: string): string {
  return path.startsWith(MODEL_DIRECTORY) ? join(modelDirectory, path.slice(MODEL_DIRECTORY.length)) : path
}

/** The environment that a backend written in Python brings for its models; '' : none. */
async function backendArchive(codeDirectory: string): Promise<string> {
  const path = join(codeDirectory, 'pb_exec_env_model.py.tar.gz')
  return stat(path).then(() => path, () => '')
}

/** The folder that the path names, or that the archive there was unpacked to. */
async function executionEnvironment(path: string, cache: EnvironmentCache): Promise<HeldEnvironment> {
  const found = await realpath(path).catch((cause: unknown) => { throw new ServerError('INTERNAL', `Failed to get the canonical path for ${path}.`, { cause }) })
  if (!(await stat(found)).isDirectory()) return cache.acquire(found)
  await requireActivate(found)
  return { directory: found, release: async () => {} }
}
