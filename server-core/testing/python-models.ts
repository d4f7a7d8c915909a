/** Python models for tests, and an interpreter that has numpy. */
import { spawnSync } from 'node:child_process'
import type { InferenceRequest } from '../contract/inference.ts'
import { createTestServer, requestOf, type TestServer } from './test-server.ts'
import { TemporaryRepository } from './temporary-repository.ts'

/** `PYTHON` of the environment, which `npm test` sets, or where one is found. @throws Error where none has numpy */
export function testInterpreter(): string {
  return interpreter ??= findInterpreter()
}

let interpreter: string | null = null

function findInterpreter(): string {
  const candidates = [process.env['PYTHON'] ?? '', 'python3', '/usr/bin/python3'].filter((path) => path !== '')
  const found = candidates.find((path) => spawnSync(path, ['-c', 'import numpy'], { stdio: 'ignore' }).status === 0)
  if (found === undefined) throw new Error(`none of ${candidates.join(', ')} can import numpy: install python3 and python3-numpy`)
  return found
}

/** A config with one FP32 input IN and one FP32 output OUT of any length, in batches. */
export const PYTHON_CONFIG = `backend: "python"
max_batch_size: 8
input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]
`

/** A model.py whose class has these methods, indented by nothing. */
export function pythonModel(methods: string, head = ''): string {
  const body = methods.trim().split('\n').map((line) => `    ${line}`).join('\n')
  return `import triton_python_backend_utils as pb_utils\nimport numpy as np\nimport os, sys, time, json, threading, asyncio\n${head}\n\nclass TritonPythonModel:\n${body}\n`
}

/** Answers each request with the result of a Python expression of `x`, its input as numpy array. */
export function answering(expression: string): string {
  return pythonModel(`
def execute(self, requests):
    responses = []
    for request in requests:
        x = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", ${expression})]))
    return responses`)
}

export interface PythonServer extends TestServer {
  readonly repository: TemporaryRepository
}

/** A server with models of these names, a config or none, and a model.py each, all loaded. */
export async function pythonServer(
  models: Readonly<Record<string, { readonly code: string; readonly config?: string; readonly files?: Readonly<Record<string, string>> }>>,
  options: { readonly load?: readonly string[]; readonly backendConfig?: Readonly<Record<string, string>> } = {},
): Promise<PythonServer> {
  const files = Object.entries(models).flatMap(([name, { code, config = PYTHON_CONFIG, files: more = {} }]) => [
    [`${name}/1/model.py`, code], ...(config === '' ? [] : [[`${name}/config.pbtxt`, config]]), ...Object.entries(more).map(([path, text]) => [`${name}/${path}`, text]),
  ])
  const repository = await TemporaryRepository.create(Object.fromEntries(files) as Record<string, string>)
  const test = createTestServer([repository.path], { backendConfig: { python: { interpreter: testInterpreter(), ...options.backendConfig } } })
  await test.server.start()
  const dispose = async () => {
    await test[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  }
  try {
    for (const name of options.load ?? Object.keys(models)) await test.server.loadModel(name)
  } catch (error) {
    await dispose()
    throw error
  }
  return { ...test, repository, [Symbol.asyncDispose]: dispose }
}

/** Of `RUNNER`. */
export const RUNNER_CONFIG = `backend: "python"
input [ { name: "CODE" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "RESULT" data_type: TYPE_STRING dims: [ 1 ] } ]
`
/** A model that runs the Python code that it is sent, and answers with the JSON of its `result`. */
export const RUNNER = pythonModel(`
def initialize(self, args):
    self.args = args
    try:
        pb_utils.InferenceRequest(model_name="double", requested_output_names=["OUT"], inputs=[]).exec()
    except pb_utils.TritonModelException as error:
        self.in_initialize = str(error)
    self.double_is_ready = pb_utils.is_model_ready("double")
def execute(self, requests):
    scope = {"pb_utils": pb_utils, "np": np, "json": json, "asyncio": asyncio, "self": self, "request": requests[0], "result": None, "time": time, "os": os}
    exec(requests[0].inputs()[0].as_numpy()[0].decode(), scope)
    return [pb_utils.InferenceResponse([pb_utils.Tensor("RESULT", np.array([json.dumps(scope["result"])], dtype=object))])]`)

/** What the code of `runPython` may use. */
const ASKING = `
def ask(model="double", value=3.0, names=("OUT",), **more):
    return pb_utils.InferenceRequest(model_name=model, requested_output_names=list(names), inputs=[pb_utils.Tensor("IN", np.array([[value]], np.float32))], **more)
def told(response):
    if response.has_error():
        return [response.error().code(), response.error().message()]
    return [tensor.as_numpy().tolist() for tensor in response.output_tensors()]
`

/** Runs Python code in a model made of `RUNNER`; `ask(model, value)` there makes a request, `told(response)` its values or its error. @returns what the code leaves in `result` */
export async function runPython(test: TestServer, model: string, code: string, more: Partial<InferenceRequest> = {}): Promise<unknown> {
  const text = Buffer.from(`${ASKING}\n${code}`)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  const { response } = await test.server.infer(requestOf(model, [{ name: 'CODE', datatype: 'BYTES', shape: [1], data: Buffer.concat([length, text]) }], more))
  return JSON.parse(Buffer.from(response.outputs[0]?.data ?? []).toString('utf8', 4)) as unknown
}
