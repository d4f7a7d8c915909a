/** What a person passes when starting the application: a model repository to open. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
// Past server-core/index.ts on purpose: that would put the whole server into main's bundle.
import { restartFlags } from '../server-core/cli/restart-flags.ts'
import type { ServerRestart } from '../server-core/contract/console-api.ts'

const REPOSITORY_FLAGS: readonly string[] = ['--model-repository', '--model-store']

/** The values of `--model-repository`, absolute, in both forms (`--flag=value` and `--flag value`). */
export function repositoryFlags(argv: readonly string[], workingDirectory: string): readonly string[] {
  return argv.flatMap((argument, index) => {
    const [name = '', value] = argument.split(/=(.*)/s)
    if (!REPOSITORY_FLAGS.includes(name)) return []
    const path = value ?? argv[index + 1]
    return path === undefined ? [] : [resolve(workingDirectory, path)]
  })
}

/**
 * The folder among the arguments, absolute, or null.
 * @param argv as the process got it: the executable first, then perhaps the application's own folder
 * @param applicationDirectory left out, since a development start names it (`electron .`)
 */
export function repositoryArgument(argv: readonly string[], workingDirectory: string, applicationDirectory: string): string | null {
  for (const [index, argument] of argv.entries()) {
    if (index === 0 || argument.startsWith('-') || REPOSITORY_FLAGS.includes(argv[index - 1] ?? '')) continue
    const path = resolve(workingDirectory, argument)
    if (path !== resolve(applicationDirectory) && isDirectory(path)) return path
  }
  return null
}

/**
 * Flags for the server in the order in which they overrule each other: those of the settings, the command line, and what was chosen in the window since.
 * @param argv the executable first
 */
export function engineCommandLine(argv: readonly string[], stored: ServerRestart, chosen: ServerRestart): readonly string[] {
  return [...argv.slice(0, 1), ...restartFlags(stored), ...argv.slice(1), ...restartFlags(chosen)]
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
