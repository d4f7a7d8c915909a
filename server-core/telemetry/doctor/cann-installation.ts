/**
 * Finds CANN and reads its environment. An application that is started from a desktop does not have what set_env.sh sets, and library and Python
 * paths must be there before the process starts: the file is run in a shell, and what it changed is the environment to start with.
 */
import { basename, dirname, join } from 'node:path'
import type { LocalizedText } from '../../contract/config-language.ts'
import { sourceScripts } from '../../sourced-environment.ts'
import { text } from './check-result.ts'
import type { Machine } from './machine.ts'

export interface CannInstallation {
  /** Path of the machine. */
  readonly home: string
  /** Null: no file says it. */
  readonly version: string | null
  /** Null: there is none beside it. */
  readonly setEnvPath: string | null
}

/** Where installers put it, in the order of preference: what the environment says, the folder since 8.5, the one before, then the user's own. */
export function cannHomeCandidates({ environment, options }: Machine): readonly string[] {
  const own = join(options.homeDirectory, 'Ascend')
  const places = [environment['ASCEND_HOME_PATH'] ?? '', '/usr/local/Ascend/cann', '/usr/local/Ascend/ascend-toolkit/latest', join(own, 'cann'), join(own, 'ascend-toolkit/latest'), '/usr/local/Ascend/latest']
  return [...new Set(places.filter((place) => place.startsWith('/')))]
}

/** @returns null: none of the places has one */
export async function findCann(machine: Machine): Promise<CannInstallation | null> {
  for (const home of cannHomeCandidates(machine)) {
    const hasParts = (await Promise.all(['lib64', 'bin/atc', 'version.cfg', 'set_env.sh', 'opp'].map((part) => machine.exists(join(home, part))))).some((isThere) => isThere)
    if (!hasParts) continue
    const setEnvPaths = [join(home, 'set_env.sh'), join(dirname(home), 'set_env.sh')]
    const isThere = await Promise.all(setEnvPaths.map((path) => machine.exists(path)))
    return { home, version: await cannVersion(machine, home), setEnvPath: setEnvPaths.find((_path, index) => isThere[index]) ?? null }
  }
  return null
}

/** The installer's note, else the first line of version.cfg, else the name of the folder that a link leads to (`cann-8.5.0`). */
async function cannVersion(machine: Machine, home: string): Promise<string | null> {
  const { architecture } = machine.options
  const installed = await machine.readSettings(join(home, `${architecture}-linux/ascend_toolkit_install.info`))
  const noted = installed?.get('version')
  if (noted !== undefined) return noted
  const [firstLine = ''] = (await machine.readText(join(home, 'version.cfg')))?.split('\n') ?? []
  const written = /(\d+\.\d+[\w.]*)/.exec(firstLine)?.[1]
  if (written !== undefined) return written
  const target = await machine.resolve(home)
  return target === null ? null : /(\d+\.\d+[\w.-]*)$/.exec(basename(target))?.[1] ?? null
}

export interface CannEnvironment {
  /** What the file sets or changes, as it is afterwards. */
  readonly variables: Readonly<Record<string, string>>
  /** Null: it ran to its end. */
  readonly problem: LocalizedText | null
}

const TIMEOUT_MILLISECONDS = 10_000

/** Runs set_env.sh in a shell of its own. Changes nothing here. @param path a path of the machine */
export async function readCannEnvironment(machine: Machine, path: string): Promise<CannEnvironment> {
  const { environment, options } = machine
  try {
    const { variables, problem } = await sourceScripts({ run: options.run, paths: [machine.path(path)], environment, timeoutMilliseconds: TIMEOUT_MILLISECONDS })
    if (problem === null) return { variables, problem }
    if (problem.kind === 'timeout') return { variables, problem: text(`it did not end within ${TIMEOUT_MILLISECONDS / 1000} s`, `${TIMEOUT_MILLISECONDS / 1000} 秒内没有结束`) }
    const { said, exitCode } = problem
    return { variables, problem: said === '' ? text(`it ended with code ${exitCode ?? '-'}`, `退出码 ${exitCode ?? '-'}`) : text(said, said) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { variables: {}, problem: text(message, message) }
  }
}
