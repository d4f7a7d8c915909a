/** Loads our .proto files. They lie beside this file in the source tree; a bundled server says where it put them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadSync, type MethodDefinition, type Options } from '@grpc/proto-loader'
import { ServerError } from '../../server-error.ts'

/** Proto field names, 64-bit values as text, enums as names, every field present, the chosen member of a oneof named. */
const LOAD_OPTIONS: Options = { keepCase: true, longs: String, enums: String, defaults: true, arrays: true, objects: true, oneofs: true }

/** Calls by name, each with its path and how its messages are read and written. */
export type ServiceMethods = Readonly<Record<string, MethodDefinition<object, object>>>

export interface ProtoServices {
  readonly inference: ServiceMethods
  readonly health: ServiceMethods
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
    const definitions = loadSync(['grpc_service.proto', 'health.proto'], { ...LOAD_OPTIONS, includeDirs: [folder] })
    const service = (name: string): ServiceMethods => {
      const methods = definitions[name]
      if (methods === undefined) throw new Error(`no service ${name}`)
      return methods as ServiceMethods
    }
    return { inference: service('inference.GRPCInferenceService'), health: service('grpc.health.v1.Health') }
  } catch (error) {
    throw unreadable(folder, error instanceof Error ? error.message : String(error), error)
  }
}

function unreadable(folder: string, reason: string, cause?: unknown): ServerError {
  return new ServerError('INTERNAL', `the gRPC protocol files cannot be read from '${folder}': ${reason}. Reinstall the application.`, { cause })
}
