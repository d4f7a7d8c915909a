/** The templates of Python models: each loads as it is where its libraries are, and says what is missing elsewhere. Needs the native build. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importCommand } from '../cli/repository-commands.ts'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { checkModelCode } from '../model-code/check-model-code.ts'
import { findModelCode } from '../model-repository/model-code-files.ts'
import { listTemplates } from '../model-repository/model-templates.ts'
import { testInterpreter } from '../testing/python-models.ts'
import { addModel, onnxModel } from '../testing/onnx-fixture.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

const MEMBER = `backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
`
let simulated: SimulatedOm
let repository: TemporaryRepository
let test: TestServer

beforeAll(async () => {
  simulated = await SimulatedOm.start()
  repository = await TemporaryRepository.create({ 'member/config.pbtxt': MEMBER, 'member/1/keep': '' })
  for (const { name } of await listTemplates(ASSETS_DIRECTORY)) await importCommand([`--template=${name}`, `--model-repository=${repository.path}`], () => {})
  // Python processes take the environment of the server: that of the simulated cards.
  Object.assign(process.env, { NPU_SIMULATOR_SETTINGS: simulated.npu.environment['NPU_SIMULATOR_SETTINGS'] })
  test = createTestServer([repository.path], { backendConfig: { python: { interpreter: testInterpreter(), 'cann-library-directory': simulated.npu.cann.libraryDirectory } } })
  await test.server.start()
}, 120_000)

afterAll(async () => {
  delete process.env['NPU_SIMULATOR_SETTINGS']
  await test[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
  await simulated[Symbol.asyncDispose]()
})

const textOf = (promise: Promise<unknown>) => promise.then(() => 'no error', (error: unknown) => (error as Error).message)

describe('templates of Python models', () => {
  it('are described in both languages, and nothing is said about their code', async () => {
    const templates = await listTemplates(ASSETS_DIRECTORY)
    expect(templates.map(({ name }) => name).sort()).toEqual(readdirSync(join(ASSETS_DIRECTORY, 'model-templates'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name).sort())
    for (const { name, title, summary, modules } of templates) {
      expect(title['zh-CN'] + summary['zh-CN']).toMatch(/[\u4e00-\u9fff]/)
      expect([title.en, summary.en].every((text) => text.length > 10)).toBe(true)
      expect(modules).toContain('numpy')
      const [file] = await findModelCode(join(repository.path, name))
      if (file === undefined) throw new Error(`no model.py of ${name}`)
      expect(checkModelCode(readFileSync(file.path, 'utf8'), file.context)).toEqual([])
    }
  })

  it('numpy_processing loads, and prepares an image', async () => {
    await test.server.loadModel('numpy_processing')
    const image = { name: 'IMAGE', datatype: 'UINT8' as const, shape: [2, 2, 3], data: new Uint8Array(12).fill(255) }
    const { response: { outputs: [pixels] } } = await test.server.infer(requestOf('numpy_processing', [image]))
    expect(pixels?.shape).toEqual([1, 3, 224, 224])
    expect(floatsOf(pixels)[0]).toBeCloseTo((1 - 0.485) / 0.229, 5)
    const empty = { ...image, shape: [0, 2, 3], data: new Uint8Array(0) }
    expect(await textOf(test.server.infer(requestOf('numpy_processing', [empty])))).toContain('the image is empty')
  })

  it('bls_pipeline loads, says which model it waits for, and answers through it', async () => {
    await test.server.loadModel('bls_pipeline')
    const ask = () => test.server.infer(requestOf('bls_pipeline', [fp32('INPUT', [3], [1, -4, 2])]))
    expect(await textOf(ask())).toMatch(/the model 'member' of this pipeline did not answer: .*Load it, or name another with the parameter member/)
    await test.server.loadModel('member')
    expect(floatsOf((await ask()).response.outputs[0])).toEqual([0.25, -1, 0.5])
  })

  it('om_ais_bench says that its .om file is missing, and runs it on the card once it is there', async () => {
    const missing = await textOf(test.server.loadModel('om_ais_bench'))
    expect(missing).toContain(`there is no ${join(repository.path, 'om_ais_bench/1/model.om')}: make it (atc --framework=5`)
    copyFileSync(await simulated.compile('add', addModel(3), ['--input_shape=A:2,3;B:2,3']), join(repository.path, 'om_ais_bench/1/model.om'))
    expect(await textOf(test.server.loadModel('om_ais_bench'))).toContain('config.pbtxt has 1 inputs and model.om has 2: describe them all, in the order of the file')
    const relu = onnxModel({ inputs: [{ name: 'x', type: 'FP32', shape: [2, 3] }], outputs: [{ name: 'y', type: 'FP32', shape: [2, 3] }], nodes: [{ operator: 'Relu', inputs: ['x'], outputs: ['y'] }] })
    copyFileSync(await simulated.compile('one', relu, ['--input_shape=x:2,3']), join(repository.path, 'om_ais_bench/1/model.om'))
    await test.server.loadModel('om_ais_bench')
    expect(floatsOf((await test.server.infer(requestOf('om_ais_bench', [fp32('INPUT', [2, 3], [1, -2, 3, -4, 5, -6])]))).response.outputs[0])).toEqual([1, 0, 3, 0, 5, 0])
  })

  it.each(['torch_npu', 'torchair'])('%s says which module is missing, and where to install it', async (name) => {
    const text = await textOf(test.server.loadModel(name))
    expect(text).toContain("No module named 'torch'")
    expect(text).toMatch(/which cannot import 'torch'\. Install it there \(.* -m pip install torch\)/)
  })
})
