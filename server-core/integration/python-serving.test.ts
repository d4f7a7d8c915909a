/** Python models behind the protocols of a real server, and what is left of them when it ends. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GrpcClient, type GrpcStreamReply } from '../testing/grpc-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { pythonModel, testInterpreter } from '../testing/python-models.ts'
import { startServerProcess, type ServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

const CONFIG = 'backend: "python"\ninput [ { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } ]\noutput [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } ]\n'
const DECOUPLED = `${CONFIG}model_transaction_policy { decoupled: true }\n`
/** As many numbers as are asked for, from a thread; below zero: without end, until nobody listens, which it then writes into a file. A thousand: ends the process after three. */
const STREAM = pythonModel(`
def execute(self, requests):
    for request in requests:
        threading.Thread(target=self.answer, args=(request.get_response_sender(), int(request.inputs()[0].as_numpy()[0]))).start()
def answer(self, sender, count):
    index = 0
    while (index < count or count < 0) and not sender.is_cancelled():
        if count == 1000 and index == 3:
            time.sleep(0.05)
            os._exit(9)
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([index], np.int32))]))
        index += 1
        if count < 0:
            time.sleep(0.001)
    if count < 0:
        open(os.path.join(pb_utils.get_model_dir(), "cancelled"), "w").close()
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`)
/** Starts a process, and says both numbers in a file; a request never ends. */
const PARENT = pythonModel(`
def initialize(self, args):
    import subprocess
    child = subprocess.Popen(["sleep", "1000"])
    with open(os.path.join(args["model_repository"], "pids.new"), "w") as file:
        file.write("%d %d" % (os.getpid(), child.pid))
    os.rename(file.name, os.path.join(args["model_repository"], "pids"))
def execute(self, requests):
    open(os.path.join(pb_utils.get_model_dir(), "hangs"), "w").close()
    time.sleep(1000)`)
const FILES = { 'stream/1/model.py': STREAM, 'stream/config.pbtxt': DECOUPLED, 'parent/1/model.py': PARENT, 'parent/config.pbtxt': CONFIG }

const isAlive = (processId: number) => existsSync(`/proc/${processId}`) && !readFileSync(`/proc/${processId}/stat`, 'utf8').includes(') Z ')

/** A server with both models, and the processes of `parent`. */
class Served implements AsyncDisposable {
  readonly repository: TemporaryRepository
  readonly server: ServerProcess
  readonly processes: readonly number[]
  readonly #prefix: string

