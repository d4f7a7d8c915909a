/** Loads our .proto files. They lie beside this file in the source tree; a bundled server says where it put them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js'
import { loadSync, type Options } from '@grpc/proto-loader'
import { ServerError } from '../../server-error.ts'

/** Proto field names, 64-bit values as text, enums as names, every field present, the chosen member of a oneof named. */
const LOAD_OPTIONS: Options = { keepCase: true, longs: String, enums: String, defaults: true, arrays: true, objects: true, oneofs: true }

export interface ProtoServices {
  readonly inference: ServiceDefinition
  readonly health: ServiceDefinition
}

/**
 * @param directory where grpc_service.proto, model_config.proto and health.proto are; default: `proto/` beside this file
 * @throws ServerError INTERNAL when a file is missing
 */
export function loadProtoServices(directory?: string): ProtoServices {
  const folder = directory ?? fileURLToPath(new URL('./proto', import.meta.url))
  for (const file of ['grpc_service.proto', 'model_config.proto', 'health.proto']) {
    if (!existsSync(join(folder, file))) throw unreadable(folder, `${file} is missing`)
  }
  try {
    const definition = loadSync(['grpc_service.proto', 'health.proto'], { ...LOAD_OPTIONS, includeDirs: [folder] })
    const root = loadPackageDefinition(definition)
    return {
      inference: serviceAt(root, ['inference', 'GRPCInferenceService']),
      health: serviceAt(root, ['grpc', 'health', 'v1', 'Health']),
    }
  } catch (error) {
    throw unreadable(folder, error instanceof Error ? error.message : String(error), error)
  }
}

function unreadable(folder: string, reason: string, cause?: unknown): ServerError {
  return new ServerError('INTERNAL', `the gRPC protocol files cannot be read from '${folder}': ${reason}. Reinstall the application.`, { cause })
}

function serviceAt(root: object, path: readonly string[]): ServiceDefinition {
  let node: unknown = root
  for (const name of path) node = (node as Record<string, unknown>)[name]
  const { service } = node as { service?: ServiceDefinition }
  if (service === undefined) throw new Error(`no service ${path.join('.')}`)
  return service
}
