import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { codeCommand } from './code-command.ts'

async function run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<{ code: number; out: string; error: string }> {
  const out: string[] = []
  const error: string[] = []
  const code = await codeCommand(args, environment, { print: (text) => out.push(text), printError: (text) => error.push(text) })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

const CODE = `import triton_python_backend_utils as pb_utils\r
import os\r
class TritonPythonModel:\r
    def initialize(self, args):\r
        self.keys = open("/models/ocr/1/keys.txt")  # keep me\r
    def execute(self):\r
        return []\r
`

describe('npu-console code check', () => {
  it('takes a file, a model folder and a repository, in either language', async () => {
    await using repository = await TemporaryRepository.create({ 'ocr/1/model.py': CODE, 'ocr/1/keys.txt': '', 'ocr/2/other': '', 'onnx/1/model.onnx': 'x', 'lone.py': 'class Model:\n    def execute(self, requests):\n        return []\n' })
    const model = await run(['check', join(repository.path, 'ocr')])
    expect(model).toEqual({ code: 1, error: '', out: `${join(repository.path, 'ocr/1/model.py')}:5:26: warning: The path /models/ocr/1/keys.txt is that of one machine, so the model does not load elsewhere. Put keys.txt beside model.py and name it relative to the version directory. [absolute-model-path]
    fix (--fix): Name keys.txt relative to the version directory
${join(repository.path, 'ocr/1/model.py')}:6:16: error: The backend calls execute(self, requests), which does not fit execute(self). Give it these parameters. [method-signature]
    fix (--fix): Make it execute(self, requests)
1 model.py: 1 error, 1 warning, 0 hints` })
    expect((await run(['check', repository.path])).out).toBe(model.out)
    expect((await run(['check', join(repository.path, 'ocr/1/model.py')])).out).toBe(model.out)
    expect((await run(['check', join(repository.path, 'lone.py')], { LANG: 'zh_CN.UTF-8' })).out).toContain('1:7: 错误: 类名是 Model')
    expect(JSON.parse((await run(['check', '--json', join(repository.path, 'lone.py')])).out)).toMatchObject([{ line: 1, column: 7, code: 'model-class-missing', severity: 'error' }])
  })

  it('repairs, keeping every byte that it need not touch, and the permissions', async () => {
    await using repository = await TemporaryRepository.create({ 'ocr/1/model.py': CODE, 'ocr/1/keys.txt': '' })
    const path = join(repository.path, 'ocr/1/model.py')
    await chmod(path, 0o640)
    expect(await run(['check', '--fix', repository.path])).toEqual({ code: 0, error: '', out: '1 model.py: 0 errors, 0 warnings, 0 hints; 2 fixes applied' })
    expect(await readFile(path, 'utf8')).toBe(CODE.replace('"/models/ocr/1/keys.txt"', 'os.path.join(args["model_repository"], args["model_version"], "keys.txt")').replace('execute(self)', 'execute(self, requests)'))
    expect((await stat(path)).mode & 0o777).toBe(0o640)
  })

  it('says what is wrong with the command line, and with a file that is no text', async () => {
    await using repository = await TemporaryRepository.create({ 'a/1/model.py': new Uint8Array([0xC4, 0xA3, 0xD0]), 'b/1/x': '' })
    expect((await run([])).error).toContain('npu-console code: expected check')
    expect(await run(['check'])).toMatchObject({ code: 2, error: expect.stringContaining('which PATH?') as string })
    expect(await run(['check', join(repository.path, 'b')])).toMatchObject({ code: 2, error: expect.stringContaining("is neither a Python model's folder nor a repository with one") as string })
    expect(await run(['check', join(repository.path, 'c')])).toMatchObject({ code: 2 })
    expect(await run(['check', repository.path])).toMatchObject({ code: 1, out: expect.stringContaining('is not UTF-8 text') as string })
  })

  it('writes through no link that leads out of the repository', async () => {
    await using elsewhere = await TemporaryRepository.create({ 'model.py': CODE })
    await using repository = await TemporaryRepository.create({ 'ocr/1/keys.txt': '' })
    await symlink(join(elsewhere.path, 'model.py'), join(repository.path, 'ocr/1/model.py'))
    expect((await run(['check', '--fix', repository.path])).out).toContain('outside the model repository: edit that file where it belongs')
    expect(await readFile(join(elsewhere.path, 'model.py'), 'utf8')).toBe(CODE)
    await writeFile(join(repository.path, 'ocr/config.pbtxt'), 'backend: "python"\ndefault_model_filename: "../../x.py"\n')
    expect((await run(['check', repository.path])).error).toContain("leads out of the version's directory")
  })
})
