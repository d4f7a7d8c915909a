/** Every endpoint of the HTTP protocol: its restriction category, its method, and what it does. */
import type { TrafficSplitSettings } from '../../contract/repository.ts'
import type { LoadParameters } from '../../inference-server.ts'
import { printModelConfigJson } from '../../model-config/json-config.ts'
import { ServerError } from '../../server-error.ts'
import type { NpuSimulation } from '../../simulated-npu/npu-simulation.ts'
import { REPOSITORY_CONTROL_CLOSED } from '../frontend.ts'
import type { ApiCategory } from '../restricted-api.ts'
import { handleGenerate } from './generate-endpoint.ts'
import type { HttpExchange } from './http-exchange.ts'
import { handleInfer, type InferEnvironment, jsonTooLarge } from './infer-endpoint.ts'
import { JsonDocument } from './json-document.ts'
import { logging } from './log-endpoint.ts'
import type { Route, RouteKind } from './routes.ts'
import { regionStatus, registerCudaRegion, registerSystemRegion, unregisterRegions } from './shared-memory-endpoints.ts'
import { traceSetting } from './trace-endpoint.ts'

export interface EndpointEnvironment extends InferEnvironment {
  readonly allowRepositoryControl: boolean
  readonly simulation: NpuSimulation
}

export interface Endpoint {
  readonly category: ApiCategory
  readonly methods: readonly string[]
  /** Answers the exchange; what it throws or rejects with becomes an error reply. */
  run(exchange: HttpExchange, environment: EndpointEnvironment): void | Promise<void>
}

const GET = ['GET']
const POST = ['POST']
const GET_OR_POST = ['GET', 'POST']

export const ENDPOINTS: Readonly<Record<RouteKind, Endpoint>> = {
  serverLive: { category: 'health', methods: GET, run: (exchange, { server }) => { replyHealth(exchange, server.isLive()) } },
  serverReady: { category: 'health', methods: GET, run: async (exchange, { server }) => { replyHealth(exchange, await server.askReady()) } },
  modelReady: {
    category: 'health', methods: GET,
    run: async (exchange, { server }) => {
      if (!await server.askModelReady(exchange.route.model, version(exchange.route))) throw new ServerError('INVALID_ARG', 'Model version not ready')
      exchange.replyEmpty(200, 'text/plain')
    },
  },
  serverMetadata: { category: 'metadata', methods: GET, run: (exchange, { server }) => { replyJson(exchange, () => server.serverMetadata()) } },
  modelMetadata: {
    category: 'metadata', methods: GET,
    run: (exchange, { server }) => { replyJson(exchange, () => server.modelMetadata(exchange.route.model, version(exchange.route))) },
  },
  modelConfig: {
    category: 'model-config', methods: GET,
    run: (exchange, { server }) => {
      exchange.errorContentType = 'application/json'
      exchange.replyJsonText(printModelConfigJson(server.modelConfig(exchange.route.model, version(exchange.route))))
    },
  },
  modelStatistics: {
    category: 'statistics', methods: GET,
    run: (exchange, { server }) => {
      replyJson(exchange, () => ({ model_stats: server.modelStatistics(exchange.route.model, version(exchange.route)) }))
    },
  },
  infer: {
    category: 'inference', methods: POST,
    run: (exchange, environment) => handleInfer(exchange, version(exchange.route), environment),
  },
  repositoryIndex: { category: 'model-repository', methods: POST, run: replyIndex },
  modelLoad: { category: 'model-repository', methods: POST, run: loadModel },
  modelTraffic: { category: 'model-repository', methods: GET_OR_POST, run: modelTraffic },
  npuFaults: { category: 'model-repository', methods: GET_OR_POST, run: npuFaults },
  modelUnload: { category: 'model-repository', methods: POST, run: unloadModel },
  generate: {
    category: 'inference', methods: POST,
    run: (exchange, environment) => handleGenerate(exchange, version(exchange.route), environment, false),
  },
  generateStream: {
    category: 'inference', methods: POST,
    run: (exchange, environment) => handleGenerate(exchange, version(exchange.route), environment, true),
  },
  trace: { category: 'trace', methods: GET_OR_POST, run: traceSetting },
  logging: { category: 'logging', methods: GET_OR_POST, run: logging },
  systemSharedMemoryStatus: { category: 'shared-memory', methods: GET, run: regionStatus('system') },
  systemSharedMemoryRegister: { category: 'shared-memory', methods: POST, run: registerSystemRegion },
  systemSharedMemoryUnregister: { category: 'shared-memory', methods: POST, run: unregisterRegions('system') },
  cudaSharedMemoryStatus: { category: 'shared-memory', methods: GET, run: regionStatus('CUDA') },
  cudaSharedMemoryRegister: { category: 'shared-memory', methods: POST, run: registerCudaRegion },
  cudaSharedMemoryUnregister: { category: 'shared-memory', methods: POST, run: unregisterRegions('CUDA') },
}

