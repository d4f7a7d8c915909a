import { chmod, readFile, readdir, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addModel } from '../testing/onnx-fixture.ts'
import { SimulatedOm } from '../testing/simulated-om.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { configCommand } from './config-command.ts'

async function run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<{ code: number; out: string; error: string }> {
  const out: string[] = []
  const error: string[] = []
  const code = await configCommand(args, environment, { print: (text) => out.push(text), printError: (text) => error.push(text) })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

const UNORDERED = 'backend: "identity"\nmax_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 8, 4 ] } # keep me\n'

describe('npu-console config check', () => {
  it('takes a file, a model folder and a repository', async () => {
    await using repository = await TemporaryRepository.create({
      'a/config.pbtxt': identityConfig(), 'a/1/x': '', 'b/config.pbtxt': `name: "c"\n${identityConfig()}`, 'b/1/x': '', 'notes/readme.md': '', 'lone.pbtxt': 'max_batch_size: "8"',
    })
    expect(await run(['check', join(repository.path, 'a')])).toEqual({ code: 0, out: '1 config: 0 errors, 0 warnings, 0 hints', error: '' })
    const whole = await run(['check', repository.path])
    expect(whole.code).toBe(1)
    expect(whole.out).toContain(`${join(repository.path, 'b', 'config.pbtxt')}:1:7: error: The name 'c' differs from the model's folder 'b'.`)
    expect(whole.out).toContain("the server says: unexpected directory name 'b' for model 'c', directory name must equal model name")
    expect(whole.out).toContain("fix (--fix): Rename to 'b'")
    expect(whole.out).toContain('2 configs: 1 error,')
    expect((await run(['check', join(repository.path, 'b', 'config.pbtxt')])).code).toBe(1)
    expect((await run(['check', join(repository.path, 'lone.pbtxt')])).code).toBe(1)
    expect((await run(['check', join(repository.path, 'a'), join(repository.path, 'a', 'config.pbtxt')])).out).toContain('1 config:')
  })

  it('goes by the folder for a model without config', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(), 'what/1/model.xyz': '' })
    expect((await run(['check', join(repository.path, 'add')])).code).toBe(0)
    expect((await run(['check', join(repository.path, 'what')])).out).toContain('Could not determine backend')
  })

  it('reports a file that it cannot read and checks the others', async () => {
    await using repository = await TemporaryRepository.create({
      'a/config.pbtxt': new Uint8Array([0x23, 0xC4, 0xA3, 0xD0, 0xCD, 0x0A]), 'a/1/x': '', 'b/config.pbtxt': `name: "c"\n${identityConfig()}`, 'b/1/x': '',
    })
    const { code, out } = await run(['check', repository.path])
    expect(code).toBe(1)
    expect(out).toContain(`${join(repository.path, 'a', 'config.pbtxt')}:1:1: error: ${join(repository.path, 'a', 'config.pbtxt')} is not UTF-8 text`)
    expect(out).toContain("The name 'c' differs from the model's folder 'b'.")
    expect(out).toContain('2 configs: 2 errors,')
    expect((await run(['check', '--fix', '--language=zh-CN', repository.path])).out).toContain('无法读取该文件')
    expect(await readFile(join(repository.path, 'b', 'config.pbtxt'), 'utf8')).toContain('name: "b"')
    expect(await run(['format', repository.path])).toMatchObject({ code: 1, error: expect.stringContaining('is not UTF-8 text') as string })
  })

  it('judges by the model file, unless asked for syntax only', async () => {
    await using repository = await TemporaryRepository.create({
      'add/1/model.onnx': addModel(3),
      'add/config.pbtxt': 'backend: "onnxruntime"\nmax_batch_size: 8\ninput [ { name: "A" data_type: TYPE_FP32 dims: [ -1, 3 ] }, { name: "B" data_type: TYPE_FP32 dims: [ 3 ] } ]\noutput { name: "SUM" data_type: TYPE_FP32 dims: [ 3 ] }\n',
    })
    expect((await run(['check', repository.path])).out).toContain('[dims-contain-batch]')
    expect((await run(['check', '--syntax-only', repository.path])).code).toBe(0)
  })

  it('judges as a server that does not complete configs, when asked to', async () => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(3), 'add/config.pbtxt': 'backend: "onnxruntime"\nmax_batch_size: 8\n' })
    expect((await run(['check', repository.path])).code).toBe(0)
    const { code, out } = await run(['check', '--disable-auto-complete-config', repository.path])
    expect(code).toBe(1)
    expect(out).toContain('[lists-must-be-written]')
  })

  it('prints JSON with positions from 1 and edits', async () => {
    await using repository = await TemporaryRepository.create({ 'm.pbtxt': UNORDERED })
    const file = join(repository.path, 'm.pbtxt')
    const { code, out } = await run(['check', '--json', file])
    expect(code).toBe(0)
    const [finding, ...rest] = JSON.parse(out) as [Record<string, unknown>]
    expect(rest).toEqual([])
    expect(Object.keys(finding)).toEqual(['file', 'line', 'column', 'endLine', 'endColumn', 'severity', 'code', 'message', 'fixes'])
    expect(finding).toMatchObject({ file, line: 3, endLine: 3, severity: 'warning', code: 'preferred-sizes-unsorted', fixes: [{ title: 'Sort: [ 4, 8 ]', edits: [{ length: 1, text: '4' }, { length: 1, text: '8' }] }] })
    expect((await run(['check', '--json', join(repository.path, 'm.pbtxt')], { LANG: 'zh_CN.UTF-8' })).out).toContain('排序：[ 4, 8 ]')
    await repository.write({ 'm.pbtxt': identityConfig() })
    expect((await run(['check', '--json', file])).out).toBe('[]')
  })

  it('speaks the language of the system, or the one asked for', async () => {
    await using repository = await TemporaryRepository.create({ 'm.pbtxt': identityConfig() })
    const file = join(repository.path, 'm.pbtxt')
    const chinese = '1 个配置：0 个错误，0 个警告，0 个提示'
    expect((await run(['check', file], { LANG: 'zh_CN.UTF-8' })).out).toBe(chinese)
    expect((await run(['check', file], { LANG: 'zh_CN.UTF-8', LC_ALL: 'C' })).out).not.toBe(chinese)
    expect((await run(['check', '--language=zh-CN', file])).out).toBe(chinese)
    expect((await run(['check', '--language', 'en', file], { LANG: 'zh_CN' })).out).toContain('1 config')
    expect((await run(['check', '--language=fr', file])).code).toBe(2)
  })

  it('repairs in place, keeps comments and permissions, and leaves nothing behind', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': `name: "other" # why\n${UNORDERED}`, 'm/1/x': '', 'lone.pbtxt': UNORDERED })
    const path = join(repository.path, 'm', 'config.pbtxt')
    await chmod(path, 0o640)
    const { code, out } = await run(['check', '--fix', join(repository.path, 'm'), join(repository.path, 'lone.pbtxt')])
    expect(code).toBe(0)
    expect(out).toContain('3 fixes applied')
    expect(await readFile(path, 'utf8')).toBe(`name: "m" # why\n${UNORDERED.replace('8, 4', '4, 8')}`)
    expect(await readFile(join(repository.path, 'lone.pbtxt'), 'utf8')).toBe(UNORDERED.replace('8, 4', '4, 8'))
    expect((await stat(path)).mode & 0o777).toBe(0o640)
    expect(await readdir(repository.path)).toEqual(['lone.pbtxt', 'm'])
    expect(await readdir(join(repository.path, 'm'))).toEqual(['1', 'config.pbtxt'])
  })

  it('writes nothing where there is nothing to repair', async () => {
    await using repository = await TemporaryRepository.create({ 'lone.pbtxt': identityConfig() })
    const before = await stat(join(repository.path, 'lone.pbtxt'), { bigint: true })
    await run(['check', '--fix', join(repository.path, 'lone.pbtxt')])
    const after = await stat(join(repository.path, 'lone.pbtxt'), { bigint: true })
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs])
  })
})

