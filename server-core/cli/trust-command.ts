/** `npu-console trust ...`: the list of repositories whose code may run, without a server; the desktop reads the same file at every question. */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Logger } from '../logger.ts'
import { RepositoryTrustFile } from '../model-repository/repository-trust.ts'
import { ServerError } from '../server-error.ts'
import type { CommandOutput } from './config-command.ts'
import { runCommand } from './server-command.ts'
import { UsageError } from './usage-error.ts'
import { desktopDataDirectory } from './user-data-directory.ts'

export const TRUST_COMMAND_USAGE = `  trust PATH | --list | --revoke PATH [--data-directory=DIR]
           let code of a model repository (model.py, libraries beside a model) run in the desktop, or in a server with --repository-trust=ask whose
           data directory is named; list the trusted repositories; take the trust back. Exit code: 0 done, 1 it could not be done, 2 wrong usage.
`

/** @returns the exit code: 0 done, 1 what could not be done, 2 usage */
export function trustCommand(args: readonly string[], environment: NodeJS.ProcessEnv, output: CommandOutput): Promise<number> {
  return runCommand('trust', TRUST_COMMAND_USAGE, args, output, () => changeTrust(args, environment, output))
}

async function changeTrust(args: readonly string[], environment: NodeJS.ProcessEnv, output: CommandOutput): Promise<void> {
  const { values, positionals } = parse(args)
  const isList = values.list === true
  const isRevoke = values.revoke === true
  if (isList && isRevoke) throw new UsageError('--list and --revoke do not go together')
  if (isList && positionals.length > 0) throw new UsageError('--list takes no PATH')
  const [path] = positionals
  if (!isList && (path === undefined || path === '' || positionals.length !== 1)) throw new UsageError('expected one PATH')
  const trust = await RepositoryTrustFile.open(resolve(values['data-directory'] ?? desktopDataDirectory(environment)), problemsTo(output))
  if (path === undefined) {
    for (const trusted of trust.report.trusted) output.print(trusted.path)
  } else if (isRevoke) {
    // A folder that is gone is still in the list, by the path that it had.
    const real = await realpath(path).catch(() => resolve(path))
    await trust.revoke(real)
    output.print(`not trusted any more: ${real}\na running server keeps models that it has loaded: unload them there`)
  } else {
    const real = await realpath(path).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `there is no '${path}'`, { cause }) })
    await trust.trust(real)
    output.print(`trusted: ${real}\na running server loads what it refused before when it is asked again`)
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { list: { type: 'boolean' }, revoke: { type: 'boolean' }, 'data-directory': { type: 'string' } }, allowPositionals: true })
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** A damaged list is told; what was done, the command says itself. */
function problemsTo({ printError }: CommandOutput): Logger {
  const tell: Logger['error'] = (message, fields = {}) => { printError(`npu-console trust: ${message} ${JSON.stringify(fields)}`) }
  return { error: tell, warning: tell, info: () => {}, verbose: () => {} }
}
