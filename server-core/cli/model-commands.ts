/** `npu-console list`, `load` and `unload`: what the window's model list does, against a running server. */
import { readFile } from 'node:fs/promises'
import type { ModelConfig } from '../contract/model-config.ts'
import { printModelConfigJson } from '../model-config/json-config.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { textTable } from '../text-table.ts'
import type { CommandOutput } from './config-command.ts'
import { runCommand, serverArguments } from './server-command.ts'
import { DEFAULT_SERVER } from './server-connection.ts'
import { UsageError } from './usage-error.ts'

export const MODEL_COMMANDS_USAGE = `  list [--ready] [--json]
           the models of a running server: name, version, state, and why one is not ready
  load MODEL... [--config=FILE|JSON]
           load models (or load them again); --config is used instead of config.pbtxt until the next load
  unload MODEL... [--dependents]
           unload models; with --dependents the members of an ensemble as well
           All three: [--server=URL] (${DEFAULT_SERVER}) [--header=Name:Value]... Exit code: 0 done, 1 the server refused or is not there, 2 wrong usage.
`

type Command = (args: readonly string[], output: CommandOutput) => Promise<void>
const COMMANDS: Readonly<Record<string, Command>> = { list, load, unload }

export function isModelCommand(command: string | undefined): command is string {
  return command !== undefined && Object.hasOwn(COMMANDS, command)
}

/** @returns the exit code */
export function modelCommand(command: string, args: readonly string[], output: CommandOutput): Promise<number> {
  return runCommand(command, MODEL_COMMANDS_USAGE, args, output, async () => COMMANDS[command]?.(args, output))
}

/** One entry of the repository index (protocol 5.4). Members other than the name are left out where there is nothing to say. */
interface IndexEntry {
  readonly name: string
  readonly version?: string
  readonly state?: string
  readonly reason?: string
}

async function list(args: readonly string[], { print }: CommandOutput): Promise<void> {
  const { connection, values, positionals } = serverArguments(args, { ready: { type: 'boolean' }, json: { type: 'boolean' } })
  if (positionals[0] !== undefined) throw new UsageError(`unexpected argument '${positionals[0]}'`)
  const index = await connection.call('POST', '/v2/repository/index', values['ready'] === true ? { ready: true } : {}) as readonly IndexEntry[]
  if (values['json'] === true) print(JSON.stringify(index, null, 2))
  else if (index.length === 0) print(values['ready'] === true ? 'no model is ready' : 'the repository holds no models')
  else print(textTable(['Model', 'Version', 'State', 'Reason'], index.map(({ name, version = '-', state = 'not loaded', reason = '' }) => [name, version, state, reason.replaceAll(/\s+/g, ' ')])))
}

async function load(args: readonly string[], { print, printError }: CommandOutput): Promise<void> {
  const { connection, values, positionals } = serverArguments(args, { config: { type: 'string' } })
  const config = typeof values['config'] === 'string' ? await configText(values['config']) : null
  if (config !== null && positionals.length > 1) throw new UsageError('--config goes with one MODEL')
  await forEach(positionals, printError, async (name) => {
    await connection.call('POST', `/v2/repository/models/${encodeURIComponent(name)}/load`, config === null ? {} : { parameters: { config } })
    print(`model '${name}' is loaded`)
  })
}

async function unload(args: readonly string[], { print, printError }: CommandOutput): Promise<void> {
  const { connection, values, positionals } = serverArguments(args, { dependents: { type: 'boolean' } })
  // To unload what is not there is no error of the protocol; here it is a slip of the keyboard.
  const known = positionals.length === 0 ? [] : (await connection.call('POST', '/v2/repository/index', {}) as readonly IndexEntry[]).map(({ name }) => name)
  await forEach(positionals, printError, async (name) => {
    if (!known.includes(name)) throw new ServerError('NOT_FOUND', `there is no model '${name}' in the repository, which holds ${known.length === 0 ? 'none' : [...new Set(known)].join(', ')}`)
    await connection.call('POST', `/v2/repository/models/${encodeURIComponent(name)}/unload`, values['dependents'] === true ? { parameters: { unload_dependents: true } } : {})
    print(`model '${name}' is unloaded, or will be when its requests are done`)
  })
}

/** All of them, though one fails: @throws ServerError with the text of the last failure; those before it have been printed. */
async function forEach(names: readonly string[], printError: (text: string) => void, act: (name: string) => Promise<void>): Promise<void> {
  if (names.length === 0) throw new UsageError('which MODEL?')
  const failures: string[] = []
  for (const name of names) {
    try {
      await act(name)
    } catch (error) {
      failures.push(toServerError(error).message.trimEnd())
    }
  }
  const last = failures.pop()
  for (const failure of failures) printError(failure)
  if (last !== undefined) throw new ServerError('UNAVAILABLE', last)
}

/**
 * @param given JSON, or a file with JSON or a config.pbtxt
 * @returns as JSON, which is what the protocol takes
 * @throws UsageError, ServerError INVALID_ARG
 */
async function configText(given: string): Promise<string> {
  const text = given.trimStart().startsWith('{') ? given : await readFile(given, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`--config: '${given}' is neither JSON nor a file that can be read (${(cause as Error).message})`, { cause })
  })
  if (!text.trimStart().startsWith('{')) return printModelConfigJson(readPbtxt(text, given))
  try {
    JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`--config is no JSON: ${(cause as Error).message}`, { cause })
  }
  return text
}

function readPbtxt(text: string, path: string): ModelConfig {
  try {
    return readModelConfig(text, path)
  } catch (error) {
    // Triton's text names the file only; where in it is said below.
    const { message, cause } = toServerError(error)
    throw new ServerError('INVALID_ARG', cause instanceof Error ? `${message}: ${cause.message}` : message, { cause: error })
  }
}
