/** An ensemble scheduler over members that a test makes up, on the fake clock. */
import type { InferenceRequest, InferenceResponse, Tensor } from '../contract/inference.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { InferenceStreamHandlers } from '../inference-server.ts'
import { LogHub } from '../logger.ts'
import { normalizeModelConfig } from '../model-config/normalize.ts'
import { readModelConfig } from '../model-config/read-config.ts'
import { ServerError } from '../server-error.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { EnsembleMember } from './ensemble-member.ts'
import { EnsembleScheduler } from './ensemble-scheduler.ts'
import { InflightRequest, type InflightRequestFields, type RequestOutcome } from './inflight-request.ts'

export const MILLISECOND = 1e6

const parsed = new Map<string, ModelConfig>()

/** Random tests ask for the same few texts thousands of times. */
export function configOf(name: string, text: string): ModelConfig {
  const known = parsed.get(text) ?? normalizeModelConfig(readModelConfig(text, name))
  parsed.set(text, known)
  return { ...known, name }
}

export function int32(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  return { name, datatype: 'INT32', shape, data: new Uint8Array(Int32Array.from(values).buffer) }
}

export function valuesOf(tensor: Tensor | undefined): number[] {
  return tensor === undefined ? [] : [...new Int32Array(tensor.data.slice().buffer)]
}

/** One request that a member got, to be answered by the test. */
export interface MemberCall {
  readonly model: string
  readonly request: InferenceRequest
  readonly handlers: InferenceStreamHandlers
  isCancelled: boolean
  isDone: boolean
  /** The last answer, with a timing of 1, 2 and 3 ms for input, infer and output. */
  answer(outputs: readonly Tensor[], parameters?: InferenceResponse['parameters']): void
  /** One of several answers. */
  send(outputs: readonly Tensor[]): void | Promise<void>
  /** The FINAL flag alone. */
  complete(): void
  fail(error: ServerError): void
}

const TIMING = {
  queueNanoseconds: 4 * MILLISECOND, computeInputNanoseconds: MILLISECOND, computeInferNanoseconds: 2 * MILLISECOND, computeOutputNanoseconds: 3 * MILLISECOND,
  totalNanoseconds: 10 * MILLISECOND, batchSize: 1,
}

export class FakeMember implements EnsembleMember {
  readonly name: string
  readonly version = '1'
  readonly config: ModelConfig
  readonly labels = new Map<string, readonly string[]>()
  readonly isDecoupled: boolean
  holds = 0
  /** Thrown by the next `submit`. */
  refusal: ServerError | null = null
  readonly #onCall: (call: MemberCall) => void

  constructor(config: ModelConfig, onCall: (call: MemberCall) => void) {
    this.name = config.name
    this.config = config
    this.isDecoupled = config.model_transaction_policy?.decoupled === true
    this.#onCall = onCall
  }

  submit(request: InferenceRequest, _requestStart: number, handlers: InferenceStreamHandlers) {
    const { refusal } = this
    this.refusal = null
    if (refusal !== null) throw refusal
    const response = (outputs: readonly Tensor[], parameters: InferenceResponse['parameters'] = {}): InferenceResponse =>
      ({ modelName: this.name, modelVersion: '1', id: request.id, parameters, outputs })
    const call: MemberCall = {
      model: this.name, request, handlers, isCancelled: false, isDone: false,
      answer(outputs, parameters) {
        call.isDone = true
        handlers.onTiming?.(TIMING)
        handlers.onDone({ response: response(outputs, parameters), timing: TIMING })
      },
      send: (outputs) => handlers.onResponse(response(outputs)),
      complete() {
        call.isDone = true
        handlers.onTiming?.(TIMING)
        handlers.onDone(null)
      },
      fail(error) {
        call.isDone = true
        handlers.onDone(error)
      },
    }
    this.#onCall(call)
    return { cancel: () => { call.isCancelled = true } }
  }

  hold(): () => void {
    this.holds++
    return () => { this.holds-- }
  }
}

