/**
 * The server process of the desktop: a utility process that runs the same `startServer` as the command line. Main sends it arguments and
 * says when to stop; it tells main where it listens and what it serves.
 */
import type { ParentPort } from 'electron'
import { formatLogEntry, LogHub, serverOptions, startServer } from '../server-core/index.ts'
import type { RunningServer } from '../server-core/index.ts'
import { availablePorts, canListen, portFallbacks } from './free-ports.ts'
import type { MessageFromServer, MessageToServer, Ports, ServerStartArguments, ServingStatus } from './server-messages.ts'

const LOOPBACK = '127.0.0.1'

const port = parentPort()
let running: Promise<RunningServer> | null = null

port.on('message', ({ data }) => {
  const message = data as MessageToServer
  if (message.kind === 'start') running ??= start(message.arguments)
  else void stop()
})
send({ kind: 'loaded' })

async function start(given: ServerStartArguments): Promise<RunningServer> {
  const logs = new LogHub()
  logs.addSink((entry) => { process.stderr.write(`${formatLogEntry(entry)}\n`) })
  try {
    const wanted = await availablePorts(given.ports, (number) => canListen(number, LOOPBACK))
    const server = await startServer(serverOptions({
      modelRepositories: given.repositoryPaths,
      modelControlMode: 'explicit',
      httpPort: wanted.http,
      grpcPort: wanted.grpc,
      metricsPort: wanted.metrics,
      console: true,
      consolePort: wanted.console,
      consoleToken: given.consoleToken,
      rendererDirectory: given.rendererDirectory,
      dataDirectory: given.dataDirectory,
      // The window has the token; a link with it belongs into no log.
    }), { logs, announceLink: () => undefined })
    const used = portsOf(server, wanted)
    send({ kind: 'ready', ports: used, fallbacks: portFallbacks(given.ports, used), status: statusOf(server) })
    const tellStatus = () => { send({ kind: 'status', status: statusOf(server) }) }
    server.server.subscribe({ modelChanged: tellStatus, modelRemoved: tellStatus, statusChanged: tellStatus })
    return server
  } catch (error) {
    send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) })
    process.stderr.write(`${error instanceof Error ? error.stack ?? error.message : String(error)}\n`)
    // Main knows the reason now and counts the exit.
    setImmediate(() => { process.exit(1) })
    throw error
  }
}

async function stop(): Promise<void> {
  try {
    await (await running)?.stop()
    process.exit(0)
  } catch {
    // A start that failed or a drain that timed out has said so already.
    process.exit(1)
  }
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
