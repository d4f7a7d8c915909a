/** What is said about a model.py, where, and that each fix applied makes Python that compiles and has nothing more to say about it. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import type { ConfigDiagnostic } from '../contract/config-language.ts'
import type { CodeContext } from '../contract/model-code.ts'
import { applyEdits } from '../model-config/config-edit.ts'
import { testInterpreter } from '../testing/python-models.ts'
import { ALL_CODE_RULES, applyPreferredCodeFixes, checkModelCode, EMPTY_CODE_CONTEXT } from './check-model-code.ts'

const HEAD = 'import os\nimport numpy as np\nimport triton_python_backend_utils as pb_utils\n'
const LOOP = `    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]))
        return responses
`
/** A model whose `initialize` has these lines. */
const initializing = (...lines: readonly string[]) => `${HEAD}from ais_bench.infer.interface import InferSession\nimport torch, torch_npu, acl

class TritonPythonModel:
    def initialize(self, args):
${lines.map((line) => `        ${line}\n`).join('')}
${LOOP}
    def finalize(self):
        self.session.free_resource()
`
/** A model with these methods, indented by nothing. */
const methods = (text: string) => `${HEAD}\nclass TritonPythonModel:\n${text.trim().split('\n').map((line) => (line === '' ? '' : `    ${line}`)).join('\n')}\n`

interface Case {
  readonly name: string
  readonly code: string
  readonly text: string
  /** What the finding is about; the first place of it in the text. */
  readonly at: string
  /** A line, or lines, of the text after its first fix; null: there is no fix. */
  readonly fixed: string | null
  readonly context?: Partial<CodeContext>
}

