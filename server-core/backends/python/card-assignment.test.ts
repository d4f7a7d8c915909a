import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelConfig } from '../../contract/model-config.ts'
import { addModel } from '../../testing/onnx-fixture.ts'
import { PYTHON_CONFIG, pythonModel, testInterpreter } from '../../testing/python-models.ts'
import { serveRepository } from '../../testing/served-repository.ts'
import { SimulatedOm } from '../../testing/simulated-om.ts'
import { floatsOf, fp32, requestOf } from '../../testing/test-server.ts'
import { CardAssignment } from './card-assignment.ts'

const read = (cards: string, environment: NodeJS.ProcessEnv = {}) =>
  CardAssignment.read({ name: 'm', parameters: cards === '' ? {} : { device_ids: { string_value: cards } } } as unknown as ModelConfig, environment)

describe('the cards of a Python model', () => {
  it('go round its instances, and an instance keeps its own', () => {
    const cards = read('2, 0')
    expect(['m_0', 'm_1', 'm_2', 'm_1', 'm_3'].map((instance) => cards?.cardOf(instance))).toEqual([2, 0, 2, 0, 0])
    expect(read('')).toBeNull()
  })

  it('are checked against what CANN shows this process', () => {
    expect(() => read('0,x')).toThrow('parameter device_ids of model \'m\' is a list of card numbers such as "2" or "2,3", not "0,x"')
    expect(() => read('1,0,1')).toThrow('names card 1 twice: "1,0,1"')
    expect(() => read('0,1', { ASCEND_RT_VISIBLE_DEVICES: '3' })).toThrow("parameter device_ids of model 'm' names card 1, and ASCEND_RT_VISIBLE_DEVICES=3 leaves 1 (numbered from 0). Change one of them; npu-console doctor lists the cards")
    expect(read('0,1', { ASCEND_RT_VISIBLE_DEVICES: '2,3' })?.cardOf('m_0')).toBe(0)
  })

  it('are in the args of initialize: an .om file runs on the card of each instance', async () => {
    await using om = await SimulatedOm.start()
    const path = await om.compile('add', addModel(2), ['--input_shape=A:1,2;B:1,2'])
    const code = pythonModel(`
def initialize(self, args):
    from ais_bench.infer.interface import InferSession
    self.device = int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else -1
    self.session = InferSession(self.device, os.path.join(pb_utils.get_model_dir(), "add.om"))
def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.concatenate([np.asarray(self.session.infer([x, x])[0], np.float32), [[self.device]]], 1, dtype=np.float32))]) for x in (np.array(request.inputs()[0].as_numpy()) for request in requests)]
def finalize(self):
    self.session.free_resource()`)
    await using served = await serveRepository({
      'm/1/model.py': code, 'm/config.pbtxt': `${PYTHON_CONFIG}instance_group [ { count: 2 } ] parameters { key: "device_ids" value { string_value: "0,1" } }`,
    }, { modelControlMode: 'explicit', npu: 'simulated', npuSimulatedTimeScale: 0, backendConfig: { python: { interpreter: testInterpreter() } } })
    mkdirSync(join(served.repository.path, 'm/1'), { recursive: true })
    cpSync(path, join(served.repository.path, 'm/1/add.om'))
    const { server } = served.running
    await server.loadModel('m')
    const cards = new Set<number | undefined>()
    const ask = async () => {
      const [a, b, card] = floatsOf((await server.infer(requestOf('m', [fp32('IN', [1, 2], [1.5, 4])]))).response.outputs[0])
      expect([a, b]).toEqual([3, 8])
      cards.add(card)
    }
    await expect.poll(async () => {
      await Promise.all([ask(), ask()])
      return [...cards].sort()
    }, { timeout: 60_000 }).toEqual([0, 1])
  }, 120_000)
})
