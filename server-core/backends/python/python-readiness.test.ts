import { describe, expect, it } from 'vitest'
import { answering, PYTHON_CONFIG, testInterpreter } from '../../testing/python-models.ts'
import { serveRepository } from '../../testing/served-repository.ts'

/** Its readiness is what stands in a file of the version's folder. */
const MODEL = `${answering('x')}    def is_ready(self):
        self.count = getattr(self, "count", 0) + 1
        with open(os.path.join(pb_utils.get_model_dir(), "count"), "w") as file:
            file.write(str(self.count))
        with open(os.path.join(pb_utils.get_model_dir(), "ready")) as file:
            return eval(file.read())
`
const COROUTINE = `${answering('x')}    async def is_ready(self):
        await asyncio.sleep(0.001)
        return False
`

describe('is_ready of a Python model', () => {
  it('decides what clients hear, over HTTP and gRPC, of the model and of the server', async () => {
    await using served = await serveRepository({
      'm/1/model.py': MODEL, 'm/1/ready': 'True', 'm/config.pbtxt': PYTHON_CONFIG, 'plain/1/model.py': answering('x'), 'plain/config.pbtxt': PYTHON_CONFIG,
    }, { backendConfig: { python: { interpreter: testInterpreter() } } })
    const { http, grpc, repository } = served
    const heard = async (model: string) => [
      (await http.send({ path: `/v2/models/${model}/ready` })).status, (await http.send({ path: '/v2/health/ready' })).status,
      (await grpc.call('ModelReady', { name: model }))['ready'], (await grpc.call('ServerReady', {}))['ready'],
    ]
    expect(await heard('m')).toEqual([200, 200, true, true])
    await repository.write({ 'm/1/ready': 'False' })
    expect(await heard('m')).toEqual([400, 400, false, false])
    expect((await http.send({ path: '/v2/models/m/ready' })).text).toBe('{"error":"Model version not ready"}')
    expect(await heard('plain')).toEqual([200, 400, true, false])
    for (const answer of ['5', '1 / 0', 'time.sleep(20)']) {
      await repository.write({ 'm/1/ready': answer })
      expect((await http.send({ path: '/v2/models/m/ready' })).status).toBe(400)
    }
    expect(served.running.server.isModelReady('m', '')).toBe(true)
  }, 60_000)

  it('may be a coroutine, and is asked once for all who ask meanwhile', async () => {
    await using served = await serveRepository({
      'm/1/model.py': MODEL, 'm/1/ready': 'time.sleep(0.5) or True', 'm/config.pbtxt': PYTHON_CONFIG, 'later/1/model.py': COROUTINE, 'later/config.pbtxt': PYTHON_CONFIG,
    }, { backendConfig: { python: { interpreter: testInterpreter() } } })
    const { server } = served.running
    expect(await Promise.all(Array.from({ length: 5 }, () => server.askModelReady('m', '')))).toEqual([true, true, true, true, true])
    await served.repository.write({ 'm/1/ready': 'self.count == 2' })
    expect(await server.askModelReady('m', '')).toBe(true)
    expect(await server.askModelReady('later', '')).toBe(false)
  }, 60_000)
})