describe('npu-console config format', () => {
  it('formats in place, or only says so', async () => {
    await using repository = await TemporaryRepository.create({ 'm.pbtxt': 'max_batch_size:8\ninput {\nname:"A"\n}\n' })
    const file = join(repository.path, 'm.pbtxt')
    expect(await run(['format', '--check', file])).toMatchObject({ code: 1, out: `${file}: not formatted` })
    expect(await readFile(file, 'utf8')).toBe('max_batch_size:8\ninput {\nname:"A"\n}\n')
    expect(await run(['format', file])).toMatchObject({ code: 0, out: `${file}: formatted` })
    expect(await readFile(file, 'utf8')).toContain('  name: "A"')
    expect(await run(['format', '--check', file])).toEqual({ code: 0, out: '', error: '' })
  })
})

describe('npu-console config generate', () => {
  it('prints the config', async () => {
    await using repository = await TemporaryRepository.create({ 'add.onnx': addModel() })
    const { code, out } = await run(['generate', join(repository.path, 'add.onnx'), '--backend', 'onnxruntime'])
    expect([code, out.split('\n')[0]]).toEqual([0, 'backend: "onnxruntime"'])
  })

  it('tells wrong usage from a file that cannot be described', async () => {
    await using repository = await TemporaryRepository.create({ 'add.onnx': addModel(), 'x.om': '' })
    expect((await run(['generate', join(repository.path, 'add.onnx')])).code).toBe(2)
    expect((await run(['generate', join(repository.path, 'add.onnx'), '--backend=what'])).code).toBe(2)
    expect((await run(['generate', '--backend=python'])).code).toBe(2)
    expect(await run(['generate', join(repository.path, 'x.om'), '--backend=npu_om'])).toMatchObject({ code: 1, error: expect.stringContaining('is no .om file') as string })
    expect(await run(['generate', join(repository.path, 'x.om'), '--backend=npu_om', '--npu=off'])).toMatchObject({ code: 1, error: expect.stringContaining("--npu is auto or simulated here, not 'off'") as string })
    expect((await run(['generate', join(repository.path, 'x.om'), '--backend=npu_om', '--npu=simulated', '--cann-set-env=auto'])).error).toContain('brings its own CANN')
  })

  it('asks CANN about an .om file', async () => {
    await using simulated = await SimulatedOm.start()
    const path = await simulated.compile('add', addModel(3), ['--input_shape=A:-1,3;B:-1,3', '--dynamic_batch_size=1,2'])
    expect(await run(['generate', path, '--backend=npu_om', '--npu=simulated'], process.env)).toMatchObject({ code: 0, error: '', out: expect.stringContaining('max_batch_size: 2') as string })
    await using repository = await TemporaryRepository.create({ 'm/1/model.om': await readFile(path), 'm/config.pbtxt': 'backend: "npu_om"\nmax_batch_size: 3\n' })
    expect((await run(['check', repository.path])).out).not.toContain('om-batch-over-gears')
    expect(await run(['check', repository.path, '--npu=simulated'], process.env)).toMatchObject({ code: 1, error: '', out: expect.stringContaining('om-batch-over-gears') as string })
    expect(await run(['check', repository.path, '--npu=off'])).toMatchObject({ code: 1, error: expect.stringContaining("--npu is auto or simulated here, not 'off'") as string })
  })
})

