/**
 * The server process of the desktop: a utility process that runs the same `startServer` as the command line. Main sends it arguments and
 * says when to stop; it tells main where it listens and what it serves.
 */
import type { ParentPort } from 'electron'
import { APPLIED_VARIABLE, checkNpu, environmentWithCann, exitAtOnce, LogHub, logSettings, parseServeArguments, printLog, restartFlags, serveArgumentsIn, ServerError, startServer, thisMachine } from '../server-core/index.ts'
import type { ServerRestart } from '../server-core/contract/console-api.ts'
import type { RunningServer, ServerOptions } from '../server-core/index.ts'
import { availablePorts, canListen, portFallbacks } from './free-ports.ts'
import type { MessageFromServer, MessageToServer, PortName, Ports, ServerStartArguments, ServingStatus } from './server-messages.ts'

const port = parentPort()
let running: Promise<RunningServer> | null = null
const stopping = new AbortController()

port.on('message', ({ data }) => {
  const message = data as MessageToServer
  if (message.kind === 'start') running ??= start(message.arguments)
  else void stop()
})
send({ kind: 'loaded' })

async function start(given: ServerStartArguments): Promise<RunningServer> {
  const logs = new LogHub()
  try {
    const options = optionsFor(given)
    logs.change(logSettings(options))
    printLog(logs)
    // Main has started this process with it; what kept it from that is said here, where it reaches the window.
    if (await environmentWithCann(options.cannSetEnv, thisMachine(process.env, null)) !== null) throw new ServerError('INTERNAL', `--cann-set-env=${options.cannSetEnv} took no effect: start the application again`)
    const wanted: Ports = { http: options.httpPort, grpc: options.grpcPort, metrics: options.metricsPort, console: options.consolePort }
    const free = await availablePorts(wanted, (name, number) => canListen(number, addressOf(options, name)))
    const restart = async (change: ServerRestart) => {
      const next = optionsFor({ ...given, commandLine: [...given.commandLine, ...restartFlags(change)] })
      await checkNpu(next, process.env)
      // The file is read again by main; whether it works is known before anything stops.
      if (change.cannSetEnv !== undefined) await environmentWithCann(next.cannSetEnv, thisMachine({ ...process.env, [APPLIED_VARIABLE]: '' }, null))
      const readyModels = (await running)?.server.modelSummaries().filter(({ state }) => state === 'READY').map(({ name }) => name) ?? []
      send({ kind: 'restart', change, readyModels })
    }
    const server = await startServer({ ...options, httpPort: free.http, grpcPort: free.grpc, metricsPort: free.metrics, consolePort: free.console }, {
      logs,
      restart,
      stopSignal: stopping.signal,
      // The window has the token; a link with it belongs into no log.
      announceLink: () => undefined,
    })
    const used = portsOf(server, free)
    send({ kind: 'ready', ports: used, fallbacks: portFallbacks(wanted, used), status: statusOf(server) })
    const tellStatus = () => { send({ kind: 'status', status: statusOf(server) }) }
    server.server.subscribe({ modelChanged: tellStatus, modelRemoved: tellStatus, statusChanged: tellStatus })
    return server
  } catch (error) {
    if (wasStoppedWhileStarting(error)) throw error
    const isFinal = error instanceof ServerError && error.kind === 'INVALID_ARG'
    send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error), isFinal })
    process.stderr.write(`${error instanceof Error ? error.stack ?? error.message : String(error)}\n`)
    // Main knows the reason now and counts the exit.
    setImmediate(() => { process.exit(1) })
    throw error
  }
}

/** The desktop's own defaults, then what its command line says; the console is always there, on loopback, for the window. */
function optionsFor(given: ServerStartArguments): ServerOptions {
  const { http, grpc, metrics, console } = given.ports
  const ports = [`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`, `--console-port=${console}`]
  const options = parseServeArguments(['--console', '--model-control-mode=explicit', '--repository-trust=ask', ...ports, ...serveArgumentsIn(given.commandLine)])
  const isRestart = given.loadModels.length > 0 && options.modelControlMode === 'explicit'
  return {
    ...options,
    // A model that does not load with other cards is one to look at in the window, no reason to have none.
    ...(isRestart ? { loadModels: given.loadModels, exitOnError: false } : {}),
    modelRepositories: given.repositoryPaths,
    console: true,
    consoleAddress: '127.0.0.1',
    consoleToken: given.consoleToken,
    rendererDirectory: given.rendererDirectory,
    dataDirectory: given.dataDirectory,
  }
}

function addressOf(options: ServerOptions, name: PortName): string {
  return options[`${name}Address`]
}

async function stop(): Promise<void> {
  stopping.abort()
  try {
    await (await running)?.stop()
    process.exit(0)
  } catch (error) {
    // A start that failed or a drain that timed out has said so already.
    if (wasStoppedWhileStarting(error)) process.exit(0)
    exitAtOnce(1)
  }
}

function wasStoppedWhileStarting(error: unknown): boolean {
  return error instanceof ServerError && error.kind === 'CANCELLED'
}

function statusOf(server: RunningServer): ServingStatus {
  return {
    repositoryPaths: server.server.repositoryPaths,
    readyModels: server.server.modelSummaries().filter((model) => model.state === 'READY').map((model) => model.name),
  }
}

function portsOf(server: RunningServer, wanted: Ports): Ports {
  const { http, grpc, metrics, console } = server.status()
  return {
    http: http?.port ?? wanted.http,
    grpc: grpc?.port ?? wanted.grpc,
    metrics: metrics?.port ?? wanted.metrics,
    console: console?.port ?? wanted.console,
  }
}

function send(message: MessageFromServer): void {
  port.postMessage(message)
}

function parentPort(): ParentPort {
  // Undefined in a plain Node process, whatever the types of Electron say.
  const found = process.parentPort as ParentPort | undefined
  if (found === undefined) throw new Error('server-entry is the server process of the desktop; start the server alone with: npu-console serve')
  return found
}
