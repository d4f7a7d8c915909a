/** The command `npu-console`. */
import { toServerError } from '../server-error.ts'
import { CONFIG_COMMAND_USAGE, configCommand } from './config-command.ts'
import { HelpRequested, parseServeArguments, serveUsage } from './parse-arguments.ts'
import { REPOSITORY_COMMANDS_USAGE, importCommand, sampleRepositoryCommand } from './repository-commands.ts'
import { serve } from './serve.ts'
import { userDataDirectory } from './user-data-directory.ts'

const USAGE = `Usage: npu-console <command>

  serve    start the inference server (npu-console serve --help lists its flags)
${REPOSITORY_COMMANDS_USAGE}${CONFIG_COMMAND_USAGE}`

type RepositoryCommand = (args: readonly string[], print: (text: string) => void) => Promise<void>
const REPOSITORY_COMMANDS: Readonly<Record<string, RepositoryCommand>> = { 'sample-repository': sampleRepositoryCommand, import: importInTerminal }

/** Ctrl+C calls it off, leaving nothing behind; on a terminal a line tells how far it is. */
async function importInTerminal(args: readonly string[], print: (text: string) => void): Promise<void> {
  const cancel = new AbortController()
  const abort = () => { cancel.abort() }
  process.once('SIGINT', abort).once('SIGTERM', abort)
  await importCommand(args, print, {
    signal: cancel.signal,
    showProgress: process.stderr.isTTY ? (line) => { process.stderr.write(`\r${line}\x1b[K`) } : null,
  })
}

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  const repositoryCommand = Object.hasOwn(REPOSITORY_COMMANDS, command ?? '') ? REPOSITORY_COMMANDS[command ?? ''] : undefined
  if (repositoryCommand !== undefined) {
    try {
      await repositoryCommand(rest, (text) => { process.stdout.write(`${text}\n`) })
      return 0
    } catch (error) {
      if (error instanceof HelpRequested) return help(USAGE)
      process.stderr.write(`npu-console ${command}: ${toServerError(error).message}\n`)
      return 1
    }
  }
  if (command === 'config') {
    return configCommand(rest, process.env, {
      print: (text) => { process.stdout.write(`${text}\n`) },
      printError: (text) => { process.stderr.write(`${text}\n`) },
    })
  }
  if (command !== 'serve') {
    if (command === '--help' || command === '-h' || command === 'help') return help(USAGE)
    process.stderr.write(command === undefined ? USAGE : `unknown command '${command}'\n${USAGE}`)
    return 1
  }
  let options
  try {
    options = parseServeArguments(rest)
  } catch (error) {
    if (error instanceof HelpRequested) return help(serveUsage())
    // As tritonserver, the message and then the usage; once more at the end, where it is not off the screen.
    const { message } = toServerError(error)
    process.stderr.write(`${message}\n${serveUsage()}\nnpu-console serve: ${message}\n`)
    return 1
  }
  return serve(options.dataDirectory === '' ? { ...options, dataDirectory: userDataDirectory(process.env) } : options)
}

function help(text: string): number {
  process.stdout.write(text)
  return 0
}

process.exit(await main(process.argv.slice(2)))
