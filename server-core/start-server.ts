import { randomUUID } from 'node:crypto'
import { availableParallelism, homedir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import packageDescription from '../package.json' with { type: 'json' }
import { BackendRegistry, builtInBackends } from './backends/backend-registry.ts'
import { NATIVE_ADDON_PATH, nativeAddon } from './backends/native-addon.ts'
import { onnxRuntimeVersion } from './backends/onnxruntime/onnxruntime-backend.ts'
import { systemClock } from './clock.ts'
import type { ListeningAddress, ServerStatus } from './contract/console-api.ts'
import type { RestartServer } from './frontends/console/console-commands.ts'
import type { Frontend, FrontendOptions } from './frontends/frontend.ts'
import type { FrontendServices } from './frontends/frontend-services.ts'
import { headerForwardPattern } from './frontends/header-forwarding.ts'
import { startHttpFrontend } from './frontends/http/http-frontend.ts'
import { startMetricsFrontend } from './frontends/metrics/metrics-frontend.ts'
import { readTlsFiles } from './frontends/grpc/grpc-options.ts'
import type { InferenceServer } from './inference-server.ts'
import { ASSETS_DIRECTORY, PROTO_DIRECTORY, RENDERER_DIRECTORY } from './installed-paths.ts'
import { LogHub, type Logger } from './logger.ts'
import { isLoopback } from './loopback.ts'
import { omReader } from './model-config/om-passport.ts'
import { CANN_LIBRARIES, logSettings, NPU_BACKENDS, type ServerOptions } from './options.ts'
import { findPortOwner } from './port-owner.ts'
import { ServerError, toServerError } from './server-error.ts'
import { npuSimulation } from './simulated-npu/npu-simulation.ts'
import { SETTINGS_VARIABLE, SimulatedNpu } from './simulated-npu/simulated-npu.ts'
import { SharedMemoryRegions } from './shared-memory/shared-memory-regions.ts'
import { textTable } from './text-table.ts'
import { findDcmi } from './telemetry/dcmi-source.ts'
import { Devices } from './telemetry/devices.ts'
import { findCann } from './telemetry/doctor/cann-installation.ts'
import { thisMachine } from './telemetry/doctor/machine.ts'
import type { NpuTelemetrySource } from './telemetry/npu-telemetry-source.ts'
import { RepositoryTrustFile, TRUSTS_ALL } from './model-repository/repository-trust.ts'
import { Tracer } from './tracing/tracer.ts'
import { TritonInferenceServer } from './triton-inference-server.ts'

export interface RunningServer {
  readonly server: InferenceServer
  readonly logs: LogHub
  /** Where each front end listens; null: it is off. */
  readonly addresses: ListeningAddresses
  status(): ServerStatus
  /** Drains and ends everything. @throws ServerError INTERNAL when the exit timeout expired with work in flight */
  stop(): Promise<void>
}

export type ListeningAddresses = Readonly<Record<FrontendName, ListeningAddress | null>>

type FrontendName = 'http' | 'grpc' | 'metrics' | 'console'

export interface StartServerHooks {
  /** Receives every log entry from the first one on. */
  readonly logs?: LogHub
  /** Told the console's link to open, again each time a one-time link was used up. Default: it is logged. */
  readonly announceLink?: (url: string) => void
  /** Starts the server again, other than before. Absent: nobody can. */
  readonly restart?: RestartServer
  /** Aborted: whatever still starts is not wanted any more. */
  readonly stopSignal?: AbortSignal
}

/**
 * The composition root (front ends that are off are not even loaded): builds every part by hand, loads what is to be loaded, then opens the front ends (the console first, so that
 * it can show the loading). When anything fails, what was started is stopped again.
 * @throws ServerError that names the port and the flag when a port is taken; INTERNAL `failed to load all models` with exitOnError; CANCELLED
 *   when it was asked to stop while models loaded, and everything ended within the exit timeout
 */
export async function startServer(options: ServerOptions, hooks: StartServerHooks = {}): Promise<RunningServer> {
  const logs = hooks.logs ?? new LogHub()
  logs.change(logSettings(options))
  logs.isSimulated = options.npu === 'simulated'
  const log = logs.logger('start-server')
  for (const said of options.flagsWithoutEffect) log.info(said)
  // A wrong file is no reason to load models first.
  const tls = options.allowGrpc ? await readTlsFiles(options.grpcTransport) : null
  const simulated = options.npu === 'simulated' ? await startSimulatedNpu(options, log) : null
  const simulation = npuSimulation(simulated, options, logs.logger('simulated-npu'))
  const registry = new BackendRegistry(builtInBackends(logs), simulated === null ? options : { ...options, backendConfig: withSimulatedCann(options.backendConfig, simulated) }, logs)
  const machine = thisMachine(simulated?.environment ?? process.env, onnxRuntimeVersion(), {
    npu: { source: options.npu, simulatedCann: simulated?.cann.directory ?? null }, nativeDirectory: dirname(NATIVE_ADDON_PATH),
  })
  const cann = options.npu === 'auto' ? await findCann(machine) : null
  const dataDirectory = options.dataDirectory === '' ? join(homedir(), '.local', 'share', 'npu-console') : options.dataDirectory
  const trust = options.repositoryTrust === 'all' ? TRUSTS_ALL : await RepositoryTrustFile.open(dataDirectory, logs.logger('repository-trust'))
  const devices: Devices = new Devices({
    clock: systemClock, logs, machine, processId: process.pid, modelSummaries: () => server.modelSummaries(), findDcmi: dcmiFinder(simulated, logs.logger('npu-telemetry')),
    onCardsAnswer: (isBack) => { server.cardsAnswer(isBack) },
  })
  const server: TritonInferenceServer = new TritonInferenceServer({ options, registry, trust, clock: systemClock, logs, npus: () => devices.samples() })
  server.subscribe({ modelChanged: (summary) => { devices.modelChanged(summary) } })
  // The status tells how many cards there are, and their driver.
  const known = () => `${devices.count} ${devices.driverVersion}`
  let announced = known()
  devices.subscribe(({ isSimulated }) => {
    logs.isSimulated = isSimulated || options.npu === 'simulated'
    if (known() === announced) return
    announced = known()
    server.announceStatus()
  })
  const frontends = new Map<FrontendName, Frontend>()
  const addresses: Record<FrontendName, ListeningAddress | null> = { http: null, grpc: null, metrics: null, console: null }
  const status = statusReader(options, server, addresses, devices, { cannVersion: cann?.version ?? null, canRestart: hooks.restart !== undefined })

  const open = async (name: FrontendName, service: string, start: () => Promise<Frontend>) => {
    const frontend = await start().catch(withPortOwner)
    frontends.set(name, frontend)
    addresses[name] = { address: frontend.address, port: frontend.port }
    log.info(`Started ${service} at ${printAddress(frontend)}`)
    server.announceStatus()
  }
  const services: FrontendServices = { logs, sharedMemory: new SharedMemoryRegions({ isAllowed: options.allowClientSharedMemory, pythonPrefix: options.backendConfig['python']?.['shm-region-prefix-name'] }), tracer: new Tracer(options.traceConfig, logs.logger('tracer')) }
  const common = (part: 'http' | 'grpc' | 'metrics'): FrontendOptions => {
    const address = options[`${part}Address`]
    return {
      server, services, address, port: options[`${part}Port`], reusePort: part === 'http' ? options.reuseHttpPort : part === 'grpc' && options.reuseGrpcPort, log: logs.logger(`${part}-frontend`), maxInputSize: options.httpMaxInputSize,
      restrictedApis: part === 'grpc' ? options.grpcRestrictedProtocols : options.httpRestrictedApis,
      allowRepositoryControl: options.allowRemoteControl || isLoopback(address),
    }
  }
  const stop = async () => {
    devices.stop()
    server.interruptLoads()
    const deadline = Date.now() + options.exitTimeoutSeconds * 1000
    const remainingSeconds = () => Math.max(0, (deadline - Date.now()) / 1000)
    try {
      for (const name of ['http', 'grpc'] as const) await frontends.get(name)?.stop(remainingSeconds())
      await server.stop(remainingSeconds())
    } finally {
      services.tracer.close()
      services.sharedMemory.close()
      for (const name of ['metrics', 'console'] as const) await frontends.get(name)?.stop(0)
      if (simulated !== null) await stopSimulatedNpu(simulated)
    }
  }

  const interrupted = new ServerError('CANCELLED', 'stopped while starting')
  const stopRequested = new Promise<never>((_resolve, reject) => {
    if (hooks.stopSignal?.aborted === true) reject(interrupted)
    hooks.stopSignal?.addEventListener('abort', () => { reject(interrupted) }, { once: true })
  })
  stopRequested.catch(() => {})

  devices.start()
  try {
    if (options.console) {
      const { startConsoleFrontend } = await import('./frontends/console/console-frontend.ts')
      await open('console', 'console', () => startConsoleFrontend({
        server, status, logs, address: options.consoleAddress, port: options.consolePort, log: logs.logger('console-frontend'),
        ...(options.consoleToken === '' ? {} : { token: options.consoleToken }),
        rendererDirectory: options.rendererDirectory === '' ? RENDERER_DIRECTORY : options.rendererDirectory,
        dataDirectory,
        assetsDirectory: ASSETS_DIRECTORY, backends: registry.names, isAutoCompleteOff: options.disableAutoCompleteConfig,
        devices, simulation, restart: hooks.restart ?? null, pythonBackendConfig: registry.configOf('python'),
        readOm: omReader({ cannLibraryDirectory: simulated?.cann.libraryDirectory ?? options.backendConfig['npu_om']?.[CANN_LIBRARIES] ?? '' }),
        announceLink: hooks.announceLink ?? ((url) => { log.info(`Open the console at ${url}`) }),
      }))
    }
    await Promise.race([server.start(), stopRequested]).catch((error: unknown) => {
      if (options.exitOnError || toServerError(error).message !== 'failed to load all models') throw error
      log.error('failed to load all models, serving those that loaded because of --exit-on-error=false')
    })
    log.info(modelTable(server))
    if (options.allowGrpc) {
      const { startGrpcFrontend } = await import('./frontends/grpc/grpc-frontend.ts')
      const { connection, responseCompression, headerForwardPattern: forwarded } = options.grpcTransport
      await open('grpc', 'GRPCInferenceService', () => startGrpcFrontend({
        ...common('grpc'), protoDirectory: PROTO_DIRECTORY, connection, tls, responseCompression,
        headerForwardPattern: headerForwardPattern(forwarded, '--grpc-header-forward-pattern'),
      }))
    }
    if (options.allowHttp) await open('http', 'HTTPService', () => startHttpFrontend({ ...common('http'), headerForwardPattern: headerForwardPattern(options.httpHeaderForwardPattern, '--http-header-forward-pattern'), simulation }))
    if (options.allowMetrics) await open('metrics', 'Metrics Service', () => startMetricsFrontend({ ...common('metrics'), intervalMilliseconds: options.metricsIntervalMilliseconds, hasCpuMetrics: options.allowCpuMetrics, ...(options.allowGpuMetrics ? { devices } : {}), backendMetrics: () => registry.metricsText() }))
  } catch (error) {
    if (error === interrupted) {
      await stop()
      throw error
    }
    await stop().catch((reason: unknown) => { log.error('could not stop cleanly', { error: toServerError(reason).message }) })
    throw error
  }
  return { server, logs, addresses, status, stop }
}

/** Before any native library is opened: the simulated ones look at the environment once. @throws ServerError that names the flag */
async function startSimulatedNpu({ npuSimulatedCards, npuSimulatedTimeScale }: ServerOptions, log: Logger): Promise<SimulatedNpu> {
  const simulated = await SimulatedNpu.start({ cards: npuSimulatedCards, timeScale: npuSimulatedTimeScale, environment: process.env })
  process.env[SETTINGS_VARIABLE] = simulated.settingsPath
  log.warning('--npu=simulated: the cards are simulated. Results are real, times and figures of cards are not', {
    cards: simulated.cards.join(','), settings: simulated.settingsPath, tools: simulated.cann.toolDirectory,
  })
  return simulated
}

async function stopSimulatedNpu(simulated: SimulatedNpu): Promise<void> {
  if (process.env[SETTINGS_VARIABLE] === simulated.settingsPath) Reflect.deleteProperty(process.env, SETTINGS_VARIABLE)
  await simulated.stop()
}

/** The driver's library, where the native addon is there to open it. */
function dcmiFinder(simulated: SimulatedNpu | null, log: Logger): () => Promise<NpuTelemetrySource | null> {
  return async () => {
    const native = nativeAddon()
    if (!native.ok) return null
    return findDcmi({ readDcmi: native.addon.readDcmi.bind(native.addon), directory: simulated?.cann.libraryDirectory ?? '', clock: systemClock }, log)
  }
}

function withSimulatedCann(backendConfig: ServerOptions['backendConfig'], { cann }: SimulatedNpu): ServerOptions['backendConfig'] {
  return { ...backendConfig, ...Object.fromEntries([...NPU_BACKENDS, 'python'].map((backend) => [backend, { ...backendConfig[backend], [CANN_LIBRARIES]: cann.libraryDirectory }])) }
}

function statusReader(options: ServerOptions, server: InferenceServer, addresses: ListeningAddresses, devices: Devices, fixed: Pick<ServerStatus, 'cannVersion' | 'canRestart'>): () => ServerStatus {
  const instanceId = randomUUID()
  const startedAt = Date.now()
  const runtimeVersion = onnxRuntimeVersion()
  return () => ({
    id: options.id,
    version: packageDescription.version,
    instanceId,
    state: server.state,
    startedAt,
    controlMode: server.controlMode,
    repositoryPaths: server.repositoryPaths,
    ...addresses,
    processId: process.pid,
    nodeVersion: process.version,
    onnxRuntimeVersion: runtimeVersion,
    platform: `${process.platform}-${process.arch}`,
    cpuCount: availableParallelism(),
    totalMemoryBytes: totalmem(),
    npuCount: devices.count,
    driverVersion: devices.driverVersion,
    npuSource: options.npu,
    npuFallback: options.npuFallback,
    repositoryTrust: server.repositoryTrust,
    ...fixed,
  })
}

/** Adds who holds the port, where that can be seen, to the error of a front end that could not listen. */
async function withPortOwner(error: unknown): Promise<never> {
  const failure = toServerError(error)
  const cause = failure.cause as { code?: unknown; port?: unknown } | undefined
  if (cause?.code !== 'EADDRINUSE' || typeof cause.port !== 'number') throw failure
  const owner = await findPortOwner(cause.port)
  if (owner === null) throw failure
  if (owner?.processId === process.pid) {
    const flag = failure.message.split(':')[0] ?? ''
    throw new ServerError(failure.kind, `${flag}: port ${cause.port} is already used by this server itself. Give every front end a port of its own with ${flag}, or 0 for a free one.`, { cause: error })
  }
  throw new ServerError(failure.kind, `${failure.message} It belongs to process ${owner.processId} (${owner.command}).`, { cause: error })
}

function printAddress({ address, port }: ListeningAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

function modelTable(server: InferenceServer): string {
  const rows = server.repositoryIndex(false).filter((entry) => entry.state !== undefined).map((entry) => [
    entry.name, entry.version ?? '', `${entry.state ?? ''}${entry.reason === undefined ? '' : `: ${entry.reason.split('\n')[0] ?? ''}`}`,
  ])
  return textTable(['Model', 'Version', 'Status'], rows)
}