describe('npu-console config explain and diff', () => {
  it.each(['onnxruntime', 'npu_ge'])('explains what is written and what the server adds for %s', async (backend) => {
    await using repository = await TemporaryRepository.create({ 'add/1/model.onnx': addModel(3), 'add/config.pbtxt': `backend: "${backend}"\n` })
    const { code, out } = await run(['explain', join(repository.path, 'add')])
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`^ {2}backend: "${backend}"\\n {6}\\S`, 'm'))
    expect(out.slice(out.indexOf('The server adds:'))).toContain('input["A"].dims: [ 3 ]')
  })

  it('compares a config with what the server makes of it, and two configs', async () => {
    await using repository = await TemporaryRepository.create({ 'a.pbtxt': `name: "m"\n${identityConfig()}`, 'b.pbtxt': `name: "m"\n${identityConfig('dynamic_batching { }', 4)}`, 'broken.pbtxt': 'input [' })
    const [a, b, broken] = ['a', 'b', 'broken'].map((name) => join(repository.path, `${name}.pbtxt`)) as [string, string, string]
    expect((await run(['diff', a])).out).toContain('+ version_policy.latest.num_versions: 1')
    expect(await run(['diff', a, b])).toMatchObject({ code: 0, out: '~ max_batch_size: 8 -> 4\n+ dynamic_batching.preferred_batch_size: [ 4 ]' })
    expect(await run(['diff', a, a])).toMatchObject({ code: 0, out: 'no difference' })
    expect(await run(['diff', a, repository.path])).toMatchObject({ code: 2 })
    expect(await run(['diff', a, broken])).toMatchObject({ code: 1 })
    expect((await run(['explain', broken])).code).toBe(1)
  })
})

describe('wrong usage', () => {
  it.each([[[]], [['bogus']], [['check']], [['check', '--what', 'x']], [['check', '/nowhere/at/all']], [['diff', 'a', 'b', 'c']]])('%j exits with 2', async (args) => {
    const { code, error } = await run(args)
    expect(code).toBe(2)
    expect(error).not.toBe('')
  })

  it('says so of a folder without models', async () => {
    await using repository = await TemporaryRepository.create({ 'notes/readme.md': '' })
    await symlink(join(repository.path, 'nowhere'), join(repository.path, 'link'))
    expect(await run(['check', repository.path])).toMatchObject({ code: 2, error: expect.stringContaining('neither a model') as string })
  })
})
