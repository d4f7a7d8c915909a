import { exitAtOnce } from '../backends/native-addon.ts'
import type { ServerRestart } from '../contract/console-api.ts'
import { ERROR_KINDS } from '../contract/errors.ts'
import { printLog } from '../log-sink.ts'
import { LogHub } from '../logger.ts'
import { logSettings, type ServerOptions } from '../options.ts'
import { ServerError, toServerError } from '../server-error.ts'
import { SETTINGS_VARIABLE } from '../simulated-npu/simulated-npu.ts'
import { startServer, type RunningServer } from '../start-server.ts'
import { thisMachine } from '../telemetry/doctor/machine.ts'
import { countBuffersWithHeap } from './collector-settings.ts'
import { prepareRestart, type PreparedRestart } from './restart.ts'
import { restartFlags } from './restart-flags.ts'

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const

/**
 * Runs the server until a signal ends it: log lines go to standard error, the console's link to standard output.
 * @param args of `serve`, which `options` come from
 * @returns the exit code: 0 after a clean drain, 1 when it could not start or the exit timeout expired; or how it is to start again, which the
 *   console asked for
 */
export async function serve(options: ServerOptions, args: readonly string[]): Promise<number | PreparedRestart> {
  countBuffersWithHeap()
  const logs = new LogHub({ settings: logSettings(options) })
  try {
    printLog(logs)
  } catch (error) {
    process.stderr.write(`error: ${toServerError(error).message}\n`)
    return 1
  }
  const stopping = new AbortController()
  const signalled = waitForSignal((signal) => {
    process.stderr.write(`Signal (${SIGNAL_NUMBERS[signal]}) received.\n`)
    stopping.abort()
  })
  let running: RunningServer | undefined
  const { promise: restartAsked, resolve: startAgain } = Promise.withResolvers<PreparedRestart>()
  const restart = async (change: ServerRestart) => {
    if (running === undefined) throw new ServerError('UNAVAILABLE', 'the server is still starting: try again when it is ready')
    const readyModels = running.server.modelSummaries().filter(({ state }) => state === 'READY').map(({ name }) => name)
    const prepared = await prepareRestart(args, change, { status: running.status(), readyModels }, thisMachine(withoutSimulation(process.env), null))
    logs.logger('serve').info('the server starts again', { flags: restartFlags(change).join(' ') })
    startAgain(prepared)
  }
  try {
    running = await startServer(options, { logs, restart, stopSignal: stopping.signal, announceLink: (url) => { process.stdout.write(`Console: ${url}\n`) } })
  } catch (error) {
    const { kind, message } = toServerError(error)
    if (kind === 'CANCELLED') return 0
    process.stderr.write(`error: creating server: ${kindWords(kind)} - ${message}\n`)
    return 1
  }
  const prepared = await Promise.race([signalled, restartAsked])
  try {
    await running.stop()
    return prepared ?? 0
  } catch (error) {
    const { kind, message } = toServerError(error)
    process.stderr.write(`error: stopping server: ${kindWords(kind)} - ${message}\n`)
    // What is still in flight then ends with this program.
    return prepared ?? exitAtOnce(1)
  }
}

/** What this server has set for itself is not the next one's. */
function withoutSimulation(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name !== SETTINGS_VARIABLE))
}

function kindWords(kind: keyof typeof ERROR_KINDS): string {
  return ERROR_KINDS[kind].words
}

/** The first signal that asks the server to stop; a second one ends the process at once. */
function waitForSignal(onSignal: (signal: keyof typeof SIGNAL_NUMBERS) => void): Promise<null> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of Object.keys(SIGNAL_NUMBERS) as (keyof typeof SIGNAL_NUMBERS)[]) {
      process.on(signal, () => {
        if (isStopping) exitAtOnce(1)
        isStopping = true
        onSignal(signal)
        resolve(null)
      })
    }
  })
}