const CASES: readonly Case[] = [
  { name: 'a session on card 0', code: 'hard-coded-card', text: initializing('self.session = InferSession(0, "model.om")'), at: '0, "model.om"', fixed: 'self.session = InferSession(int(args["model_instance_device_id"]), "model.om")' },
  { name: 'a session on a named card', code: 'hard-coded-card', text: initializing('self.session = InferSession(device_id=3, model_path=self.path)'), at: '3, model_path', fixed: 'InferSession(device_id=int(args["model_instance_device_id"]), model_path=self.path)' },
  { name: 'a device by name', code: 'hard-coded-card', text: initializing('self.device = torch.device("npu:0")'), at: '"npu:0"', fixed: `torch.device(f"npu:{args['model_instance_device_id']}")` },
  { name: 'a device by name, other quotes', code: 'hard-coded-card', text: initializing("self.model.to('npu:1')"), at: "'npu:1'", fixed: `self.model.to(f'npu:{args["model_instance_device_id"]}')` },
  { name: 'the current card of torch', code: 'hard-coded-card', text: initializing('torch.npu.set_device(0)'), at: '0)', fixed: 'torch.npu.set_device(int(args["model_instance_device_id"]))' },
  { name: 'the current card of CANN', code: 'hard-coded-card', text: initializing('ret = acl.rt.set_device(0)'), at: '0)\n', fixed: 'acl.rt.set_device(int(args["model_instance_device_id"]))' },
  { name: 'a card id that is assigned', code: 'hard-coded-card', text: initializing('self.device_id = 0'), at: '0\n', fixed: 'self.device_id = int(args["model_instance_device_id"])' },
  { name: 'a card outside initialize', code: 'hard-coded-card', text: methods(`DEVICE = "npu:0"\n${LOOP}`), at: '"npu:0"', fixed: null },
  { name: 'initialize with another name of args', code: 'hard-coded-card', text: methods(`def initialize(self, parameters):\n    torch.npu.set_device("npu:0")\n${LOOP.replace(/^ {4}/gm, '')}`), at: '"npu:0"', fixed: `f"npu:{parameters['model_instance_device_id']}"` },
  { name: 'cards hidden', code: 'visible-devices-in-code', text: initializing('os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "1"', 'self.session = None'), at: 'os.environ', fixed: 'def initialize(self, args):\n        self.session = None' },
  { name: 'cards hidden as the only statement', code: 'visible-devices-in-code', text: initializing('os.environ.setdefault("ASCEND_RT_VISIBLE_DEVICES", "0")'), at: 'os.environ', fixed: 'def initialize(self, args):\n        pass\n' },
  { name: 'an absolute path', code: 'absolute-model-path', text: initializing('self.session = InferSession(self.card, "/home/me/ocr/model.om")'), at: '"/home', fixed: 'InferSession(self.card, os.path.join(args["model_repository"], args["model_version"], "model.om"))' },
  { name: 'an absolute path below a version', code: 'absolute-model-path', text: initializing('path = "/models/ocr/1/weights/rec.onnx"'), at: '"/models', fixed: 'path = os.path.join(args["model_repository"], args["model_version"], "weights", "rec.onnx")' },
  { name: 'a file of the model directory', code: 'absolute-model-path', text: initializing('keys = open("/models/ocr/keys.txt")'), at: '"/models', fixed: 'open(os.path.join(args["model_repository"], "keys.txt"))', context: { versionFiles: ['model.py'], modelFiles: ['config.pbtxt', 'keys.txt', '1'] } },
  { name: 'an absolute path outside initialize, without os', code: 'absolute-model-path', text: `# -*- coding: utf-8 -*-\n"""A model."""\nimport triton_python_backend_utils as pb_utils\n\nMODEL = '/data/a.pt'\n\n\nclass TritonPythonModel:\n${LOOP}`, at: "'/data", fixed: 'as pb_utils\nimport os\n\nMODEL = os.path.join(pb_utils.get_model_dir(), "a.pt")' },
  { name: 'no return', code: 'execute-returns-nothing', text: methods(LOOP.replace('        return responses\n', '').replace(/^ {4}/gm, '')), at: 'execute', fixed: '            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]))\n        return responses\n' },
  { name: 'one response', code: 'execute-returns-one-response', text: methods('def execute(self, requests):\n    x = pb_utils.get_input_tensor_by_name(requests[0], "IN")\n    return pb_utils.InferenceResponse([x])'), at: 'pb_utils.InferenceResponse', fixed: 'return [pb_utils.InferenceResponse([x])]' },
  { name: 'one response by name, in the loop', code: 'execute-returns-one-response', text: methods('def execute(self, requests):\n    for request in requests:\n        response = pb_utils.InferenceResponse(output_tensors=[])\n        return response'), at: 'response\n', fixed: null },
  { name: 'return indented into the loop', code: 'return-in-request-loop', text: methods(LOOP.replace('        return', '            return').replace(/^ {4}/gm, '')), at: 'return responses', fixed: '            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]))\n        return responses\n' },
  { name: 'append after the loop', code: 'append-after-request-loop', text: methods(LOOP.replace('            responses.append', '        responses.append').replace(/^ {4}/gm, '')), at: 'responses.append', fixed: '.as_numpy()\n            responses.append(' },
  { name: 'the first request only', code: 'only-first-request', text: methods('def execute(self, requests):\n    x = pb_utils.get_input_tensor_by_name(requests[0], "IN")\n    return [pb_utils.InferenceResponse([x])]'), at: 'requests[0]', fixed: null },
  { name: 'no finalize', code: 'nothing-freed', text: methods(`def initialize(self, args):\n    import ais_bench.infer.interface as ais\n    self.session = ais.InferSession(self.card, "model.om")\n\n${LOOP.replace(/^ {4}/gm, '')}`), at: 'self.session', fixed: '        return responses\n\n    def finalize(self):\n        self.session.free_resource()\n' },
  { name: 'a finalize that only prints', code: 'nothing-freed', text: methods(`def initialize(self, args):\n    self.det = InferSession(self.card, "det.om")\n${LOOP.replace(/^ {4}/gm, '')}def finalize(self):\n    print("bye")  # all\n`), at: 'self.det', fixed: 'print("bye")  # all\n        self.det.free_resource()\n' },
  { name: 'a finalize of one word', code: 'nothing-freed', text: methods(`def initialize(self, args):\n    self.s = [InferSession(self.card, p) for p in PATHS]\n${LOOP.replace(/^ {4}/gm, '')}def finalize(self): pass`), at: 'self.s', fixed: '    def finalize(self):\n        for session in self.s:\n            session.free_resource()\n' },
  { name: 'a finalize with nothing in it', code: 'nothing-freed', text: methods(`def initialize(self, args):\n    self.s = InferSession(self.card, "a.om")\ndef finalize(self):\n    # nothing to do\n    pass\n${LOOP.replace(/^ {4}/gm, '')}`), at: 'self.s', fixed: '        # nothing to do\n        self.s.free_resource()\n    def execute' },
  { name: 'no import', code: 'utils-not-imported', text: `import numpy as np\n\nclass TritonPythonModel:\n${LOOP}`, at: 'pb_utils', fixed: 'import numpy as np\nimport triton_python_backend_utils as pb_utils\n' },
  { name: 'no import, nor any other', code: 'utils-not-imported', text: `class TritonPythonModel:\n${LOOP}`, at: 'pb_utils', fixed: 'import triton_python_backend_utils as pb_utils\nclass' },
  { name: 'another class name', code: 'model-class-missing', text: `${HEAD}class MyModel:\n${LOOP}`, at: 'MyModel', fixed: 'class TritonPythonModel:' },
  { name: 'no execute', code: 'execute-missing', text: methods('def initialize(self, args):\n    pass'), at: 'TritonPythonModel', fixed: null },
  { name: 'execute without requests', code: 'method-signature', text: methods('def execute(requests):\n    return [pb_utils.InferenceResponse([]) for request in requests]'), at: '(requests)', fixed: 'def execute(self, requests):' },
  { name: 'initialize without args', code: 'method-signature', text: methods(`def initialize(self):\n    pass\n${LOOP.replace(/^ {4}/gm, '')}`), at: '(self)', fixed: 'def initialize(self, args):' },
  { name: 'finalize with args', code: 'method-signature', text: methods(`${LOOP.replace(/^ {4}/gm, '')}def finalize(self, args):\n    pass`), at: '(self, args)', fixed: null },
  { name: 'an array printed', code: 'prints-tensor', text: methods(LOOP.replace('            responses', '            print("x", x)\n            responses').replace(/^ {4}/gm, '')), at: 'print(', fixed: 'print("x", x.shape)' },
]

