/** What a person passes when starting the application: a model repository to open. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * The folder among the arguments, absolute, or null.
 * @param argv as the process got it: the executable first, then perhaps the application's own folder
 * @param applicationDirectory left out, since a development start names it (`electron .`)
 */
export function repositoryArgument(argv: readonly string[], workingDirectory: string, applicationDirectory: string): string | null {
  for (const argument of argv.slice(1)) {
    if (argument.startsWith('-')) continue
    const path = resolve(workingDirectory, argument)
    if (path !== resolve(applicationDirectory) && isDirectory(path)) return path
  }
  return null
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
