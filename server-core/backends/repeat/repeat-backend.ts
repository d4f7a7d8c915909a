import { systemClock, type Clock } from '../../clock.ts'
import { DATA_TYPES, type Tensor } from '../../contract/inference.ts'
import { refuseFirst } from '../../model-config/config-problem.ts'
import { ServerError, toServerError } from '../../server-error.ts'
import type { Backend, BackendModelInstance, BackendRequest, ExecutionTimes } from '../backend.ts'
import { repeatConfigProblems } from './repeat-config.ts'

const NANOSECONDS_PER_MILLISECOND = 1e6

/**
 * A decoupled model as in Triton's repeat backend: one response for each element of IN, `DELAY[i]` milliseconds after the one before, with
 * the element in OUT and its position in IDX; then the FINAL flag alone. The execution itself ends after WAIT milliseconds, so that a
 * further request may begin while responses of this one still come; a cancelled request waits for nothing. For tests and demonstrations of everything around decoupled models.
 */
export function createRepeatBackend(clock: Clock = systemClock): Backend {
  return {
    name: 'repeat',
    async initializeModel({ config }) {
      refuseFirst(repeatConfigProblems(config))
      return {
        config,
        async initializeInstance() { return new RepeatInstance(clock) },
        async finalize() {},
      }
    },
  }
}

class RepeatInstance implements BackendModelInstance {
  readonly #clock: Clock

  constructor(clock: Clock) { this.#clock = clock }

  async execute(requests: readonly BackendRequest[]): Promise<ExecutionTimes> {
    const executeStart = this.#clock.now()
    const waits: Promise<void>[] = []
    for (const request of requests) {
      try {
        const { elements, delays, wait } = readInputs(request)
        if (wait > 0) waits.push(this.#sleep(request, wait))
        void this.#respond(request, elements, delays)
      } catch (error) {
        request.fail(toServerError(error))
      }
    }
    await Promise.all(waits)
    const executeEnd = this.#clock.now()
    return { executeStart, computeStart: executeStart, computeEnd: executeEnd, executeEnd }
  }

  async finalize(): Promise<void> {}

  async #respond(request: BackendRequest, elements: readonly Tensor[], delays: readonly number[]): Promise<void> {
    try {
      const asked = new Set(request.requestedOutputs)
      for (const [index, element] of elements.entries()) {
        const delay = delays[index] ?? 0
        if (delay > 0) await this.#sleep(request, delay)
        if (request.isCancelled) throw new ServerError('CANCELLED', '')
        const outputs = [element, { name: 'IDX', datatype: 'UINT32' as const, shape: [1], data: new Uint8Array(Uint32Array.of(index).buffer) }]
        await request.send(outputs.filter(({ name }) => asked.has(name)))
      }
      request.complete()
    } catch (error) {
      request.fail(toServerError(error))
    }
  }

  /** Until the request is cancelled at the latest. */
  #sleep(request: BackendRequest, milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#clock.after(milliseconds * NANOSECONDS_PER_MILLISECOND, resolve)
      request.onCancel(() => {
        stop()
        resolve()
      })
    })
  }
}

/** @throws ServerError INVALID_ARG where the tensors do not go together */
function readInputs(request: BackendRequest): { elements: Tensor[]; delays: number[]; wait: number } {
  const input = (name: string): Tensor => {
    const tensor = request.inputs.find((candidate) => candidate.name === name)
    if (tensor === undefined) throw new ServerError('INVALID_ARG', `the repeat backend needs input '${name}'`)
    return tensor
  }
  const [values, delay, wait] = [input('IN'), input('DELAY'), input('WAIT')]
  if (values.shape.join() !== delay.shape.join()) {
    throw new ServerError('INVALID_ARG', `expected IN and DELAY shape to match, got [${values.shape.join(',')}] and [${delay.shape.join(',')}]`)
  }
  const { byteSize } = DATA_TYPES[values.datatype]
  const elements = Array.from({ length: values.shape[0] ?? 0 }, (_unused, index): Tensor => (
    { name: 'OUT', datatype: values.datatype, shape: [1], data: values.data.slice(index * byteSize, (index + 1) * byteSize) }
  ))
  return { elements, delays: unsignedIntegers(delay), wait: unsignedIntegers(wait)[0] ?? 0 }
}

function unsignedIntegers({ data }: Tensor): number[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  return Array.from({ length: data.byteLength / 4 }, (_unused, index) => view.getUint32(index * 4, true))
}
