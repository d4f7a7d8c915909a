/** What commands have in common: how they end, and the arguments of those against a running server. */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'
import { toServerError } from '../server-error.ts'
import type { CommandOutput } from './config-command.ts'
import { DEFAULT_SERVER, ServerConnection } from './server-connection.ts'
import { UsageError } from './usage-error.ts'

/**
 * Runs a command and says how it failed.
 * @returns the exit code: 0, or what `act` answers; 1 after an error; 2 after wrong usage
 */
export async function runCommand(command: string, usage: string, args: readonly string[], output: CommandOutput, act: () => Promise<number | void>): Promise<number> {
  try {
    if (args.includes('--help') || args.includes('-h')) {
      output.print(usage.trimEnd())
      return 0
    }
    return await act() ?? 0
  } catch (error) {
    if (error instanceof UsageError) {
      output.printError(`npu-console ${command}: ${error.message}\n${usage.trimEnd()}`)
      return 2
    }
    output.printError(`npu-console ${command}: ${toServerError(error).message.trimEnd()}`)
    return 1
  }
}

/** `--server` and `--header`, which all against a server take, beside their own. @throws UsageError, ServerError */
export function serverArguments(args: readonly string[], options: ParseArgsOptionsConfig) {
  let parsed
  try {
    parsed = parseArgs({ args: [...args], options: { server: { type: 'string' }, header: { type: 'string', multiple: true }, ...options }, allowPositionals: true })
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause })
  }
  const { server, header } = parsed.values as { readonly server?: string; readonly header?: readonly string[] }
  return { connection: new ServerConnection(server ?? DEFAULT_SERVER, header), values: parsed.values as Readonly<Record<string, unknown>>, positionals: parsed.positionals }
}
