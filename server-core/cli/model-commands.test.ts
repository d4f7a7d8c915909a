import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig } from '../testing/temporary-repository.ts'
import { modelCommand } from './model-commands.ts'

let served: ServedRepository
let address: string
beforeAll(async () => {
  served = await serveRepository(
    { 'one/config.pbtxt': identityConfig(), 'one/1/x': '', 'two/config.pbtxt': identityConfig(), 'two/1/x': '', 'broken/config.pbtxt': 'backend: "none"', 'broken/1/x': '' },
    { modelControlMode: 'explicit', loadModels: ['one'], httpRestrictedApis: [{ categories: ['model-repository'], header: 'x-key', value: 'secret' }] },
  )
  address = `http://127.0.0.1:${served.running.addresses.http?.port}`
})
afterAll(() => served[Symbol.asyncDispose]())

async function run(command: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = []
  const err: string[] = []
  const code = await modelCommand(command, [`--server=${address}`, '--header=x-key: secret', ...args], { print: (text) => { out.push(text) }, printError: (text) => { err.push(text) } })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('npu-console list, load and unload', () => {
  it('lists what the repository holds, and why something is not ready', async () => {
    expect(await run('load', 'broken')).toMatchObject({ code: 1, out: '', err: expect.stringContaining("npu-console load: load failed for model 'broken': version 1 is at UNAVAILABLE state") })
    const { code, out, err } = await run('list')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/\| Model +\| Version \| State +\| Reason/)
    expect(out).toMatch(/\| one +\| 1 +\| READY +\| +\|/)
    expect(out).toMatch(/\| two +\| - +\| not loaded/)
    expect(out).toMatch(/\| broken +\| 1 +\| UNAVAILABLE +\| .*none/)
    expect(JSON.parse((await run('list', '--ready', '--json')).out)).toEqual([{ name: 'one', version: '1', state: 'READY' }])
  })

  it('loads and unloads all that it is given, and goes on after one that fails', async () => {
    expect(await run('load', 'none', 'two')).toMatchObject({ code: 1, out: "model 'two' is loaded", err: expect.stringContaining("failed to load 'none'") })
    expect(served.running.server.isModelReady('two', '')).toBe(true)
    expect(await run('unload', 'tow', 'two')).toMatchObject({ code: 1, out: expect.stringContaining("model 'two' is unloaded"), err: "npu-console unload: there is no model 'tow' in the repository, which holds broken, one, two" })
    await expect.poll(async () => (await run('list', '--ready')).out).not.toContain('two')
  })

  it('loads with another config, as JSON, a JSON file or a config.pbtxt', async () => {
    const max = async () => (JSON.parse((await served.http.send({ path: '/v2/models/one/config' })).text) as { max_batch_size: number }).max_batch_size
    const asJson = (size: number) => JSON.stringify({ ...JSON.parse(`{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_FP32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":[4]}]}`), max_batch_size: size })
    expect(await run('load', 'one', `--config=${asJson(3)}`)).toMatchObject({ code: 0, err: '' })
    expect(await max()).toBe(3)
    const file = join(served.repository.path, 'other.pbtxt')
    await writeFile(file, identityConfig('', 5))
    expect(await run('load', 'one', `--config=${file}`)).toMatchObject({ code: 0, err: '' })
    expect(await max()).toBe(5)
    await writeFile(file, 'max_batch_size: many')
    expect(await run('load', 'one', `--config=${file}`)).toMatchObject({ code: 1, err: expect.stringMatching(/other\.pbtxt: Error parsing text-format inference\.ModelConfig: 1:17: /) })
    expect(await run('load', 'one', '--config={')).toMatchObject({ code: 2, err: expect.stringContaining('--config is no JSON') })
    expect(await run('load', 'one', '--config=nowhere.json')).toMatchObject({ code: 2, err: expect.stringContaining("'nowhere.json' is neither JSON nor a file that can be read") })
  })

  it('says what is wrong with a command line, or with the server', async () => {
    expect(await run('load')).toMatchObject({ code: 2, err: expect.stringContaining('which MODEL?') })
    expect(await run('load', 'a', 'b', '--config={}')).toMatchObject({ code: 2, err: expect.stringContaining('--config goes with one MODEL') })
    expect(await run('list', 'one')).toMatchObject({ code: 2, err: expect.stringContaining("unexpected argument 'one'") })
    expect(await run('list', '--sevrer=x')).toMatchObject({ code: 2, err: expect.stringContaining("'--sevrer'") })
    expect(await run('list', '--header=secret')).toMatchObject({ code: 1, err: expect.stringContaining('--header expects Name:Value, got: secret') })
    expect(await run('list', '--server=http://')).toMatchObject({ code: 1, err: expect.stringContaining('--server expects an address like http://127.0.0.1:8000, got: http://') })
    expect(await run('list', '--header=x-key:wrong')).toMatchObject({ code: 1, err: expect.stringContaining("expecting header 'x-key'") })
    expect(await run('list', '--help')).toMatchObject({ code: 0, out: expect.stringContaining('load MODEL...') })
  })

  it('says when nothing listens, or something else than a model server', async () => {
    const other = createServer((request, response) => { response.end(request.method === 'POST' ? '<html>' : '') }).listen(0, '127.0.0.1')
    await new Promise((resolve) => { other.once('listening', resolve) })
    const { port } = other.address() as AddressInfo
    expect((await run('list', `--server=127.0.0.1:${port}`)).err).toBe(`npu-console list: http://127.0.0.1:${port}/v2/repository/index answered with something else than JSON: is a Triton-compatible server there?`)
    await new Promise((resolve) => { other.close(resolve) })
    expect(await run('list', `--server=127.0.0.1:${port}`)).toMatchObject({
      code: 1, err: `npu-console list: no answer from http://127.0.0.1:${port} (nothing listens there): start a server with npu-console serve, or name it with --server=http://HOST:PORT`,
    })
  })
})
