import { realpath, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import type { ModelConfig } from '../../contract/model-config.ts'
import { PYTHON_INTERPRETER_PARAMETER } from '../../contract/python-interpreters.ts'
import { ServerError } from '../../server-error.ts'
import { NATIVE_ADDON_PATH } from '../native-addon.ts'
import type { PythonSettings } from './python-settings.ts'

/** What a model's process is started with. */
export interface PythonEnvironment {
  /** Path or name of the interpreter. */
  readonly interpreter: string
  /** Variables of its environment. */
  readonly variables: NodeJS.ProcessEnv
}

const ENVIRONMENT_PARAMETER = 'EXECUTION_ENV_PATH'
const MODEL_DIRECTORY = '$$TRITON_MODEL_DIRECTORY'

/** The packages that come with the native parts: names of Huawei's `ais_bench`, last in the path so that Huawei's own come first where they are installed. */
const NATIVE_PACKAGES = join(dirname(NATIVE_ADDON_PATH), 'python')

/** In whose environment those packages look for CANN, where the loader does not. */
const CANN_DIRECTORY_VARIABLE = 'NPU_CONSOLE_CANN_LIBRARY_DIRECTORY'

/**
 * The interpreter of a model and its environment: that of the server (with CANN's, `--cann-set-env`), and of the folder that `EXECUTION_ENV_PATH` names as if
 * it had been activated.
 * @throws ServerError INVALID_ARG, INTERNAL for a folder that is no environment, and for archives, which this server does not unpack yet
 */
export async function findPythonEnvironment(config: ModelConfig, modelDirectory: string, settings: PythonSettings, base: NodeJS.ProcessEnv = process.env): Promise<PythonEnvironment> {
  const variables: NodeJS.ProcessEnv = {
    ...base, PYTHONPATH: [base['PYTHONPATH'], NATIVE_PACKAGES].filter((path) => path !== undefined && path !== '').join(delimiter),
    ...(settings.cannLibraryDirectory === '' ? {} : { [CANN_DIRECTORY_VARIABLE]: settings.cannLibraryDirectory }),
  }
  const chosen = config.parameters[PYTHON_INTERPRETER_PARAMETER]?.string_value ?? ''
  const written = config.parameters[ENVIRONMENT_PARAMETER]?.string_value ?? ''
  if (written === '') return { interpreter: chosen === '' ? settings.interpreter : chosen, variables }
  if (chosen !== '') throw new ServerError('INVALID_ARG', `model '${config.name}' has both parameters ${ENVIRONMENT_PARAMETER} and ${PYTHON_INTERPRETER_PARAMETER}: leave one out`)
  const directory = await environmentDirectory(config.name, written.startsWith(MODEL_DIRECTORY) ? join(modelDirectory, written.slice(MODEL_DIRECTORY.length)) : written)
  const path = [join(directory, 'bin'), base['PATH'] ?? ''].filter((part) => part !== '').join(delimiter)
  const libraries = [join(directory, 'lib'), base['LD_LIBRARY_PATH'] ?? ''].filter((part) => part !== '').join(delimiter)
  return { interpreter: join(directory, 'bin', 'python3'), variables: { ...variables, PATH: path, LD_LIBRARY_PATH: libraries, VIRTUAL_ENV: directory, CONDA_PREFIX: directory } }
}

async function environmentDirectory(model: string, path: string): Promise<string> {
  const found = await realpath(path).catch((cause: unknown) => { throw new ServerError('INTERNAL', `Failed to get the canonical path for ${path}.`, { cause }) })
  if (!(await stat(found)).isDirectory()) {
    throw new ServerError('INVALID_ARG', `${ENVIRONMENT_PARAMETER} of model '${model}' is the file ${found}: this server does not unpack archives yet. Unpack it (mkdir env && tar -xf ${found} -C env) and name the folder`)
  }
  const script = join(found, 'bin', 'activate')
  if (await stat(script).then(() => false, () => true)) {
    throw new ServerError('INTERNAL', `Path ${script} does not exist. The Python environment should contain an 'activate' script.`)
  }
  return found
}
