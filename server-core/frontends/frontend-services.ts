import { LogHub } from '../logger.ts'
import { SharedMemoryRegions } from '../shared-memory/shared-memory-regions.ts'
import { DEFAULT_TRACE_CONFIG } from '../tracing/trace-settings.ts'
import { Tracer } from '../tracing/tracer.ts'

/** What the extensions of both protocols work on, beside the inference server: one of each per server. */
export interface FrontendServices {
  readonly logs: LogHub
  readonly sharedMemory: SharedMemoryRegions
  readonly tracer: Tracer
}

/** Those of a server with default flags, where a front end is started alone. */
export function defaultServices(): FrontendServices {
  const logs = new LogHub()
  return { logs, sharedMemory: new SharedMemoryRegions({ isAllowed: false }), tracer: new Tracer(DEFAULT_TRACE_CONFIG, logs.logger('tracer')) }
}
