import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { addModel, onnxModel } from '../testing/onnx-fixture.ts'
import { checkConfig } from './check-config.ts'
import { omReader } from './om-passport.ts'
import { generateConfigFromFile } from './generate-from-file.ts'
import { bytesField, fieldHeader, graphField, integerField, onnxModel as modelWithInitializers, valueInfo } from './test-onnx.ts'

let directory: string
beforeAll(async () => { directory = await mkdtemp(join(tmpdir(), 'generate-')) })
afterAll(async () => { await rm(directory, { recursive: true, force: true }) })

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(directory, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  return path
}

const PYTHON_HEAD = 'import triton_python_backend_utils as pb_utils\n'

function pythonModel(complete: string, execute = 'pass'): string {
  return `${PYTHON_HEAD}class TritonPythonModel:
    @staticmethod
    def auto_complete_config(auto_complete_model_config):
${complete.split('\n').map((line) => `        ${line}`).join('\n')}
    def initialize(self, args):
        raise RuntimeError("initialize was called")
    def execute(self, requests):
        ${execute}
`
}

describe('a config from an ONNX file', () => {
  it('has the fewest fields, for the backend asked for', async () => {
    const path = await file('add/1/model.onnx', addModel(3))
    const text = await generateConfigFromFile(path, 'onnxruntime')
    expect(text).toBe(`backend: "onnxruntime"
max_batch_size: 4

input [
  {
    name: "A"
    data_type: TYPE_FP32
    dims: [ 3 ]
  },
  {
    name: "B"
    data_type: TYPE_FP32
    dims: [ 3 ]
  }
]

output [
  {
    name: "SUM"
    data_type: TYPE_FP32
    dims: [ 3 ]
  }
]

# Requests that arrive together run together, up to max_batch_size.
dynamic_batching { }
`)
    expect(await generateConfigFromFile(path, 'npu_ge')).toBe(text.replace('onnxruntime', 'npu_ge'))
  })

  it('leaves max_batch_size out where the model cannot batch', async () => {
    const fixed = onnxModel({ inputs: [{ name: 'X', type: 'FP16', shape: [1, 3] }], outputs: [{ name: 'Y', type: 'INT64', shape: [1] }], nodes: [] })
    expect(await generateConfigFromFile(await file('fixed.onnx', fixed), 'onnxruntime')).not.toContain('max_batch_size')
  })

  it('names a file in a version folder that the backend would not find', async () => {
    expect(await generateConfigFromFile(await file('m/1/resnet.onnx', addModel()), 'onnxruntime')).toContain('backend: "onnxruntime"\ndefault_model_filename: "resnet.onnx"\n')
    expect(await generateConfigFromFile(await file('m/resnet.onnx', addModel()), 'onnxruntime')).not.toContain('default_model_filename')
  })

  it('reads a model whose weights lie in other files', async () => {
    const weight = Buffer.concat([bytesField(8, 'W'), bytesField(13, bytesField(1, 'location'), bytesField(2, 'weights.bin')), integerField(14, 1)])
    const model = modelWithInitializers({ inputs: [valueInfo('X', 1, ['n', 4]), valueInfo('W', 1, [4])], outputs: [valueInfo('Y', 1, ['n', 4])], initializers: [weight] })
    const text = await generateConfigFromFile(await file('external.onnx', model), 'onnxruntime')
    expect(text).toContain('name: "X"')
    expect(text).not.toContain('name: "W"')
  })

  it('reads a model of more than 2 GB without its weights', async () => {
    const path = join(directory, 'large.onnx')
    const weightBytes = 2 ** 31 + 4096
    const tail = [bytesField(11, valueInfo('X', 1, ['n', 4])), bytesField(12, valueInfo('Y', 1, ['n', 2]))]
    const name = bytesField(8, 'W')
    const dataHeader = fieldHeader(9, weightBytes)
    const tensorHeader = fieldHeader(5, name.length + dataHeader.length + weightBytes)
    const graphBytes = tensorHeader.length + name.length + dataHeader.length + weightBytes + tail.reduce((sum, part) => sum + part.length, 0)
    const head = Buffer.concat([integerField(1, 8), fieldHeader(7, graphBytes), tensorHeader, name, dataHeader])
    {
      await using handle = await open(path, 'w')
      await handle.write(head, 0, head.length, 0)
      await handle.write(Buffer.concat([...tail, bytesField(8, integerField(2, 17))]), 0, undefined, head.length + weightBytes) // a hole: no block is written
    }
    expect(await generateConfigFromFile(path, 'onnxruntime')).toMatch(/name: "X"[^]*name: "Y"[^]*dims: \[ 2 \]/)
  })

  it('refuses what the backend cannot take', async () => {
    const complex = graphField({ inputs: [valueInfo('X', 14, [2])], outputs: [] })
    await expect(generateConfigFromFile(await file('complex.onnx', Buffer.concat([integerField(1, 8), complex])), 'onnxruntime')).rejects.toThrow("'X' has the element type COMPLEX64")
    await expect(generateConfigFromFile(await file('x.om', 'IMOD'), 'npu_om', { readOm: omReader({ cannLibraryDirectory: directory }) })).rejects.toMatchObject({ kind: 'UNSUPPORTED' })
    await expect(generateConfigFromFile(await file('a.onnx', addModel()), 'python')).rejects.toThrow("The backend 'python' takes .py files, and 'a.onnx' is none.")
    await expect(generateConfigFromFile(await file('b.onnx', addModel()), 'tensorrt')).rejects.toThrow('Possible: onnxruntime, npu_ge, npu_om, python')
    await expect(generateConfigFromFile(join(directory, 'none.onnx'), 'onnxruntime')).rejects.toMatchObject({ kind: 'NOT_FOUND' })
    await expect(generateConfigFromFile(await file('broken.onnx', 'hello'), 'onnxruntime')).rejects.toMatchObject({ kind: 'INVALID_ARG' })
  })
})

