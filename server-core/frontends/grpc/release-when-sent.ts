import type { Tensor } from '../../contract/inference.ts'
import { releaseOutputs } from '../../release-memory.ts'
import type { Flushed } from './transport/grpc-call.ts'

/** For `GrpcCall.send` of a message with these outputs: their memory is given back when the system has it all. One that breaks off in the middle leaves them to the collector. */
export function releasing(outputs: readonly Tensor[]): Flushed {
  return (isRead) => { if (!isRead) releaseOutputs(outputs) }
}