function replyHealth(exchange: HttpExchange, isHealthy: boolean): void {
  exchange.replyEmpty(isHealthy ? 200 : 400, 'text/plain')
}

function replyJson(exchange: HttpExchange, read: () => unknown): void {
  exchange.errorContentType = 'application/json'
  exchange.replyJson(read())
}

async function replyIndex(exchange: HttpExchange, environment: EndpointEnvironment): Promise<void> {
  exchange.errorContentType = 'application/json'
  const document = await jsonBody(exchange, environment)
  const readyAt = document?.find(document.root, 'ready') ?? -1
  if (document !== undefined && readyAt >= 0 && document.kind(readyAt) !== 'boolean') {
    throw new ServerError('INVALID_ARG', "Invalid value for 'ready': expected a boolean")
  }
  exchange.replyJson(environment.server.repositoryIndex(document !== undefined && readyAt >= 0 && document.asBoolean(readyAt)))
}

async function loadModel(exchange: HttpExchange, environment: EndpointEnvironment): Promise<void> {
  if (isControlRefused(exchange, environment)) return
  exchange.errorContentType = 'application/json'
  refuseRepositoryName(exchange)
  const document = await jsonBody(exchange, environment)
  const parameters = document === undefined ? undefined : loadParameters(document)
  await environment.server.loadModel(exchange.route.model, parameters)
  exchange.replyEmpty(200, 'application/json')
}

async function unloadModel(exchange: HttpExchange, environment: EndpointEnvironment): Promise<void> {
  if (isControlRefused(exchange, environment)) return
  exchange.errorContentType = 'application/json'
  refuseRepositoryName(exchange)
  const document = await jsonBody(exchange, environment)
  // A wrongly typed unload_dependents and all other keys are ignored (protocol 5.8).
  const at = document === undefined ? -1 : document.find(document.find(document.root, 'parameters'), 'unload_dependents')
  const unloadDependents = document !== undefined && at >= 0 && document.kind(at) === 'boolean' && document.asBoolean(at)
  await environment.server.unloadModel(exchange.route.model, unloadDependents)
  exchange.replyEmpty(200, 'application/json')
}

/** Ours: `{"version":"2","percent":10}` gives a share of the traffic to a version, `{"version":null}` ends that; both methods answer what holds. */
async function modelTraffic(exchange: HttpExchange, environment: EndpointEnvironment): Promise<void> {
  const { server } = environment
  const { model } = exchange.route
  if (exchange.request.method === 'POST') {
    if (isControlRefused(exchange, environment)) return
    exchange.errorContentType = 'application/json'
    server.setTrafficSplit(model, trafficSettings(await jsonBody(exchange, environment)))
  }
  replyJson(exchange, () => {
    const split = server.trafficSplit(model)
    if (split === null) return { version: null }
    const { version, percent, baseVersion, versionRequests, baseRequests } = split
    return { version, percent, base_version: baseVersion, version_requests: versionRequests, base_requests: baseRequests }
  })
}

/** Ours: `{"faults":[{"kind":"card-lost","device":1}]}` makes simulated cards suffer from these faults and no others; both methods answer what holds. */
async function npuFaults(exchange: HttpExchange, environment: EndpointEnvironment): Promise<void> {
  const { simulation } = environment
  if (exchange.request.method === 'POST') {
    if (isControlRefused(exchange, environment)) return
    exchange.errorContentType = 'application/json'
    const { body, byteLength } = await environment.collect(exchange, environment.maxInputSize)
    if (byteLength > environment.maxInputSize) throw jsonTooLarge(byteLength, environment.maxInputSize)
    await simulation.setFaults(faultsIn(body))
  }
  replyJson(exchange, () => ({ faults: simulation.faults() }))
}

