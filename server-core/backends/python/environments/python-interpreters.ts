/** The Pythons of this machine that models could run with, and what each has installed. */
import { readdir, readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { LocalizedText } from '../../../contract/config-language.ts'
import type { PythonInterpreter } from '../../../contract/python-interpreters.ts'
import { STUB_DIRECTORY } from '../../../installed-paths.ts'
import { runTool, type RunTool } from '../../../telemetry/run-tool.ts'
import { environmentOfInterpreter, isExecutable, readEnvironmentFolder } from './environment-folder.ts'

export interface InterpreterSearch {
  /** The server's own choice, as `--backend-config=python,interpreter=` has it: a name of the path, a file, or the folder of an environment. */
  readonly defaultInterpreter: string
  /** Folders whose direct subfolders may be environments: model, repository, and what the repository lies in. Absolute. */
  readonly directories: readonly string[]
  /** Of the processes that models run in. */
  readonly environment: NodeJS.ProcessEnv
  readonly homeDirectory?: string
  /** May what lies there be started? Default: all may. One that may not is listed with that as its problem. */
  readonly mayStart?: (path: string) => boolean
  readonly run?: RunTool
}

/** Where installers of conda put their base environment, below the home folder and elsewhere. */
const CONDA_ROOTS = ['miniconda3', 'anaconda3', 'miniforge3', 'mambaforge', 'micromamba', '.conda']
const CONDA_PARENTS = ['/opt', '/usr/local']
const PROGRAM_NAMES = ['python3', ...[8, 9, 10, 11, 12, 13].map((minor) => `python3.${minor}`), 'python']
/** An interpreter on a slow disk reads numpy for some seconds. */
const PROBE_TIMEOUT_MILLISECONDS = 20_000
const CONCURRENT_PROBES = 2
const MAXIMUM_INTERPRETERS = 100

/** A Python that was found and not asked yet. */
interface Candidate {
  readonly path: string
  readonly kind: PythonInterpreter['kind']
  /** null: an environment without one. */
  readonly file: string | null
  readonly isDefault: boolean
}

/**
 * Finds and asks them (each is started once, two at a time): those that models can run with first, newest Python first. Environments beside models and
 * repositories, those of conda and pyenv, and what the path has by name. Torch is looked for, not imported.
 */
export async function findPythonInterpreters(search: InterpreterSearch): Promise<readonly PythonInterpreter[]> {
  const candidates = await findCandidates(search)
  const probed: { readonly interpreter: PythonInterpreter; readonly identity: string }[] = []
  const queue = candidates.map((candidate, index) => ({ candidate, index }))
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) probed[next.index] = await probe(next.candidate, search)
  }
  await Promise.all(Array.from({ length: CONCURRENT_PROBES }, worker))
  // The same one under several names (python3, python3.11, a script that starts it) is told once, under the first.
  const known = new Set<string>()
  const different = probed.filter(({ identity }) => !known.has(identity) && known.add(identity).size > 0).map(({ interpreter }) => interpreter)
  return different.sort((a, b) => Number(b.isDefault) - Number(a.isDefault) || Number(a.problem !== null) - Number(b.problem !== null) || compareVersions(b.version, a.version))
}

async function findCandidates({ defaultInterpreter, directories, environment, homeDirectory = homedir() }: InterpreterSearch): Promise<readonly Candidate[]> {
  const found = new Map<string, Candidate>()
  const add = (candidate: Candidate | null) => {
    if (candidate !== null && !found.has(candidate.path) && found.size < MAXIMUM_INTERPRETERS) found.set(candidate.path, candidate)
  }
  const programs = (environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter).filter(isAbsolute)
  const onPath = async (name: string): Promise<string | null> => {
    for (const directory of programs) if (await isExecutable(join(directory, name))) return join(directory, name)
    return null
  }
  const folder = async (path: string, isDefault = false): Promise<Candidate | null> => {
    const environmentFolder = await readEnvironmentFolder(path)
    return environmentFolder === null ? null : { path, kind: environmentFolder.kind, file: environmentFolder.interpreter, isDefault }
  }
  const file = async (path: string, isDefault = false): Promise<Candidate> => {
    const inside = await environmentOfInterpreter(path)
    return inside === null ? { path, kind: 'system', file: path, isDefault } : { path: inside.directory, kind: inside.kind, file: path, isDefault }
  }
  const chosen = defaultInterpreter.includes('/') ? defaultInterpreter : await onPath(defaultInterpreter)
  if (chosen !== null && isAbsolute(chosen)) add(await folder(chosen, true) ?? await file(chosen, true))
  for (const directory of directories) for (const name of await subfolders(directory)) add(await folder(join(directory, name)))
  for (const path of await condaEnvironments(environment, homeDirectory)) add(await folder(path))
  for (const name of PROGRAM_NAMES) {
    const path = await onPath(name)
    if (path !== null) add(await file(path))
  }
  const pyenv = join(environment['PYENV_ROOT'] ?? join(homeDirectory, '.pyenv'), 'versions')
  for (const name of await subfolders(pyenv)) {
    const path = join(pyenv, name, 'bin/python3')
    if (await isExecutable(path)) add(await file(path))
  }
  return [...found.values()]
}

