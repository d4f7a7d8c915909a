/** om-passport asked about files of the simulated atc, and the configs made from its answers. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMPTY_CONFIG_CONTEXT, type ConfigContext } from '../contract/config-language.ts'
import { addModel, onnxModel } from '../testing/onnx-fixture.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { checkConfig } from './check-config.ts'
import { readConfigContext } from './config-context.ts'
import { generateConfigFromFile } from './generate-from-file.ts'
import { generateOmConfig, omFile } from './om-config.ts'
import { omReader, type OmPassport } from './om-passport.ts'
import { readModelConfig } from './read-config.ts'

let simulated: SimulatedOm
beforeAll(async () => { simulated = await SimulatedOm.start() })
afterAll(async () => { await simulated[Symbol.asyncDispose]() })

const IMAGE = onnxModel({
  inputs: [{ name: 'x', type: 'FP32', shape: [1, 3, 'h', 'w'] }], outputs: [{ name: 'y', type: 'FP32', shape: [1, 3, 'h', 'w'] }], nodes: [{ operator: 'Relu', inputs: ['x'], outputs: ['y'] }],
})
const SHAPES = '--input_shape=A:-1,3;B:-1,3'

describe('om-passport', () => {
  it('reads tensors, chip and sizes of a static file', async () => {
    const passport = await simulated.readOm(await simulated.compile('static', addModel(3), ['--input_shape=A:2,3;B:2,3']))
    expect(passport).toMatchObject({ chips: ['Ascend310P3'], isSimulated: true, graph: 'static', gearKind: 'none', gears: [] })
    expect(passport.inputs).toEqual([{ name: 'A', datatype: 'FP32', aclDatatype: 0, dims: [2, 3] }, { name: 'B', datatype: 'FP32', aclDatatype: 0, dims: [2, 3] }])
    expect(passport.outputs.map(({ name, dims }) => [name, dims])).toEqual([['SUM', [2, 3]]])
    expect(passport.weightBytes).toBeGreaterThan(0)
  })

  it('reads the gears of each kind, and that a file has none', async () => {
    const batch = await simulated.readOm(await simulated.compile('batch', addModel(3), [SHAPES, '--dynamic_batch_size=1,2,8']))
    expect([batch.gearKind, batch.gears.map(({ text }) => text)]).toEqual(['batch', ['1', '2', '8']])
    const image = await simulated.readOm(await simulated.compile('image', IMAGE, ['--input_shape=x:1,3,-1,-1', '--input_format=NCHW', '--dynamic_image_size=32,32;64,48']))
    expect([image.gearKind, image.gears.map(({ inputs }) => inputs[0])]).toEqual(['image', [[1, 3, 32, 32], [1, 3, 64, 48]]])
    const dims = await simulated.readOm(await simulated.compile('dims', IMAGE, ['--input_shape=x:1,3,-1,-1', '--input_format=ND', '--dynamic_dims=16,16;16,32']))
    expect([dims.gearKind, dims.gears.length]).toEqual(['dims', 2])
    expect(await simulated.readOm(await simulated.compile('free', addModel(3), [SHAPES]))).toMatchObject({ graph: 'dynamic', gears: [] })
  })

  it('tells apart what is wrong: no CANN, no file, no .om file, a file that CANN refuses, no build', async () => {
    const path = await simulated.compile('wrong', addModel(3), ['--input_shape=A:1,3;B:1,3'])
    await expect(omReader({ cannLibraryDirectory: simulated.directory })(path)).rejects.toMatchObject({ kind: 'UNSUPPORTED', message: expect.stringContaining('only CANN can say') as string })
    await expect(simulated.readOm(join(simulated.directory, 'none.om'))).rejects.toThrow('cannot be read')
    await expect(simulated.readOm(join(simulated.directory, 'wrong.onnx'))).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining('does not begin with IMOD') as string })
    const foreign = join(simulated.directory, 'foreign.om')
    writeFileSync(foreign, Buffer.concat([Buffer.from('IMOD'), Buffer.alloc(300)]))
    await expect(simulated.readOm(foreign)).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringContaining(`reading ${foreign}`) as string })
    await expect(omReader({ command: join(simulated.directory, 'om-passport') })(path)).rejects.toMatchObject({ kind: 'UNSUPPORTED', message: expect.stringContaining('not built') as string })
  })
})

describe('a config from an .om file', () => {
  it('batches by the gears', async () => {
    const path = await simulated.compile('gears', addModel(3), [SHAPES, '--dynamic_batch_size=1,2,4,8'])
    const text = await generateConfigFromFile(path, 'npu_om', { readOm: simulated.readOm })
    expect(text).toContain('# Compiled for Ascend310P3 by the simulated atc: only simulated cards run it.\n# Gears: 1; 2; 4; 8.\ninput [')
    expect(readModelConfig(text, '')).toMatchObject({
      backend: 'npu_om', max_batch_size: 8, input: [{ name: 'A', data_type: 'TYPE_FP32', dims: [3] }, { name: 'B', dims: [3] }], output: [{ name: 'SUM', dims: [3] }],
      dynamic_batching: { preferred_batch_size: [2, 4, 8] },
    })
  })

  it('writes the whole shape where the batch is fixed, and leaves open how outputs follow the size of an image', async () => {
    const fixed = readModelConfig(await generateConfigFromFile(await simulated.compile('fixed', addModel(3), ['--input_shape=A:2,3;B:2,3']), 'npu_om', simulated), '')
    expect(fixed).toMatchObject({ max_batch_size: 0, input: [{ dims: [2, 3] }, { dims: [2, 3] }], output: [{ dims: [2, 3] }] })
    const path = await simulated.compile('sizes', IMAGE, ['--input_shape=x:1,3,-1,-1', '--input_format=NCHW', '--dynamic_image_size=32,32;64,48'])
    const text = await generateConfigFromFile(path, 'npu_om', simulated)
    expect(readModelConfig(text, '')).toMatchObject({ max_batch_size: 0, input: [{ dims: [1, 3, -1, -1] }], output: [{ dims: [-1, -1, -1, -1] }] })
    expect(text).toContain('# How the outputs follow the gears is known only of the loaded model')
  })

  it('is accepted by the rules that hold configs against the file, as found in the model\'s folder', async () => {
    const model = join(simulated.directory, 'repository', 'm')
    mkdirSync(join(model, '1'), { recursive: true })
    copyFileSync(await simulated.compile('folder', addModel(3), [SHAPES, '--dynamic_batch_size=1,4']), join(model, '1', 'model.om'))
    const context: ConfigContext = await readConfigContext(model, simulated)
    expect(context.versions[0]?.om).toMatchObject({ graph: 'gears', batchSizes: [1, 4] })
    const text = await generateConfigFromFile(join(model, '1', 'model.om'), 'npu_om', simulated)
    expect(checkConfig(text, context)).toEqual([])
    expect(checkConfig(text.replace('max_batch_size: 4', 'max_batch_size: 5'), context).map(({ code }) => code)).toContain('om-batch-over-gears')
    expect(checkConfig(text, EMPTY_CONFIG_CONTEXT).filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it('refuses a tensor type that the protocol does not know', () => {
    const odd = { name: 'x', datatype: '', aclDatatype: 29, dims: [1] }
    const passport: OmPassport = { bytes: 1, chips: [], cann: '', isSimulated: false, graph: 'static', gearKind: 'none', gears: [], inputs: [odd], outputs: [], workspaceBytes: 0, weightBytes: 0 }
    expect(() => generateOmConfig(passport, 'a.om', '')).toThrow("'a.om' cannot be served: its tensor 'x' has the ACL data type 29")
    const gears = [{ text: '1', inputs: [[1, 2]] }, { text: '2', inputs: [[2, 2]] }]
    expect(omFile({ ...passport, graph: 'gears', gears, inputs: [{ ...odd, dims: [-1, 2] }], outputs: [{ ...odd, dims: [7] }] })).toMatchObject({ batchSizes: null, outputs: [{ shape: [-1] }] })
  })
})
