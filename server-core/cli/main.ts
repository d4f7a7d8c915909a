/** The command `npu-console`. */
import { dirname } from 'node:path'
import { NATIVE_ADDON_PATH } from '../backends/native-addon.ts'
import { toServerError } from '../server-error.ts'
import { onnxRuntimeVersion } from '../backends/onnxruntime/onnxruntime-backend.ts'
import { thisMachine } from '../telemetry/doctor/machine.ts'
import { environmentWithCann } from './cann-environment.ts'
import { CODE_COMMAND_USAGE, codeCommand } from './code-command.ts'
import { CONFIG_COMMAND_USAGE, configCommand } from './config-command.ts'
import { DOCTOR_USAGE, doctorCommand } from './doctor-command.ts'
import { INFER_COMMAND_USAGE, inferCommand } from './infer-command.ts'
import { MODEL_COMMANDS_USAGE, isModelCommand, modelCommand } from './model-commands.ts'
import { HelpRequested, parseServeArguments, serveUsage } from './parse-arguments.ts'
import { REPOSITORY_COMMANDS_USAGE, importCommand, sampleRepositoryCommand } from './repository-commands.ts'
import { serve } from './serve.ts'
import { TRUST_COMMAND_USAGE, trustCommand } from './trust-command.ts'
import { userDataDirectory } from './user-data-directory.ts'

const USAGE = `Usage: npu-console <command>

  serve    start the inference server (npu-console serve --help lists its flags)
${MODEL_COMMANDS_USAGE}${INFER_COMMAND_USAGE}${DOCTOR_USAGE}${REPOSITORY_COMMANDS_USAGE}${CONFIG_COMMAND_USAGE}${CODE_COMMAND_USAGE}${TRUST_COMMAND_USAGE}`

const TERMINAL = {
  print: (text: string) => { process.stdout.write(`${text}\n`) },
  printError: (text: string) => { process.stderr.write(`${text}\n`) },
}

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
  if (command === 'code') return codeCommand(rest, process.env, TERMINAL)
  if (command === 'trust') return trustCommand(rest, process.env, TERMINAL)
  if (isModelCommand(command)) return modelCommand(command, rest, TERMINAL)
  if (command === 'infer') return inferCommand(rest, TERMINAL)
  if (command === 'config') return configCommand(rest, process.env, TERMINAL)
  if (command === 'doctor') return doctorCommand(rest, thisMachine(process.env, onnxRuntimeVersion(), { nativeDirectory: dirname(NATIVE_ADDON_PATH) }), TERMINAL)
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
  try {
    const environment = await environmentWithCann(options.cannSetEnv, thisMachine(process.env, null))
    if (environment !== null) startAgain(rest, environment)
  } catch (error) {
    process.stderr.write(`npu-console serve: ${toServerError(error).message}\n`)
    return 1
  }
  const end = await serve(options.dataDirectory === '' ? { ...options, dataDirectory: userDataDirectory(process.env) } : options, rest)
  return typeof end === 'number' ? end : startAgain(end.args, end.environment)
}

/** `serve` with these flags and this environment, as the same process: its number, its streams and whoever waits for it stay. */
function startAgain(flags: readonly string[], environment: NodeJS.ProcessEnv): never {
  if (process.execve === undefined) throw new Error(`--cann-set-env does not work on ${process.platform}: source set_env.sh before the start instead`)
  return process.execve(process.execPath, [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'serve', ...flags], environment)
}

function help(text: string): number {
  process.stdout.write(text)
  return 0
}

process.exit(await main(process.argv.slice(2)))
