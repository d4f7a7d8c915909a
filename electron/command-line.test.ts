import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { engineCommandLine, repositoryArgument, repositoryFlags } from './command-line.ts'
import { withRecentRepositories } from './recent-repositories.ts'

let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'command-line-'))
  mkdirSync(join(root, 'models'))
  writeFileSync(join(root, 'file.txt'), '')
})

afterAll(() => { rmSync(root, { recursive: true, force: true }) })

describe('repository argument', () => {
  it('is the first folder that is not the application itself', () => {
    expect(repositoryArgument(['exe', '--no-sandbox', '.', '--lang=en', 'models'], root, root)).toBe(join(root, 'models'))
    expect(repositoryArgument(['exe', join(root, 'models')], '/', '/opt/app')).toBe(join(root, 'models'))
  })

  it('is no file, no switch, nothing that is not there', () => {
    expect(repositoryArgument(['exe', '.', 'file.txt', 'missing', '--models'], root, root)).toBeNull()
    expect(repositoryArgument([root], root, '/opt/app')).toBeNull()
  })
})

describe('repository flags', () => {
  it('are taken in both forms, several times, absolute', () => {
    const argv = ['exe', '.', '--model-repository=models', '--no-sandbox', '--model-store', '/other=1', '--model-repository']
    expect(repositoryFlags(argv, root)).toEqual([join(root, 'models'), '/other=1'])
    expect(repositoryArgument(['exe', '.', '--model-repository', join(root, 'models')], root, root)).toBeNull()
  })
})

describe('recent repositories', () => {
  it('puts the last opened first, each once, at most ten', () => {
    expect(withRecentRepositories(['/a', '/b'], ['/b'])).toEqual(['/b', '/a'])
    const many = Array.from({ length: 12 }, (_, index) => `/${index}`)
    expect(withRecentRepositories(many.slice(0, 10), ['/new'])).toEqual(['/new', ...many.slice(0, 9)])
  })

  it('is the same list where nothing changes', () => {
    const recent = ['/a', '/b']
    expect(withRecentRepositories(recent, ['/a'])).toBe(recent)
    expect(withRecentRepositories(recent, [])).toBe(recent)
  })
})

describe('engine command line', () => {
  it('lets the command line overrule the settings, and what was chosen since overrule both', () => {
    const argv = ['exe', '--npu=off']
    expect(engineCommandLine(argv, {}, {})).toEqual(argv)
    expect(engineCommandLine(argv, { npuSource: 'simulated', simulatedCards: ['310P3', '910B3'], simulatedTimeScale: 0.1, cannSetEnv: 'auto' }, { npuSource: 'auto' }))
      .toEqual(['exe', '--npu=simulated', '--npu-simulated-cards=310P3,910B3', '--npu-simulated-time-scale=0.1', '--cann-set-env=auto', '--npu=off', '--npu=auto'])
  })
})
