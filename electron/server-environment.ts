/**
 * The environment of the server process. CANN's libraries are found by it alone, and it must be there before a process starts: where the command
 * line says `--cann-set-env`, what that file sets is added here, by main.
 */
// Past server-core/index.ts on purpose: that would put the whole server into main's bundle.
import { environmentWithCann } from '../server-core/cli/cann-environment.ts'
import { thisMachine } from '../server-core/telemetry/doctor/machine.ts'
import type { Machine } from '../server-core/telemetry/doctor/machine.ts'

/** @returns the environment as it is where the flag is absent, or its file fails: the server process says so when it starts */
export async function serverEnvironment(argv: readonly string[], machine: Machine = thisMachine(process.env, null)): Promise<NodeJS.ProcessEnv> {
  try {
    return await environmentWithCann(cannSetting(argv), machine) ?? machine.environment
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return machine.environment
  }
}

function cannSetting(argv: readonly string[]): string {
  const index = argv.findLastIndex((argument) => argument === '--cann-set-env' || argument.startsWith('--cann-set-env='))
  const argument = argv[index]
  if (argument === undefined) return ''
  return argument.includes('=') ? argument.slice(argument.indexOf('=') + 1) : argv[index + 1] ?? ''
}
