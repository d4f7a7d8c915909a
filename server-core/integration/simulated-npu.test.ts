import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
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
    expect(server.output()).toContain('the cards are simulated')
    expect(server.output()).toMatch(/cards found.*simulated=true|simulated.*cards found/)
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

  it('does not start with cards that cannot be simulated', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await expect(disposable([`--model-repository=${repository.path}`, '--npu=simulated', '--npu-simulated-cards=42'])).rejects.toThrow("'42' cannot be simulated. Choose from 310P3,")
  })
})

async function disposable(flags: readonly string[]) {
  const server = await startServerProcess(flags)
  return { ...server, [Symbol.asyncDispose]: async () => { await server.stop() } }
}
