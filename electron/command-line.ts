/** What a person passes when starting the application: a model repository to open. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'

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

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
