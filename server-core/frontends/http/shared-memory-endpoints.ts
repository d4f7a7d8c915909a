/** `/v2/systemsharedmemory` and `/v2/cudasharedmemory` (protocol 5.9). */
import { ServerError } from '../../server-error.ts'
import type { SharedMemoryKind } from '../../shared-memory/shared-memory-regions.ts'
import type { Endpoint } from './endpoints.ts'
import { requiredJson } from './endpoints.ts'
import { jsonString } from './json-writer.ts'

export function regionStatus(kind: SharedMemoryKind): Endpoint['run'] {
  return (exchange, { services }) => {
    exchange.errorContentType = 'application/json'
    const regions = services.sharedMemory.status(kind, exchange.route.qualifier)
    exchange.replyJsonText(`[${regions.map(({ name, key, offset, byteSize }) => `{"name":${jsonString(name)},"key":${jsonString(key)},"offset":${offset},"byte_size":${byteSize}}`).join(',')}]`)
  }
}

export const registerSystemRegion: Endpoint['run'] = async (exchange, environment) => {
  exchange.errorContentType = 'application/json'
  const { sharedMemory } = environment.services
  sharedMemory.requireAllowed()
  const name = exchange.route.qualifier
  if (name === '') throw new ServerError('INVALID_ARG', "'region name' is necessary to register system shared memory region")
  const document = await requiredJson(exchange, environment)
  const [keyAt = -1, offsetAt = -1, byteSizeAt = -1] = document.findAll(document.root, ['key', 'offset', 'byte_size'])
  if (keyAt < 0) throw new ServerError('INVALID_ARG', "Shared memory register request has no 'key' field")
  const key = document.asString(keyAt)
  const offset = offsetAt < 0 ? 0n : document.asUnsigned(offsetAt)
  if (byteSizeAt < 0) throw new ServerError('INVALID_ARG', "Shared memory register request has no 'byte_size' field")
  sharedMemory.registerSystem({ name, key, offset, byteSize: document.asUnsigned(byteSizeAt) })
  exchange.replyEmpty(200, 'application/json')
}

export const registerCudaRegion: Endpoint['run'] = (exchange, { services }) => {
  exchange.errorContentType = 'application/json'
  if (exchange.route.qualifier === '') throw new ServerError('INVALID_ARG', "'region name' is necessary to register cuda shared memory region")
  services.sharedMemory.registerCuda(exchange.route.qualifier)
}

export function unregisterRegions(kind: SharedMemoryKind): Endpoint['run'] {
  return (exchange, { services }) => {
    exchange.errorContentType = 'application/json'
    services.sharedMemory.unregister(kind, exchange.route.qualifier)
    exchange.replyEmpty(200, 'application/json')
  }
}
