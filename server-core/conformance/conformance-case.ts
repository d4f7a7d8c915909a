/** What a case of the conformance suite looks like: a row of a table where one exchange says it all, a function where it does not. */
import type { ErrorKind } from '../contract/errors.ts'
import type { Tensor } from '../contract/inference.ts'
import type { HttpCall } from '../testing/http-client.ts'
import type { Conversation } from './conversation.ts'
import type { FactId } from './facts.ts'
import type { ServerName } from './servers.ts'

interface CaseCommon {
  /** What this case proves. Each text among them must appear in an answer the case got. */
  readonly facts: readonly FactId[]
  /** Unique within its facts. */
  readonly name: string
  /** Default: 'main'. Cases that change what others rely on use models of their own, or a server of their own. */
  readonly server?: ServerName
}

/** One HTTP exchange. */
export interface HttpCase extends CaseCommon {
  readonly transport: 'http'
  readonly call: HttpCall
  readonly status: number
  /** Of `{"error":"..."}`; a string is the whole text. */
  readonly error?: string | RegExp
  /** The whole body. */
  readonly body?: string | RegExp
  /** The body, read as JSON, contains this. */
  readonly json?: object
  /** Lower case names; undefined: must be absent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** One unary gRPC call. */
export interface GrpcCase extends CaseCommon {
  readonly transport: 'grpc'
  readonly method: string
  readonly request: object
  /** The call fails so. */
  readonly error?: readonly [kind: ErrorKind, text: string | RegExp]
  /** The reply contains this. */
  readonly reply?: object
}

/** The same inference over both transports, tensors in binary form. */
export interface InferCase extends CaseCommon {
  readonly transport: 'both'
  readonly infer: InferCall
  readonly error?: readonly [kind: ErrorKind, text: string | RegExp]
  /** Outputs in the order of the answer. */
  readonly outputs?: readonly Tensor[]
}

/** Whatever else it takes. */
export interface ProgramCase extends CaseCommon {
  readonly transport: 'http' | 'grpc' | 'both'
  run(conversation: Conversation): Promise<void>
}

export type ConformanceCase = HttpCase | GrpcCase | InferCase | ProgramCase

export interface InferCall {
  readonly model: string
  readonly version?: string
  readonly id?: string
  readonly inputs: readonly Tensor[]
  /** Absent: all outputs. */
  readonly outputs?: readonly string[]
  readonly parameters?: Readonly<Record<string, string | boolean>>
}
