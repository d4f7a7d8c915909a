import { exitAtOnce } from '../backends/native-addon.ts'
import { ERROR_KINDS } from '../contract/errors.ts'
import { formatLogEntry } from '../log-format.ts'
import { LogHub } from '../logger.ts'
import type { ServerOptions } from '../options.ts'
import { toServerError } from '../server-error.ts'
import { startServer } from '../start-server.ts'

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const

/**
 * Runs the server until a signal ends it: log lines go to standard error, the console's link to standard output.
 * @returns the exit code: 0 after a clean drain, 1 when it could not start or the exit timeout expired
 */
export async function serve(options: ServerOptions): Promise<number> {
  const logs = new LogHub({ verboseLevel: options.logVerbose })
  logs.addSink((entry) => { process.stderr.write(`${formatLogEntry(entry)}\n`) })
  const stopping = new AbortController()
  const signalled = waitForSignal((signal) => {
    process.stderr.write(`Signal (${SIGNAL_NUMBERS[signal]}) received.\n`)
    stopping.abort()
  })
  let running
  try {
    running = await startServer(options, { logs, stopSignal: stopping.signal, announceLink: (url) => { process.stdout.write(`Console: ${url}\n`) } })
  } catch (error) {
    const { kind, message } = toServerError(error)
    if (kind === 'CANCELLED') return 0
    process.stderr.write(`error: creating server: ${kindWords(kind)} - ${message}\n`)
    return 1
  }
  await signalled
  try {
    await running.stop()
    return 0
  } catch (error) {
    const { kind, message } = toServerError(error)
    process.stderr.write(`error: stopping server: ${kindWords(kind)} - ${message}\n`)
    return exitAtOnce(1)
  }
}

function kindWords(kind: keyof typeof ERROR_KINDS): string {
  return ERROR_KINDS[kind].words
}

/** The first signal that asks the server to stop; a second one ends the process at once. */
function waitForSignal(onSignal: (signal: keyof typeof SIGNAL_NUMBERS) => void): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of Object.keys(SIGNAL_NUMBERS) as (keyof typeof SIGNAL_NUMBERS)[]) {
      process.on(signal, () => {
        if (isStopping) exitAtOnce(1)
        isStopping = true
        onSignal(signal)
        resolve()
      })
    }
  })
}
