/** The command line as Electron reads it: switches anywhere, the application's folder first among the rest. */
import { resolve } from 'node:path'

export interface CommandLine {
  /** Without the leading dashes; a switch without a value is ''. */
  readonly switches: ReadonlyMap<string, string>
  /** Absolute. */
  readonly applicationDirectory: string
}

export function readCommandLine(argv: readonly string[], workingDirectory: string): CommandLine {
  const switches = new Map<string, string>()
  let applicationDirectory = workingDirectory
  let isFound = false
  for (const argument of argv) {
    const [, name, value] = /^--?([^=]+)(?:=(.*))?$/.exec(argument) ?? []
    if (name !== undefined) switches.set(name, value ?? '')
    else if (!isFound) {
      applicationDirectory = resolve(workingDirectory, argument)
      isFound = true
    }
  }
  return { switches, applicationDirectory }
}
