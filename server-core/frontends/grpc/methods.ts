/** Every unary call of the inference service: its restriction category and what it does. */
import { steadyNanoseconds } from '../../clock.ts'
import type { Tensor } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { InferenceServer, LoadParameters } from '../../inference-server.ts'
import { printModelConfigJson } from '../../model-config/json-config.ts'
import { ServerError } from '../../server-error.ts'
import { REPOSITORY_CONTROL_CLOSED } from '../frontend.ts'
import type { FrontendServices } from '../frontend-services.ts'
import type { ApiCategory } from '../restricted-api.ts'
import { readOutputClasses } from '../classification.ts'
import { EXTENSION_METHODS } from './extension-methods.ts'
import { type ForwardedHeaders, withForwarded } from './forwarded-headers.ts'
import { readInferRequest, writeInferResponse } from './infer-messages.ts'
import type { WireInferRequest, WireInferResponse, WireRepositoryParameter } from './wire/wire-types.ts'

export interface CallEnvironment {
  readonly server: InferenceServer
  readonly services: FrontendServices
  readonly allowRepositoryControl: boolean
}

export interface CallContext {
  /** Aborted when the client cancels, goes away, or its deadline passes. */
  readonly signal: AbortSignal
  /** Told when nothing looks at the memory of the request's tensors any more. */
  readonly inputsAreFree: () => void
  /** Gives memory of these back once the answer is sent. */
  readonly releaseWhenSent: (outputs: readonly Tensor[]) => void
  /** Metadata that go into the request as parameters. */
  readonly forwarded: ForwardedHeaders
}

export interface UnaryMethod {
  readonly category: ApiCategory
  run(request: never, environment: CallEnvironment, context: CallContext): unknown
}

/** A refusal with no Triton error kind: repository control is closed here. */
export class PermissionDeniedError extends Error {}

interface NameAndVersion { readonly name: string; readonly version: string }

interface RepositoryRequest {
  readonly repository_name: string
  readonly model_name: string
  readonly parameters: Readonly<Record<string, WireRepositoryParameter>>
}

export const UNARY_METHODS: Readonly<Record<string, UnaryMethod>> = {
  ServerLive: { category: 'health', run: (_request, { server }) => ({ live: server.isLive() }) },
  ServerReady: { category: 'health', run: async (_request, { server }) => ({ ready: await server.askReady() }) },
  ModelReady: {
    category: 'health',
    run: async ({ name, version }: NameAndVersion, { server }) => ({ ready: await server.askModelReady(name, versionOf(version)) }),
  },
  ServerMetadata: { category: 'metadata', run: (_request, { server }) => server.serverMetadata() },
  ModelMetadata: {
    category: 'metadata',
    run: ({ name, version }: NameAndVersion, { server }) => server.modelMetadata(name, versionOf(version)),
  },
  ModelConfig: {
    category: 'model-config',
    run: ({ name, version }: NameAndVersion, { server }) => ({ config: configMessage(server.modelConfig(name, versionOf(version))) }),
  },
  ModelStatistics: {
    category: 'statistics',
    run: ({ name, version }: NameAndVersion, { server }) => ({ model_stats: server.modelStatistics(name, versionOf(version)) }),
  },
  ModelInfer: { category: 'inference', run: modelInfer },
  RepositoryIndex: {
    category: 'model-repository',
    run: ({ ready }: { readonly ready: boolean }, { server }) => ({ models: server.repositoryIndex(ready) }),
  },
  RepositoryModelLoad: { category: 'model-repository', run: loadModel },
  RepositoryModelUnload: { category: 'model-repository', run: unloadModel },
  ...EXTENSION_METHODS,
}

/** The config as a message; integers beyond 2^53 are handed over as digits, so none is lost. */
function configMessage(config: ModelConfig): unknown {
  const keepDigits = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    (typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? context?.source : value)
  return JSON.parse(printModelConfigJson(config), keepDigits)
}