function faultsIn(body: Buffer): unknown {
  const refuse = (cause?: unknown) => new ServerError('INVALID_ARG', 'faults are {"faults":[{"kind":"<kind>","device":<id>,"count":<times>,"phase":"<phase>","needsReset":<true|false>}]}; an empty list clears all', { cause })
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw refuse(error)
  }
  if (typeof value !== 'object' || value === null || !('faults' in value)) throw refuse()
  return value.faults
}

function trafficSettings(document: JsonDocument | undefined): TrafficSplitSettings | null {
  const refuse = () => new ServerError('INVALID_ARG', 'a traffic split is {"version":"<version>","percent":<0 to 100>}, or {"version":null} to end it')
  if (document === undefined || document.kind(document.root) !== 'object') throw refuse()
  const versionAt = document.find(document.root, 'version')
  const percentAt = document.find(document.root, 'percent')
  if (versionAt < 0) throw refuse()
  if (document.kind(versionAt) === 'null') return null
  if (document.kind(versionAt) !== 'string' || percentAt < 0 || !['integer', 'double'].includes(document.kind(percentAt))) throw refuse()
  return { version: document.asString(versionAt), percent: document.number(percentAt) }
}

/** Answers 403 where load and unload are not for this client. */
function isControlRefused(exchange: HttpExchange, environment: EndpointEnvironment): boolean {
  if (!environment.allowRepositoryControl) {
    exchange.replyRefusal(403, REPOSITORY_CONTROL_CLOSED)
    return true
  }
  // Only browsers send Origin. A web page could otherwise load a model of its own through the loopback port of whoever looks at it.
  const origin = exchange.header('origin')
  if (origin === undefined) return false
  exchange.replyRefusal(403, `Repository control is refused to web pages, and this request comes from one (Origin: ${origin}). Use the console, curl or a client library.`)
  return true
}

function refuseRepositoryName(exchange: HttpExchange): void {
  if (exchange.route.qualifier !== '') throw new ServerError('UNSUPPORTED', "'repository_name' specification is not supported")
}

/** `{"parameters":{"config":"...","file:<path>":"<base64>"}}` */
function loadParameters(document: JsonDocument): LoadParameters {
  const parametersAt = memberOfObject(document)
  if (parametersAt < 0) return {}
  if (document.kind(parametersAt) !== 'object') throw new ServerError('INTERNAL', 'attempt to get members for non-object')
  let config: string | undefined
  const files = new Map<string, Uint8Array>()
  for (let nameAt = document.first(parametersAt); nameAt >= 0;) {
    const valueAt = document.memberValue(nameAt)
    const key = document.text(nameAt)
    const value = document.asString(valueAt)
    if (key === 'config') config = value
    else if (key.startsWith('file:')) files.set(key.slice('file:'.length), Buffer.from(value, 'base64'))
    else throw new ServerError('INTERNAL', 'unexpected error on creating Triton parameter')
    nameAt = document.next(valueAt)
  }
  return { ...(config === undefined ? {} : { config }), ...(files.size === 0 ? {} : { files }) }
}

function memberOfObject(document: JsonDocument): number {
  if (document.kind(document.root) !== 'object') throw new ServerError('INTERNAL', 'attempt to get members for non-object')
  return document.find(document.root, 'parameters')
}

/** The JSON body of an endpoint that may also be called without one. */
async function jsonBody(exchange: HttpExchange, environment: EndpointEnvironment): Promise<JsonDocument | undefined> {
  const { body, byteLength } = await environment.collect(exchange, environment.maxInputSize)
  if (byteLength > environment.maxInputSize) throw jsonTooLarge(byteLength, environment.maxInputSize)
  return byteLength === 0 ? undefined : new JsonDocument(body)
}

/** The JSON body of an endpoint that demands one. @throws ServerError INTERNAL, also for an empty body */
export async function requiredJson(exchange: HttpExchange, environment: EndpointEnvironment): Promise<JsonDocument> {
  const document = await jsonBody(exchange, environment) ?? new JsonDocument(Buffer.alloc(0))
  if (document.kind(document.root) !== 'object') throw new ServerError('INTERNAL', 'attempt to get members for non-object')
  return document
}

/** The version a path names, without leading zeros. @throws ServerError INVALID_ARG beyond int64 (protocol 5.4) */
function version(route: Route): string {
  const text = route.version
  if (text.length < 2) return text
  const value = BigInt(text)
  if (value > 0x7fff_ffff_ffff_ffffn) {
    throw new ServerError('INVALID_ARG', `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`)
  }
  return value.toString()
}