const context = (given: Partial<CodeContext> = {}): CodeContext => ({ ...EMPTY_CODE_CONTEXT, ...given })

/** Why Python cannot compile a text; '' where it can. One process for all. */
function compileErrors(texts: readonly string[]): string[] {
  const program = 'import json, sys\nout = []\nfor text in json.load(sys.stdin):\n    try:\n        compile(text.encode(), "model.py", "exec")\n        out.append("")\n    except SyntaxError as error:\n        out.append(str(error))\nprint(json.dumps(out))'
  const { stdout, stderr } = spawnSync(testInterpreter(), ['-c', program], { input: JSON.stringify(texts), encoding: 'utf8' })
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout) as string[]
}

const found = ({ code, text, context: given }: Case): ConfigDiagnostic | undefined => checkModelCode(text, context(given)).find((diagnostic) => diagnostic.code === code)

describe('what is wrong with a model.py', () => {
  it.each(CASES)('$code: $name', (one) => {
    const diagnostic = found(one)
    expect(diagnostic).toBeDefined()
    if (diagnostic === undefined) return
    expect(one.text.slice(diagnostic.offset)).toSatisfy((rest: string) => rest.startsWith(one.at))
    const before = one.text.slice(0, diagnostic.offset).split('\n')
    expect([diagnostic.line, diagnostic.column]).toEqual([before.length, (before.at(-1)?.length ?? 0) + 1])
    expect(diagnostic.message['zh-CN']).toMatch(/[\u4e00-\u9fff]/)
    expect(diagnostic.message.en).toMatch(/^[^\u4e00-\u9fff]+\.$/)
    const [fix] = diagnostic.fixes
    if (one.fixed === null) return expect(fix).toBeUndefined()
    const fixed = applyEdits(one.text, fix?.edits ?? [])
    expect(fixed).toContain(one.fixed)
    // The finding is gone, and no other one came.
    const left = checkModelCode(fixed, context(one.context)).map(({ code }) => code)
    expect(left).not.toContain(one.code)
    expect(left.filter((code) => !checkModelCode(one.text, context(one.context)).some((old) => old.code === code))).toEqual([])
  })

  it('has a case for every code, and a fix for most', () => {
    expect([...new Set(CASES.map(({ code }) => code))].sort()).toEqual(ALL_CODE_RULES.flatMap(({ codes }) => codes).sort())
  })

  it('is repaired to Python that compiles, with either line end', () => {
    const texts = CASES.flatMap((one) => [one.text, one.text.replaceAll('\n', '\r\n')].flatMap((text) => {
      const diagnostics = checkModelCode(text, context(one.context))
      return diagnostics.flatMap(({ fixes }) => fixes.map(({ edits }) => applyEdits(text, edits)))
    }))
    expect(texts.length).toBeGreaterThan(CASES.length)
    expect(compileErrors(texts).filter((error) => error !== '')).toEqual([])
    // No line got the other line end.
    expect(texts.filter((text) => text.includes('\r\n') && /[^\r]\n/.test(text))).toEqual([])
  })

  it('is found at one place once, sorted, and all of it repaired in turn', () => {
    const text = `class TritonPythonModel:
    def initialize(self):
        torch.npu.set_device("npu:0")
        self.session = InferSession(0, "/home/me/model.om")

    def execute(self, requests):
        responses = []
        for request in requests:
            image = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            print(image)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", self.session.infer([image])[0])]))
            return responses
`
    expect(checkModelCode(text, context()).map(({ code, line, column }) => `${code} ${line}:${column}`)).toEqual([
      'method-signature 2:19', 'hard-coded-card 3:30', 'nothing-freed 4:9', 'hard-coded-card 4:37', 'absolute-model-path 4:40', 'utils-not-imported 9:21', 'prints-tensor 10:13', 'return-in-request-loop 12:13',
    ])
    const repaired = applyPreferredCodeFixes(text, context({ versionFiles: ['model.py', 'model.om'], modelFiles: [] }))
    expect(repaired.diagnostics).toEqual([])
    expect(repaired.text).toBe(`import triton_python_backend_utils as pb_utils
import os
class TritonPythonModel:
    def initialize(self, args):
        torch.npu.set_device(f"npu:{args['model_instance_device_id']}")
        self.session = InferSession(int(args["model_instance_device_id"]), os.path.join(args["model_repository"], args["model_version"], "model.om"))

    def execute(self, requests):
        responses = []
        for request in requests:
            image = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            print(image.shape)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", self.session.infer([image])[0])]))
        return responses

    def finalize(self):
        self.session.free_resource()
`)
    expect(compileErrors([repaired.text])).toEqual([''])
  })
})

