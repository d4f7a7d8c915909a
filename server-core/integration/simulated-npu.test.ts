import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NATIVE_ADDON_PATH } from '../backends/native-addon.ts'
import { onnxRuntimeVersion } from '../backends/onnxruntime/onnxruntime-backend.ts'
import { doctorCommand } from '../cli/doctor-command.ts'
import type { DoctorReport } from '../contract/devices.ts'
import { thisMachine } from '../telemetry/doctor/machine.ts'
import { ConsoleClient } from '../testing/console-client.ts'
import { HttpClient } from '../testing/http-client.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'

const MODEL = { 'm/config.pbtxt': identityConfig(), 'm/1/x': '' }

describe('npu-console serve --npu=simulated', () => {
  it('shows simulated cards, labelled so, lets faults be injected, and leaves nothing behind', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using server = await disposable([`--model-repository=${repository.path}`, '--npu=simulated', '--npu-simulated-cards=310P3-duo,910B3'])
    const metrics = new HttpClient(server.metricsPort)
    await expect.poll(async () => (await metrics.send({ path: '/metrics' })).text, { timeout: 20_000 }).toContain('machine_npu_nums{simulated="true"} 3')
    const text = (await metrics.send({ path: '/metrics' })).text
    const familiesOf = (id: string) => text.split('\n').filter((line) => line.includes(`{id="${id}",`)).map((line) => line.slice(0, line.indexOf('{')))
    expect(familiesOf('0')).toEqual(expect.arrayContaining(['npu_chip_info_overall_utilization', 'npu_chip_info_aicore_current_freq', 'npu_chip_info_total_memory']))
    expect(familiesOf('0').filter((family) => family.includes('hbm'))).toEqual([])
    expect(familiesOf('2')).toEqual(expect.arrayContaining([
      'npu_chip_info_overall_utilization', 'npu_chip_info_aicore_current_freq', 'npu_chip_info_hbm_utilization', 'npu_chip_info_hbm_temperature', 'npu_chip_info_hbm_bandwidth_utilization',
    ]))
    expect(server.output()).toContain('the cards are simulated')
    expect(server.output()).toMatch(/cards found.*simulated=true|simulated.*cards found/)
    expect(server.output()).toContain('source="dcmi"')
    const lines = server.output().split('\n').filter((line) => /^[EWI]\d{4} /.test(line))
    expect(lines.filter((line) => !line.includes('] [simulated] '))).toEqual([])
    const settings = /"?settings"?[=:]"?([^\s",]+)/.exec(server.output())?.[1] ?? ''
    expect(existsSync(settings)).toBe(true)

    const http = new HttpClient(server.httpPort)
    const faults = async (body?: unknown) => (body === undefined ? http.send({ path: '/v2/npu/faults' }) : http.send({ path: '/v2/npu/faults', method: 'POST', body: JSON.stringify(body) }))
    expect(JSON.parse((await faults()).text)).toEqual({ faults: [] })
    expect(JSON.parse((await faults({ faults: [{ kind: 'card-lost', device: 1 }] })).text)).toEqual({ faults: [{ kind: 'card-lost', device: 1, count: null, phase: null, needsReset: false }] })
    await expect.poll(async () => (await metrics.send({ path: '/metrics' })).text, { timeout: 20_000 }).not.toMatch(/npu_chip_info_health_status\{id="1"[^}]*\} 1$/m)
    expect(await faults({ faults: [{ kind: 'fire' }] })).toMatchObject({ status: 400, text: expect.stringContaining('faults[0].kind') as string })
    expect(await faults([])).toMatchObject({ status: 400, text: expect.stringContaining('an empty list clears all') as string })
    await server.stop()
    expect(existsSync(settings)).toBe(false)
  })

  it('has no faults and no cards without simulated ones', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using server = await disposable([`--model-repository=${repository.path}`, '--npu=off'])
    const http = new HttpClient(server.httpPort)
    for (const call of [{ path: '/v2/npu/faults' }, { path: '/v2/npu/faults', method: 'POST', body: '{"faults":[]}' }]) {
      expect(await http.send(call)).toMatchObject({ status: 503, text: expect.stringContaining('start it with --npu=simulated') as string })
    }
  })

  it('starts again with simulated cards when the console asks for it, as the same process on the same ports with the same models', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using server = await disposable([`--model-repository=${repository.path}`, '--model-control-mode=explicit', '--console', '--console-token=secret', '--npu=off', '--load-model=m'])
    const consolePort = Number(new URL(server.consoleUrl).port)
    const before = await ConsoleClient.open(consolePort, 'secret')
    expect(await before.command('server.status')).toMatchObject({ npuSource: 'off', canRestart: true, processId: server.processId })
    expect(await before.command('npu.simulation')).toMatchObject({ isOn: false, unavailableReason: null, cards: ['310P3', '310P3'] })
    await expect(before.command('npu.setFaults', { faults: [] })).rejects.toThrow('start it with --npu=simulated')
    await expect(before.command('server.restart', { npuSource: 'simulated', simulatedCards: ['42'] })).rejects.toThrow("'42' cannot be simulated")
    await expect(before.command('server.restart', { simulatedTimeScale: -1 })).rejects.toThrow("'simulatedTimeScale' must be a number from 0")
    await before.command('server.restart', { npuSource: 'simulated', npuFallback: 'allow', simulatedCards: ['910B3'], simulatedTimeScale: 0.5 })

    const metrics = new HttpClient(server.metricsPort)
    await expect.poll(async () => (await metrics.send({ path: '/metrics' }).catch(() => ({ text: '' }))).text, { timeout: 30_000 }).toContain('machine_npu_nums{simulated="true"} 1')
    const after = await ConsoleClient.open(consolePort, 'secret')
    expect(await after.command('server.status')).toMatchObject({ npuSource: 'simulated', npuFallback: 'allow', npuCount: 1, cannVersion: null, driverVersion: '26.0.sim', processId: server.processId, http: { port: server.httpPort } })
    expect((await after.command('repository.models')).map(({ name, state }) => [name, state])).toEqual([['m', 'READY']])
    expect(await after.command('npu.setFaults', { faults: [{ kind: 'ecc', device: 0, count: null, phase: null, needsReset: false }] })).toHaveLength(1)
    expect(await after.command('npu.simulation')).toMatchObject({ isOn: true, cards: ['910B3'], timeScale: 0.5, faults: [{ kind: 'ecc', device: 0 }] })
    after.close()
  })

  it('does not start with cards that cannot be simulated', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await expect(disposable([`--model-repository=${repository.path}`, '--npu=simulated', '--npu-simulated-cards=42'])).rejects.toThrow("'42' cannot be simulated. Choose from 310P3,")
  })
})