describe('a config from a model.py', () => {
  it('says what auto_complete_config sets, and calls nothing else', async () => {
    const complete = `auto_complete_model_config.add_input({"name": "TEXT", "data_type": "TYPE_STRING", "dims": [-1], "optional": True})
auto_complete_model_config.add_input({"name": "N", "data_type": "TYPE_INT32", "dims": (1,)})
auto_complete_model_config.add_output({"name": "OUT", "data_type": "TYPE_FP32", "dims": [2, 3]})
auto_complete_model_config.set_max_batch_size(16)
auto_complete_model_config.set_dynamic_batching()
auto_complete_model_config.set_model_transaction_policy({"decoupled": True})
print("this is no result")
return auto_complete_model_config`
    const path = await file('py/1/model.py', `import numpy as np\nimport a_module_that_is_not_here.inner as inner\nfrom an_other import Base\nclass Mine(Base): pass\nTABLE = np.zeros(3)\n${pythonModel(complete)}`)
    const text = await generateConfigFromFile(path, 'python')
    expect(text).toBe(`backend: "python"
max_batch_size: 16

input [
  {
    name: "TEXT"
    data_type: TYPE_STRING
    dims: [ -1 ]
    optional: true
  },
  {
    name: "N"
    data_type: TYPE_INT32
    dims: [ 1 ]
  }
]

output [
  {
    name: "OUT"
    data_type: TYPE_FP32
    dims: [ 2, 3 ]
  }
]

# Requests that arrive together run together, up to max_batch_size.
dynamic_batching { }

model_transaction_policy { decoupled: true }
`)
    expect(checkConfig(text, EMPTY_CONFIG_CONTEXT).filter(({ severity }) => severity === 'error')).toEqual([])
    expect(await readdir(dirname(path))).toEqual(['model.py'])
  })

  it('finds the names that the code asks for where nothing is declared', async () => {
    const source = `${PYTHON_HEAD}class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            # pb_utils.get_input_tensor_by_name(request, "OLD")
            a = pb_utils.get_input_tensor_by_name(request, "IMAGE")
            b = pb_utils.get_input_tensor_by_name(
                requests[0], 'SIZE')
            out = pb_utils.Tensor("SCORE", a.as_numpy())
`
    const text = await generateConfigFromFile(await file('names/1/model.py', source), 'python')
    expect([...text.matchAll(/name: "(\w+)"/g)].map((match) => match[1])).toEqual(['IMAGE', 'SIZE', 'SCORE'])
    expect(text).toContain('# Only the names are known (model.py has no auto_complete_config):\n# put in the data_type and dims of each tensor.')
  })

  it('tells of an input that the code asks for and nothing declares', async () => {
    const complete = 'auto_complete_model_config.add_output({"name": "O", "data_type": "TYPE_FP32", "dims": [1]})\nreturn auto_complete_model_config'
    const text = await generateConfigFromFile(await file('half/1/model.py', pythonModel(complete, 'pb_utils.get_input_tensor_by_name(requests[0], "I")')), 'python')
    expect(text).toContain('# model.py also asks for "I", which its auto_complete_config does not declare.')
  })

  it("refuses with Python's and Triton's own words", async () => {
    const refused = async (name: string, source: string): Promise<string> =>
      generateConfigFromFile(await file(`${name}/1/model.py`, source), 'python').then(() => 'accepted', (error: Error) => error.message)
    expect(await refused('syntax', 'class :')).toContain('SyntaxError')
    expect(await refused('empty', '')).toContain("AttributeError: module 'model' has no attribute 'TritonPythonModel'")
    expect(await refused('raises', pythonModel('raise RuntimeError("no weights")'))).toContain('RuntimeError: no weights')
    expect(await refused('returns', pythonModel('return None'))).toContain("auto_complete_config function in model 'returns' must return a valid pb.ModelConfig object.")
    expect(await refused('keys', pythonModel('auto_complete_model_config.add_input({"name": "A", "dims": [1]})'))).toContain(
      "input 'A' in auto-complete-config function for model 'keys' is missing 'data_type' property.")
    expect(await refused('type', pythonModel('auto_complete_model_config.add_input({"name": "A", "data_type": "FP32", "dims": [1]})\nreturn auto_complete_model_config'))).toContain('the data_type "FP32", which is none')
    expect(await refused('dies', 'import os\nos._exit(3)')).toContain('ended before it described itself')
    expect(await refused('silent', pythonModel('return auto_complete_model_config'))).toContain('does not say which tensors it has')
  })

  it('does not wait for a file that never ends', async () => {
    const path = await file('slow/1/model.py', 'import subprocess\nsubprocess.run(["sleep", "60"])')
    const started = Date.now()
    await expect(generateConfigFromFile(path, 'python', { timeoutMilliseconds: 300 })).rejects.toThrow('did not describe itself within 0.3 s')
    expect(Date.now() - started).toBeLessThan(10_000)
  })

  it("leaves Python's own modules as they are: they look for those of other systems", async () => {
    const path = await file('own/1/model.py', `import subprocess\nsubprocess.run(["true"], check=True)\n${PYTHON_HEAD}class TritonPythonModel:\n    def execute(self, requests): pb_utils.get_input_tensor_by_name(requests[0], "X")`)
    expect(await generateConfigFromFile(path, 'python')).toContain('name: "X"')
  })

  it('does without Python, by the names in the code', async () => {
    const path = await file('bare/1/model.py', `${PYTHON_HEAD}pb_utils.get_input_tensor_by_name(r, "X")`)
    expect(await generateConfigFromFile(path, 'python', { pythonPath: '/nowhere/python3' })).toContain('(there is no python3 here to ask auto_complete_config)')
  })
})