  static async start(...flags: string[]): Promise<Served> {
    const repository = await TemporaryRepository.create(FILES)
    const prefix = `python_serving_${process.pid}_${Date.now()}_`
    try {
      const server = await startServerProcess([
        `--model-repository=${repository.path}`, `--backend-config=python,interpreter=${testInterpreter()}`, `--backend-config=python,shm-region-prefix-name=${prefix}`, ...flags,
      ])
      return new Served(repository, server, prefix)
    } catch (error) {
      await repository[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(repository: TemporaryRepository, server: ServerProcess, prefix: string) {
    this.repository = repository
    this.server = server
    this.#prefix = prefix
    this.processes = readFileSync(join(repository.path, 'parent/pids'), 'utf8').split(' ').map(Number)
  }

  get living(): readonly number[] { return this.processes.filter(isAlive) }
  get sharedFiles(): readonly string[] { return readdirSync('/dev/shm').filter((name) => name.startsWith(this.#prefix)) }

  /** Nothing of the models is left. */
  async expectNothingLeft(): Promise<void> {
    await expect.poll(() => this.living, { timeout: 60_000 }).toEqual([])
    expect(this.sharedFiles).toEqual([])
  }

  /** A request to `parent` that runs. */
  async hang(): Promise<void> {
    const body = JSON.stringify({ inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], data: [1] }] })
    new HttpClient(this.server.httpPort).send({ path: '/v2/models/parent/infer', body }).catch(() => {})
    await expect.poll(() => existsSync(join(this.repository.path, 'parent/1/hangs')), { timeout: 60_000 }).toBe(true)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.kill('SIGKILL')
    await this.server.exited
    await this.repository[Symbol.asyncDispose]()
  }
}

describe('a decoupled Python model', () => {
  let served: Served
  let client: GrpcClient
  beforeAll(async () => {
    served = await Served.start()
    client = new GrpcClient(served.server.grpcPort)
  }, 180_000)
  afterAll(async () => {
    client.close()
    await served[Symbol.asyncDispose]()
  })

  const ask = (count: number, id: string, parameters = {}) => ({
    model_name: 'stream', id, parameters, inputs: [{ name: 'IN', datatype: 'INT32', shape: [1] }], raw_input_contents: [Buffer.from(Int32Array.of(count).buffer)],
  })
  const brief = ({ error_message: error, infer_response: response }: GrpcStreamReply) => {
    const parameters = response?.['parameters'] as Record<string, { bool_param: boolean }> | undefined
    return [response?.['id'], error === '' ? (response?.['raw_output_contents'] as Buffer[] | undefined)?.[0]?.readInt32LE(0) ?? null : error, parameters?.['triton_final_response']?.bool_param]
  }

  it('streams through gRPC, with a final answer where that is wanted', async () => {
    const replies = await client.stream().send(ask(3, 'a', { triton_enable_empty_final_response: { bool_param: true } })).halfClose().rest()
    expect(replies.map(brief)).toEqual([['a', 0, false], ['a', 1, false], ['a', 2, false], ['a', null, true]])
    const two = await client.stream().send(ask(2, 'b'), ask(2, 'c')).halfClose().rest()
    expect(two.map(brief).map(([id, value]) => [id, value]).toSorted()).toEqual([['b', 0], ['b', 1], ['c', 0], ['c', 1]])
  })

  it('streams through generate_stream as events', async () => {
    const { status, headers, text } = await new HttpClient(served.server.httpPort).send({ path: '/v2/models/stream/generate_stream', body: '{"IN": 3}' })
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/event-stream')])
    const events = text.trim().split('\n\n').map((event) => JSON.parse(event.replace(/^data: /, '')) as Record<string, unknown>)
    expect(events.map((event) => event['OUT'])).toEqual([0, 1, 2])
    expect(events[0]).toMatchObject({ model_name: 'stream', model_version: '1' })
  })

  it('hears that its client went away', async () => {
    const stream = client.stream().send(ask(-1, 'endless'))
    expect((await stream.take(3)).map(brief).map(([, value]) => value)).toEqual([0, 1, 2])
    stream.cancel()
    await expect.poll(() => existsSync(join(served.repository.path, 'stream/1/cancelled')), { timeout: 60_000 }).toBe(true)
  })

  it('that dies fails its streams with the text for that, and streams again', async () => {
    const replies = (await client.stream().send(ask(1000, 'dying')).halfClose().rest()).map(brief)
    expect(replies.at(-1)?.[1]).toBe("Failed to process the request(s) for model instance 'stream_0', message: Stub process 'stream_0' is not healthy.")
    expect(replies.slice(0, -1).map(([, value]) => value)).toEqual([0, 1, 2])
    // Waits for the next process.
    expect((await client.stream().send(ask(1, 'after')).halfClose().rest()).map(brief).map(([, value]) => value)).toEqual([0])
  })

  it('ends with a server that ends in order, as does what models started', async () => {
    expect(served.living).toEqual(served.processes)
    expect(await served.server.stop()).toBe(0)
    await served.expectNothingLeft()
  })
})

describe('a server with a request that never ends', () => {
  it('ends at the exit timeout with code 1, and leaves nothing', async () => {
    await using served = await Served.start('--exit-timeout-secs=1')
    await served.hang()
    expect(await served.server.stop()).toBe(1)
    await served.expectNothingLeft()
  }, 180_000)

  it('leaves nothing when it crashes', async () => {
    await using served = await Served.start()
    await served.hang()
    served.server.kill('SIGSEGV')
    expect(await served.server.exited).toBeNull()
    await served.expectNothingLeft()
  }, 180_000)
})
