import { LogHub } from '../logger.ts'
import { SharedMemoryRegions } from '../shared-memory/shared-memory-regions.ts'

/** What the extensions of both protocols work on, beside the inference server: one of each per server. */
export interface FrontendServices {
  readonly logs: LogHub
  readonly sharedMemory: SharedMemoryRegions
}

/** Those of a server with default flags, where a front end is started alone. */
export function defaultServices(): FrontendServices {
  return { logs: new LogHub(), sharedMemory: new SharedMemoryRegions({ isAllowed: false }) }
}