describe('npu-console doctor --npu=simulated', () => {
  it('examines every item, each headline labelled, and finds nothing to repair in the simulator', async () => {
    const output: string[] = []
    const machine = thisMachine(process.env, onnxRuntimeVersion(), { nativeDirectory: dirname(NATIVE_ADDON_PATH) })
    await doctorCommand(['--json', '--npu=simulated', '--npu-simulated-cards=310P3-duo,910B3'], machine, { print: (text) => { output.push(text) }, printError: (text) => { output.push(text) } })
    const report = JSON.parse(output.join('')) as DoctorReport
    expect(report.isSimulated).toBe(true)
    expect(report.devices.map(({ slot, chipIndex, logicalId, chip }) => [slot, chipIndex, logicalId, chip])).toEqual([[0, 0, 0, '310P3'], [0, 1, 1, '310P3'], [1, 0, 2, '910B3']])
    const ofNpu = report.checks.filter(({ id }) => ['npu', 'driver', 'firmware', 'npu-smi', 'cards', 'device-nodes', 'cann', 'environment', 'visible-devices'].includes(id))
    expect(ofNpu.map(({ verdict }) => verdict)).toEqual(ofNpu.map(() => 'ok'))
    expect(ofNpu).toHaveLength(9)
    for (const { id, title, detail } of ofNpu.filter(({ id }) => id !== 'visible-devices')) expect(`${title.en} ${detail.en}`, id).toMatch(/simulated/i)
    expect(ofNpu.find(({ id }) => id === 'npu')?.fix?.restart).toEqual({ npuSource: 'auto' })
  })
})

async function disposable(flags: readonly string[]) {
  const server = await startServerProcess(flags)
  return { ...server, [Symbol.asyncDispose]: async () => { await server.stop() } }
}