export interface AskedRequest {
  readonly inflight: InflightRequest
  /** Outputs of each answer, FINAL alone left out. */
  readonly answers: (readonly Tensor[])[]
  outcome: RequestOutcome | null
}

export class EnsembleRig {
  readonly clock = new FakeClock()
  readonly logs = new LogHub()
  readonly calls: MemberCall[] = []
  readonly members = new Map<string, FakeMember>()
  readonly scheduler: EnsembleScheduler
  readonly executed: { readonly batchSize: number; readonly computeNanoseconds: number; readonly queueEnd: number }[] = []
  failedAgain = 0

  /** @param members config text by model @param onCall asked first; false: the call waits in `calls` */
  constructor(ensemble: string, members: Readonly<Record<string, string>>, onCall: (call: MemberCall) => boolean = () => false) {
    for (const [name, text] of Object.entries(members)) {
      this.members.set(name, new FakeMember(configOf(name, text), (call) => { if (!onCall(call)) this.calls.push(call) }))
    }
    this.scheduler = new EnsembleScheduler({
      config: configOf('m', ensemble), version: '1', clock: this.clock, log: this.logs.logger('ensemble'),
      findMember: (name) => {
        const member = this.members.get(name)
        if (member === undefined) throw new ServerError('NOT_FOUND', `Request for unknown model: '${name}' is not found`)
        return member
      },
      onExecuted: (batchSize, times) => { this.executed.push({ batchSize, computeNanoseconds: times.executeEnd - times.executeStart, queueEnd: times.executeStart }) },
      onFailed: () => { this.failedAgain++ },
    })
  }

  ask(inputs: readonly Tensor[], more: Partial<InflightRequestFields> = {}): AskedRequest {
    const asked: { inflight: InflightRequest; answers: (readonly Tensor[])[]; outcome: RequestOutcome | null } = {
      inflight: new InflightRequest({
        id: '', inputs, requestedOutputs: ['Z'], parameters: {}, batchSize: 1, requestStart: this.clock.now(), queueStart: this.clock.now(), timeoutMicroseconds: 0,
        onPartial: (answer) => { if ('outputs' in answer) asked.answers.push(answer.outputs) },
        onSettled: (outcome) => {
          asked.outcome = outcome
          if (outcome.kind === 'response' && outcome.outputs !== null) asked.answers.push(outcome.outputs)
        },
        ...more,
      }),
      answers: [], outcome: null,
    }
    this.scheduler.enqueue(asked.inflight)
    return asked
  }

  /** Takes the oldest call of a model that was not answered. */
  take(model: string): MemberCall {
    const index = this.calls.findIndex((call) => call.model === model && !call.isDone)
    const [call] = index < 0 ? [] : this.calls.splice(index, 1)
    if (call === undefined) throw new Error(`model '${model}' has no open call`)
    return call
  }

  get open(): string[] { return this.calls.filter((call) => !call.isDone).map((call) => call.model) }
}

export function tensor(name: string, dims = '[ 1 ]', rest = ''): string { return `{ name: "${name}" data_type: TYPE_INT32 dims: ${dims} ${rest} }` }

export function model(inputs: string, outputs: string, rest = ''): string { return `backend: "custom" ${rest} input [ ${inputs} ] output [ ${outputs} ]` }

/** @param input `I=A J=B`: the model's tensor to the ensemble's */
export function step(name: string, input: string, output: string): string {
  const map = (field: string, pairs: string) => pairs.split(' ').map((pair) => `${field} { key: "${pair.split('=')[0]}" value: "${pair.split('=')[1]}" }`).join(' ')
  return `step { model_name: "${name}" model_version: -1 ${map('input_map', input)} ${map('output_map', output)} }`
}

export function ensemble(steps: string, rest = '', ends = `input ${tensor('A')} output ${tensor('Z')}`): string {
  return `platform: "ensemble" ${rest} ${ends} ensemble_scheduling { ${steps} }`
}