/** Those that conda has noted, the active one, and what lies in its usual folders. */
async function condaEnvironments(environment: NodeJS.ProcessEnv, homeDirectory: string): Promise<readonly string[]> {
  const noted = (await readFile(join(homeDirectory, '.conda/environments.txt'), 'utf8').catch(() => '')).split('\n').map((line) => line.trim())
  const executable = environment['CONDA_EXE'] ?? ''
  const roots = [
    environment['CONDA_PREFIX'] ?? '', environment['MAMBA_ROOT_PREFIX'] ?? '', executable === '' ? '' : dirname(dirname(executable)), '/opt/conda',
    ...[homeDirectory, ...CONDA_PARENTS].flatMap((parent) => CONDA_ROOTS.map((name) => join(parent, name))),
  ]
  const inRoots = await Promise.all(roots.filter(isAbsolute).map(async (root) => [root, ...(await subfolders(join(root, 'envs'))).map((name) => join(root, 'envs', name))]))
  return [...noted, ...inRoots.flat()].filter(isAbsolute)
}

/** Links to folders are folders too; empty where it cannot be read. */
async function subfolders(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map(({ name }) => name).sort()
}

interface ProbeAnswer {
  readonly version: string
  readonly prefix: string
  readonly executable: string
  readonly numpy: string | null
  readonly numpy_error: string | null
  readonly torch: string | null
  readonly torch_npu: string | null
}

async function probe(candidate: Candidate, search: InterpreterSearch): Promise<{ readonly interpreter: PythonInterpreter; readonly identity: string }> {
  const { path, kind, file, isDefault } = candidate
  const nothing = { path, kind, isDefault, version: null, numpyVersion: null, torchVersion: null, torchNpuVersion: null }
  const unusable = (problem: LocalizedText) => ({ interpreter: { ...nothing, problem }, identity: path })
  if (file === null) return unusable({ en: `${path} has no bin/python3`, 'zh-CN': `${path} 中没有 bin/python3` })
  if (search.mayStart?.(file) === false) {
    return unusable({ en: 'It lies in a folder that is not trusted yet, so it was not started', 'zh-CN': '它所在的文件夹尚未受信任，因此没有启动它' })
  }
  const answer = await ask(file, search)
  if ('en' in answer) return unusable(answer)
  // Links of a virtual environment lead to the interpreter that it was made with; what tells them apart is the prefix.
  const identity = `${answer.prefix}\0${await realpath(answer.executable).catch(() => answer.executable)}`
  const interpreter = { ...nothing, version: answer.version, numpyVersion: answer.numpy, torchVersion: answer.torch, torchNpuVersion: answer.torch_npu, problem: problemOf(file, answer) }
  return { interpreter, identity }
}

function problemOf(file: string, { version, numpy, numpy_error: numpyError }: ProbeAnswer): LocalizedText | null {
  if (compareVersions(version, '3.8') < 0) return { en: `Models need Python 3.8 or newer, and this is ${version}`, 'zh-CN': `模型需要 Python 3.8 或更高版本，而它是 ${version}` }
  const install = `${file} -m pip install numpy`
  if (numpy === null) return { en: `It cannot import numpy (${numpyError ?? ''}). Install it: ${install}`, 'zh-CN': `它无法导入 numpy（${numpyError ?? ''}）。请安装：${install}` }
  return null
}

/** Starts it where the process of a model would be, with what that would find. */
async function ask(file: string, { environment, run = runTool }: InterpreterSearch): Promise<ProbeAnswer | LocalizedText> {
  const said = (en: string, zh: string): LocalizedText => ({ en: `${file} ${en}`, 'zh-CN': `${file} ${zh}` })
  try {
    const result = await run({ command: file, args: ['-B', join(STUB_DIRECTORY, 'interpreter_probe.py')], environment, timeoutMilliseconds: PROBE_TIMEOUT_MILLISECONDS })
    if (result.isTimedOut) return said(`did not answer within ${PROBE_TIMEOUT_MILLISECONDS / 1000} s`, `在 ${PROBE_TIMEOUT_MILLISECONDS / 1000} 秒内没有应答`)
    const last = result.stdout.trim().split('\n').at(-1) ?? ''
    if (result.exitCode === 0 && last.startsWith('{')) return JSON.parse(last) as ProbeAnswer
    const reason = result.stderr.trim().split('\n').at(-1) ?? ''
    return said(`does not run (exit code ${result.exitCode ?? '-'})${reason === '' ? '' : `: ${reason}`}`, `无法运行（退出码 ${result.exitCode ?? '-'}）${reason === '' ? '' : `：${reason}`}`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return said(`cannot be started: ${message}`, `无法启动：${message}`)
  }
}

/** As numbers, part by part; what is not known is the oldest. */
function compareVersions(a: string | null, b: string | null): number {
  const parts = (version: string | null) => (version ?? '-1').split('.').map(Number)
  const [left, right] = [parts(a), parts(b)]
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