async function modelInfer(wire: WireInferRequest, { server, services }: CallEnvironment, { signal, forwarded, inputsAreFree, releaseWhenSent }: CallContext): Promise<WireInferResponse> {
  const modelVersion = versionOf(wire.model_version)
  if (server.isDecoupled(wire.model_name, modelVersion)) {
    throw new ServerError('UNSUPPORTED', "ModelInfer RPC doesn't support models with decoupled transaction policy")
  }
  const trace = services.tracer.sample(wire.model_name)
  // When the message began to arrive is not known here.
  trace?.timestamp('GRPC_WAITREAD_END', steadyNanoseconds())
  const sharedMemory = services.sharedMemory.use()
  try {
    const call = readInferRequest(server, wire, modelVersion, sharedMemory)
    const classes = readOutputClasses(server, call.request, [...call.classifications.keys()])
    const request = withForwarded(call.request, forwarded)
    const result = await server.infer(trace === undefined ? request : { ...request, trace }, { signal })
    if (result.inputsAreFree === true) inputsAreFree()
    const { response } = result
    releaseWhenSent(response.outputs)
    trace?.timestamp('GRPC_SEND_START', steadyNanoseconds())
    return writeInferResponse(call, classes, response)
  } finally {
    sharedMemory.release()
    // The message is made and handed over in this turn of the event loop.
    if (trace !== undefined) {
      setImmediate(() => {
        trace.timestamp('GRPC_SEND_END', steadyNanoseconds())
        trace.end()
      })
    }
  }
}

async function loadModel(request: RepositoryRequest, { server, allowRepositoryControl }: CallEnvironment): Promise<object> {
  refuseControl(request, allowRepositoryControl)
  let config: string | undefined
  const files = new Map<string, Uint8Array>()
  for (const [key, value] of Object.entries(request.parameters)) {
    if (key === 'config') {
      if (value.parameter_choice !== 'string_param') throw wrongKind(key, 'string_param')
      config = value.string_param
    } else if (key.startsWith('file:')) {
      if (value.parameter_choice !== 'bytes_param' || value.bytes_param === undefined) throw wrongKind(key, 'bytes_param')
      files.set(key.slice('file:'.length), value.bytes_param)
    } else throw new ServerError('INVALID_ARG', `unrecognized load parameter '${key}'.`)
  }
  const parameters: LoadParameters = { ...(config === undefined ? {} : { config }), ...(files.size === 0 ? {} : { files }) }
  await server.loadModel(request.model_name, parameters)
  return {}
}

async function unloadModel(request: RepositoryRequest, { server, allowRepositoryControl }: CallEnvironment): Promise<object> {
  refuseControl(request, allowRepositoryControl)
  let unloadDependents = false
  for (const [key, value] of Object.entries(request.parameters)) {
    if (key !== 'unload_dependents') throw new ServerError('INVALID_ARG', `unrecognized unload parameter '${key}'.`)
    if (value.parameter_choice !== 'bool_param') throw new ServerError('INVALID_ARG', `invalid value type for '${key}' parameter, expected bool_param.`)
    unloadDependents = value.bool_param ?? false
  }
  await server.unloadModel(request.model_name, unloadDependents)
  return {}
}

function refuseControl(request: RepositoryRequest, isAllowed: boolean): void {
  if (!isAllowed) throw new PermissionDeniedError(REPOSITORY_CONTROL_CLOSED)
  if (request.repository_name !== '') throw new ServerError('UNSUPPORTED', "'repository_name' specification is not supported")
}

function wrongKind(key: string, expected: string): ServerError {
  return new ServerError('INVALID_ARG', `invalid value type for load parameter '${key}', expected ${expected}.`)
}

/**
 * The version of a request as the server takes it: C's stol, so a numeric prefix counts. '' stays ''.
 * @throws ServerError INVALID_ARG with the texts of protocol 5.4
 */
export function versionOf(text: string): string {
  if (text === '') return ''
  const digits = /^\s*[+-]?\d+/.exec(text.slice(0, 64))?.[0].trim()
  const value = digits === undefined ? undefined : BigInt(digits.replace('+', ''))
  if (value === undefined || value > 0x7fff_ffff_ffff_ffffn || value < -0x8000_0000_0000_0000n) {
    throw new ServerError('INVALID_ARG', `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`)
  }
  if (value < 0n) throw new ServerError('INVALID_ARG', `invalid model version specified '${text}' , version should be an integral value > 0`)
  return value.toString()
}
