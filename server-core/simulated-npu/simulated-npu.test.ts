import { cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LogHub } from '../logger.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'
import { npuSimulation } from './npu-simulation.ts'
import { readFaults, SimulatedNpu } from './simulated-npu.ts'

const PROFILES = new URL('../../native/simulator/profiles.json', import.meta.url)

/** A folder with what is looked for of a built simulated CANN; nothing of it is opened. */
async function rig() {
  const folder = await TemporaryRepository.create({})
  const cannDirectory = join(folder.path, 'cann')
  mkdirSync(join(cannDirectory, 'lib64'), { recursive: true })
  writeFileSync(join(cannDirectory, 'lib64/libdcmi.so'), '')
  cpSync(PROFILES, join(cannDirectory, 'profiles.json'))
  const runtime = join(folder.path, 'run')
  mkdirSync(runtime)
  const start = (cards: readonly string[]) => SimulatedNpu.start({ cards, timeScale: 0.5, environment: { PATH: '/usr/bin', XDG_RUNTIME_DIR: runtime, LD_LIBRARY_PATH: '/real/cann/lib64' }, cannDirectory })
  return { runtime, cannDirectory, start, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

const settingsOf = (npu: SimulatedNpu) => JSON.parse(readFileSync(npu.settingsPath, 'utf8')) as Record<string, unknown>

describe('SimulatedNpu', () => {
  it('writes settings that only this user can read, and takes them away again', async () => {
    await using folder = await rig()
    const npu = await folder.start(['310P3-duo', '910B3'])
    expect(settingsOf(npu)).toMatchObject({ cards: [{ profile: '310P3-duo' }, { profile: '910B3' }], timeScale: 0.5, faults: [], stateDirectory: join(npu.settingsPath, '..') })
    expect(settingsOf(npu)['onnxruntime']).toMatch(/^\/.*libonnxruntime/)
    expect(statSync(join(npu.settingsPath, '..')).mode & 0o777).toBe(0o700)
    expect(statSync(npu.settingsPath).mode & 0o777).toBe(0o600)
    expect(npu.deviceCount).toBe(3)
    expect(npu.environment).toMatchObject({ NPU_SIMULATOR_SETTINGS: npu.settingsPath, PATH: `${join(folder.cannDirectory, 'bin')}:/usr/bin`, LD_LIBRARY_PATH: `${join(folder.cannDirectory, 'lib64')}:/real/cann/lib64` })
    await npu.stop()
    expect(readdirSync(folder.runtime)).toEqual([])
  })

  it('refuses cards that cannot be simulated, naming those that can', async () => {
    await using folder = await rig()
    await expect(folder.start(['310P3', '999'])).rejects.toMatchObject({ kind: 'INVALID_ARG', message: expect.stringMatching(/'999' cannot be simulated\. Choose from .*310P3-duo.*910B3/) as string })
    await expect(folder.start([])).rejects.toMatchObject({ kind: 'INVALID_ARG' })
    expect(readdirSync(folder.runtime)).toEqual([])
  })

  it('says how to get the simulated CANN where it is not built', async () => {
    await using folder = await rig()
    await expect(SimulatedNpu.start({ cards: ['310P3'], timeScale: 1, environment: {}, cannDirectory: join(folder.runtime, 'none') }))
      .rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringContaining('npm run build') as string })
  })

  it('replaces the faults as a whole, leaving out what is not set', async () => {
    await using folder = await rig()
    const npu = await folder.start(['310P3', '310P3'])
    await npu.setFaults([{ kind: 'card-lost', device: 1, count: null, phase: null, needsReset: true }, { kind: 'out-of-memory', device: null, count: 2, phase: 'load', needsReset: false }])
    expect(settingsOf(npu)['faults']).toEqual([{ kind: 'card-lost', device: 1, needsReset: true }, { kind: 'out-of-memory', count: 2, phase: 'load' }])
    await expect(npu.setFaults([{ kind: 'ecc', device: 2, count: null, phase: null, needsReset: false }])).rejects.toMatchObject({ kind: 'INVALID_ARG', message: 'device 2 is not there: the simulated devices are 0 to 1' })
    expect(npu.faults).toHaveLength(2)
    await npu.setFaults([])
    expect(settingsOf(npu)['faults']).toEqual([])
    await npu.stop()
  })
})

describe('readFaults', () => {
  it('takes what is left out as "any"', () => {
    expect(readFaults([{ kind: 'hang' }, { kind: 'ecc', device: 0, count: 3, phase: 'run' }])).toEqual([
      { kind: 'hang', device: null, count: null, phase: null, needsReset: false }, { kind: 'ecc', device: 0, count: 3, phase: 'run', needsReset: false },
    ])
  })

  it.each([
    [undefined, "'faults' must be a list"], [['hang'], 'faults[0].kind must be one of'], [[{ kind: 'hang' }, { kind: 'fire' }], 'faults[1].kind must be one of out-of-memory, card-lost'],
    [[{ kind: 'hang', device: -1 }], 'faults[0].device'], [[{ kind: 'hang', count: 0 }], 'faults[0].count'], [[{ kind: 'hang', phase: 'lunch' }], 'faults[0].phase must be null or one of load, copy-in'],
    [[{ kind: 'hang', needsReset: 1 }], 'faults[0].needsReset'],
  ])('refuses %j', (value, message) => {
    expect(() => readFaults(value)).toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message: expect.stringContaining(message) as string }) as Error)
  })
})

describe('npuSimulation', () => {
  it('injects faults into simulated cards and into no others', async () => {
    await using folder = await rig()
    const logs = new LogHub()
    const off = npuSimulation(null, { npuSimulatedCards: ['310P3'], npuSimulatedTimeScale: 2 }, logs.logger('simulated-npu'))
    await expect(off.setFaults([])).rejects.toMatchObject({ kind: 'UNAVAILABLE', message: expect.stringContaining('--npu=simulated') as string })
    expect(() => off.faults()).toThrow('--npu=simulated')
    expect(await off.report()).toMatchObject({ isOn: false, cards: ['310P3'], timeScale: 2, faults: [] })
    const npu = await folder.start(['310P3-duo'])
    const on = npuSimulation(npu, { npuSimulatedCards: ['310P3-duo'], npuSimulatedTimeScale: 2 }, logs.logger('simulated-npu'))
    await on.setFaults([{ kind: 'card-lost', device: 1, count: 2 }])
    expect(await on.report()).toMatchObject({ isOn: true, cards: ['310P3-duo'], timeScale: 0.5, faults: [{ kind: 'card-lost', device: 1, count: 2, phase: null, needsReset: false }] })
    expect((await on.report()).profiles).toContainEqual({ name: '310P3-duo', chip: 'Ascend310P3', product: 'Atlas 300I Duo', chipCount: 2, aiCores: 8, memoryBytes: 44280 * 2 ** 20 })
    expect(logs.recent(1)[0]).toMatchObject({ level: 'warning', message: 'faults injected into simulated cards', fields: { faults: 'card-lost on device 1 x2' } })
    await npu.stop()
  })
})
