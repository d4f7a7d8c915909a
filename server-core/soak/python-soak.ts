/**
 * Soaks the Python backend with models that do what they should not: one keeps 8 MB with every request, one prints a thousand lines with
 * every request. Their processes may grow, the server may not, and a load frees what they held.
 *   python-soak.ts --seconds=600      (with --expose-gc memory is read after a collection)
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { pythonModel, pythonServer, type PythonServer } from '../testing/python-models.ts'
import { floatsOf, fp32, requestOf } from '../testing/test-server.ts'

/** What the leaking model keeps with each request. */
export const LEAK_BYTES = 8 * 2 ** 20
/** Requests between two loads: 200 MB. */
export const REQUESTS_A_LIFE = 25
const LINES_A_REQUEST = 1000
const RESIDENT_GROWTH_LIMIT = 1.05
/** Shorter runs end before the heap and the allocator have found their size. */
const LEVEL_AFTER_SECONDS = 300

const CONFIG = 'backend: "python"\ninput [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]\noutput [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]\n'
const DOUBLING = 'return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", request.inputs()[0].as_numpy() * 2)]) for request in requests]'
const LEAKING = pythonModel(`
def initialize(self, args):
    self.kept = []
def execute(self, requests):
    self.kept.append((requests, np.ones(${LEAK_BYTES}, np.uint8)))
    ${DOUBLING}`)
const PRINTING = pythonModel(`
def execute(self, requests):
    sys.stdout.write("a line that says little\\n" * ${LINES_A_REQUEST})
    sys.stdout.flush()
    ${DOUBLING}`)

export interface PythonSoakResult {
  readonly requests: number
  readonly loads: number
  /** Bytes of the leaking model: the least that it held right after a load and the most before one, of all its lives. */
  readonly leastAfterLoad: number
  readonly mostBeforeLoad: number
  /** Lines that were printed, and those in the log or counted there as left out. */
  readonly lines: { readonly printed: number; readonly accounted: number; readonly kept: number }
  /** Bytes of the server after the first load and at the end; medians of the middle and the last third of the time. */
  readonly residentFirst: number
  readonly residentEnd: number
  readonly residentMiddle: number
  readonly residentLast: number
}

/** At least two lives of the leaking model, however short the time. @throws Error on a wrong answer */
export async function soakPython(seconds: number): Promise<PythonSoakResult> {
  await using test = await pythonServer({ leaking: { code: LEAKING, config: CONFIG }, printing: { code: PRINTING, config: CONFIG } })
  const account = new LineAccount(test)
  const until = performance.now() + seconds * 1000
  const [afterLoad, beforeLoad, resident]: [number[], number[], number[]] = [[], [], []]
  let requests = 0
  while (performance.now() < until || afterLoad.length < 2) {
    if (afterLoad.length > 0) {
      await test.server.unloadModel('leaking')
      await test.server.loadModel('leaking')
    }
    afterLoad.push(heldBy(test, 'leaking'))
    for (let round = 0; round < REQUESTS_A_LIFE; round++) {
      await ask(test, 'leaking', requests)
      await ask(test, 'printing', requests)
      requests += 2
      globalThis.gc?.()
      resident.push(process.memoryUsage.rss())
    }
    beforeLoad.push(heldBy(test, 'leaking'))
  }
  await test.server.unloadModel('printing')
  const third = Math.floor(resident.length / 3)
  return {
    requests, loads: afterLoad.length, leastAfterLoad: Math.min(...afterLoad), mostBeforeLoad: Math.max(...beforeLoad), lines: await account.close(requests / 2 * LINES_A_REQUEST),
    residentFirst: resident[0] ?? 0, residentEnd: resident.at(-1) ?? 0, residentMiddle: median(resident.slice(third, 2 * third)), residentLast: median(resident.slice(2 * third)),
  }
}

async function ask(test: PythonServer, model: string, value: number): Promise<void> {
  const { response } = await test.server.infer(requestOf(model, [fp32('IN', [2], [value, 1])]))
  const answer = floatsOf(response.outputs[0])
  if (answer[0] !== Math.fround(2 * value) || answer[1] !== 2) throw new Error(`'${model}' answered ${answer.join(', ')} to ${value}, 1`)
}

/** What the statistics say that a model's processes hold. */
function heldBy(test: PythonServer, model: string): number {
  return test.server.modelStatistics(model, '')[0]?.memory_usage.reduce((sum, { byte_size: size }) => sum + size, 0) ?? 0
}

/** Counts the lines of the printing model that reach the log, and those that it says it left out. */
class LineAccount {
  readonly #test: PythonServer
  readonly #stop: () => void
  #written = 0
  #leftOut = 0

  constructor(test: PythonServer) {
    this.#test = test
    this.#stop = test.logs.addSink(({ fields, message }) => {
      if (fields['model'] !== 'printing') return
      if (fields['stream'] === 'stdout' && message === 'a line that says little') this.#written++
      else if (typeof fields['count'] === 'number') this.#leftOut += fields['count']
    })
  }

  /** Waits for what is still under way, of the lines that were printed. */
  async close(printed: number): Promise<PythonSoakResult['lines']> {
    for (let wait = 0; wait < 600 && this.#written + this.#leftOut < printed; wait++) await new Promise((resolve) => { setTimeout(resolve, 100) })
    this.#stop()
    return { printed, accounted: this.#written + this.#leftOut, kept: this.#test.logs.recent(1_000_000, 'printing').length }
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '600' }, seed: { type: 'string' } } })
  const result = await soakPython(Number(values.seconds))
  const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`
  const growth = result.residentLast / result.residentMiddle
  process.stdout.write(`python soak: ${result.requests} requests, ${result.loads} loads in ${values.seconds} s; the leaking model held ${megabytes(result.leastAfterLoad)} after a load and ${megabytes(result.mostBeforeLoad)} before one; `
    + `${result.lines.accounted} of ${result.lines.printed} lines accounted for, ${result.lines.kept} kept\n`
    + `resident memory of the server: middle third ${megabytes(result.residentMiddle)}, last third ${megabytes(result.residentLast)}, ratio ${growth.toFixed(3)} (limit ${RESIDENT_GROWTH_LIMIT} from ${LEVEL_AFTER_SECONDS} s on)\n`)
  if (result.lines.accounted !== result.lines.printed) throw new Error('lines of a model were lost without a word')
  if (Number(values.seconds) >= LEVEL_AFTER_SECONDS && growth > RESIDENT_GROWTH_LIMIT) throw new Error(`resident memory grew by more than ${((RESIDENT_GROWTH_LIMIT - 1) * 100).toFixed(0)} %`)
}
