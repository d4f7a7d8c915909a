/** The command `npu-console`. */
import { toServerError } from '../server-error.ts'
import { HelpRequested, parseServeArguments, serveUsage } from './parse-arguments.ts'
import { serve } from './serve.ts'

const USAGE = `Usage: npu-console <command>

  serve    start the inference server (npu-console serve --help lists its flags)
`

async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  if (command !== 'serve') {
    process.stderr.write(command === undefined || command === '--help' ? USAGE : `unknown command '${command}'\n${USAGE}`)
    return 1
  }
  let options
  try {
    options = parseServeArguments(rest)
  } catch (error) {
    process.stderr.write(error instanceof HelpRequested ? serveUsage() : `${toServerError(error).message}\n${serveUsage()}`)
    return 1
  }
  return serve(options)
}

process.exit(await main(process.argv.slice(2)))