/** Ways in which published models are written, in texts of our own. */
const SOUND: Readonly<Record<string, string>> = {
  'add and subtract': `import json
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Every Python model must have this name."""

    def initialize(self, args):
        self.model_config = model_config = json.loads(args["model_config"])
        output0 = pb_utils.get_output_config_by_name(model_config, "OUTPUT0")
        self.output0_dtype = pb_utils.triton_string_to_numpy(output0["data_type"])

    def execute(self, requests):
        responses = []
        for request in requests:
            in_0 = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            out_0 = pb_utils.Tensor("OUTPUT0", (in_0.as_numpy() / 255.).astype(self.output0_dtype))
            responses.append(pb_utils.InferenceResponse(output_tensors=[out_0]))
        return responses

    def finalize(self):
        print("Cleaning up...")
`,
  'auto-complete, static': methods(`@staticmethod
def auto_complete_config(auto_complete_model_config):
    auto_complete_model_config.add_input({"name": "IN", "data_type": "TYPE_FP32", "dims": [4]})
    return auto_complete_model_config

def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", pb_utils.get_input_tensor_by_name(r, "IN").as_numpy())]) for r in requests]`),
  'calls of other models, asynchronous': methods(`async def execute(self, requests):
    responses = []
    for request in requests:
        calls = [pb_utils.InferenceRequest(model_name=name, requested_output_names=["OUT"], inputs=request.inputs()).async_exec() for name in ("a", "b")]
        for answer in await asyncio.gather(*calls):
            if answer.has_error():
                raise pb_utils.TritonModelException(answer.error().message())
        responses.append(pb_utils.InferenceResponse(output_tensors=[]))
    return responses`),
  'an error for one request': methods(`def execute(self, requests):
    responses = []
    for request in requests:
        x = pb_utils.get_input_tensor_by_name(request, "IN")
        if x is None:
            responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError("no IN", pb_utils.TritonError.INVALID_ARG)))
            continue
        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x.as_numpy())]))
    return responses`),
  'a batch that is computed at once': methods(`def execute(self, requests):
    images, counts = [], []
    for request in requests:
        image = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
        images.append(image)
        counts.append(len(image))
    results = np.split(self.run(np.concatenate(images)), np.cumsum(counts)[:-1])
    responses = []
    responses.extend(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", result)]) for result in results)
    return responses`),
  'decoupled, in a thread': methods(`def execute(self, requests):
    for request in requests:
        threading.Thread(target=self.answer, args=(request.get_response_sender(), request)).start()
    return None`),
  'decoupled, with its sender in another file': methods(`def execute(self, requests):
    for request in requests:
        self.worker.submit(request)`),
  'requests that are put off': methods(`def execute(self, requests):
    responses = []
    for request in requests:
        if self.idx == 0:
            request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            responses.append(None)
            self.idx += 1
        else:
            responses.append(pb_utils.InferenceResponse([]))
    return responses`),
  'execute by another method': methods(`def execute(self, requests):
    return self.run(requests)

def run(self, requests):
    return [pb_utils.InferenceResponse([]) for _ in range(len(requests))]`),
  'a class that inherits': `from base import BaseModel


class TritonPythonModel(BaseModel):
    pass
`,
  'a class that is imported': 'from my_package.serving import TritonPythonModel\n',
  'a class of either kind': 'try:\n    import torch\n    from torch_model import TritonPythonModel\nexcept ImportError:\n    from numpy_model import TritonPythonModel\n',
  'a module beside the model': 'import numpy as np\n\n\nclass Decoder:\n    def decode(self, x):\n        return x\n',
  'an .om model, by the instance': `${HEAD}from ais_bench.infer.interface import InferSession

class TritonPythonModel:
    def initialize(self, args):
        device_id = 0
        if args["model_instance_kind"] != "CPU":
            device_id = int(args["model_instance_device_id"])
        path = os.path.join(args["model_repository"], args["model_version"], "model.om")
        self.session = InferSession(device_id, path)

${LOOP}
    def finalize(self):
        self.session.free_resource()
`,
  'an .om model that is let go of': `${HEAD}from ais_bench.infer.interface import InferSession

class TritonPythonModel:
    def initialize(self, args):
        self.session = InferSession(int(args["model_instance_device_id"]), os.path.join(os.path.dirname(__file__), "model.om"))

${LOOP}
    def finalize(self):
        del self.session
`,
  'torch_npu, by the instance': `${HEAD}import torch
import torch_npu

class TritonPythonModel:
    def initialize(self, args):
        self.device = torch.device(f"npu:{args['model_instance_device_id']}")
        torch.npu.set_device(self.device)
        self.model = torch.jit.load(os.path.join(pb_utils.get_model_dir(), "model.pt"), map_location="cpu").to(self.device).eval()

${LOOP}`,
  'a card from the environment or the config': initializing('self.device = os.environ.get("DEVICE", "npu:0")', 'count = parameters.get("device_id", 0)', 'if self.device == "npu:0":', '    pass'),
  'paths that are not models': initializing('self.tmp = "/tmp/work"', 'self.lib = ctypes.CDLL("/usr/lib/libfoo.so")', 'self.log = open("/var/log/model.txt", "a")', 'url = "https://example.com/model.onnx"'),
  'a kept request and no return in a test of it': methods('def execute(self, requests):\n    raise pb_utils.TritonModelException("always")'),
  'print of a shape': methods(LOOP.replace('            responses', '            print("shape", x.shape, len(x))\n            responses').replace(/^ {4}/gm, '')),
  'other names for the same': 'import triton_python_backend_utils\nfrom triton_python_backend_utils import InferenceResponse, Tensor\n\nclass TritonPythonModel:\n    def execute(self, batch):\n        return [InferenceResponse([Tensor("OUT", triton_python_backend_utils.get_input_tensor_by_name(r, "IN").as_numpy())]) for r in batch]\n',
  'import for tests': 'try:\n    import triton_python_backend_utils as pb_utils\nexcept ImportError:\n    pb_utils = None\n\nclass TritonPythonModel:\n    def execute(self, requests, *args, **kwargs):\n        return [pb_utils.InferenceResponse([]) for r in requests]\n',
  'parameters with types and defaults': methods('def initialize(self, args: Dict[str, str]) -> None:\n    pass\n\ndef execute(self, requests: List["pb_utils.InferenceRequest"], limit: int = 3) -> List["pb_utils.InferenceResponse"]:\n    return [pb_utils.InferenceResponse([]) for r in requests]\n\nasync def is_ready(self) -> bool:\n    return True'),
  'nothing at all': '',
  'no Python': '{ "a": [1, 2',
}

describe('what is sound', () => {
  it.each(Object.entries(SOUND))('%s', (_name, text) => {
    expect(checkModelCode(text, context()).map(({ code, line, column }) => `${code} ${line}:${column}`)).toEqual([])
  })

  it('is a decoupled model without a return, where the config says so', () => {
    const text = methods('def execute(self, requests):\n    for request in requests:\n        self.queue = 1')
    expect(checkModelCode(text, context({ isDecoupled: true }))).toEqual([])
    expect(checkModelCode(text, context({ isDecoupled: false }))[0]).toMatchObject({ code: 'execute-returns-nothing', severity: 'error' })
    expect(checkModelCode(text, context())[0]).toMatchObject({ severity: 'warning' })
  })
})
