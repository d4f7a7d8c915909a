import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConsoleClient } from '../testing/console-client.ts'
import { createFakeNpuSmi, npuSmiOutput } from '../testing/fake-npu-smi.ts'
import { HttpClient } from '../testing/http-client.ts'
import { PYTHON_CONFIG, pythonModel, testInterpreter } from '../testing/python-models.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'

const MODEL = { 'm/config.pbtxt': identityConfig(), 'm/1/x': '' }

describe('a server on a machine with cards', () => {
  it('tells the console which CANN and which driver they have, and marks no log line as simulated', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using folder = await TemporaryRepository.create({ 'cann/version.cfg': 'version=8.5.0\n' })
    const tool = createFakeNpuSmi(folder.path)
    tool.set('info', npuSmiOutput('info-910b'))
    await using server = await disposable([`--model-repository=${repository.path}`, '--console', '--console-token=secret'], { PATH: `${tool.directory}:${process.env['PATH'] ?? ''}`, ASCEND_HOME_PATH: join(folder.path, 'cann') })
    const console = await ConsoleClient.open(Number(new URL(server.consoleUrl).port), 'secret')
    await expect.poll(() => console.command('server.status'), { timeout: 10_000 }).toMatchObject({ npuCount: 2, cannVersion: '8.5.0', driverVersion: expect.stringMatching(/^\d+\./) as string })
    expect(server.output()).not.toContain('[simulated]')
    console.close()
  })

  it('reports them in /metrics, follows what changes, and has no figures when the driver has none', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using folder = await TemporaryRepository.create({})
    const tool = createFakeNpuSmi(folder.path)
    tool.set('info', npuSmiOutput('info-910b'))
    await using server = await disposable([`--model-repository=${repository.path}`], { PATH: `${tool.directory}:${process.env['PATH'] ?? ''}` })
    const metrics = new HttpClient(server.metricsPort)
    const page = async () => (await metrics.send({ path: '/metrics' })).text
    await expect.poll(page, { timeout: 10_000 }).toContain('npu_chip_info_utilization{id="0",model_name="910B3",pcie_bus_info="0000:c1:00.0"} 38\n')
    expect(await page()).toMatch(/^machine_npu_nums 2$/m)
    expect(await page()).not.toMatch(/npu_chip_info_power\{id="1"/)
    tool.set('info', npuSmiOutput('info-910b').replace('| 38 ', '| 77 '))
    await expect.poll(page, { timeout: 10_000 }).toContain('npu_chip_info_utilization{id="0",model_name="910B3",pcie_bus_info="0000:c1:00.0"} 77\n')
    // Requests go on while the tool fails.
    tool.fail('dcmi module initialize failed. ret is -8005')
    await expect.poll(() => server.output(), { timeout: 10_000 }).toContain('the cards could not be read')
    expect((await new HttpClient(server.httpPort).send({ path: '/v2/health/ready' })).status).toBe(200)
  })

  it('has no such families without cards', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    await using server = await disposable([`--model-repository=${repository.path}`], {})
    const { text } = await new HttpClient(server.metricsPort).send({ path: '/metrics' })
    expect(text).toContain('nv_cpu_utilization')
    expect(text).not.toMatch(/\bnpu_|machine_npu/)
  })

  it('starts with what set_env.sh sets, as the same process', async () => {
    // A model in Python finds CANN's modules in it.
    const code = pythonModel('def initialize(self, args):\n    import acl\n    print("acl of", acl.OF, "in", os.environ["ASCEND_HOME_PATH"])\ndef execute(self, requests):\n    return []')
    await using repository = await TemporaryRepository.create({ ...MODEL, 'p/1/model.py': code, 'p/config.pbtxt': PYTHON_CONFIG })
    await using folder = await TemporaryRepository.create({
      'set_env.sh': 'export ASCEND_HOME_PATH=/opt/cann\nexport LD_LIBRARY_PATH=/opt/cann/lib64:$LD_LIBRARY_PATH\nexport PYTHONPATH="$(dirname "${BASH_SOURCE[0]}")/python/site-packages:$PYTHONPATH"\n',
      'python/site-packages/acl.py': 'OF = "CANN"\n',
    })
    const setEnv = join(folder.path, 'set_env.sh')
    await using server = await disposable([`--model-repository=${repository.path}`, `--cann-set-env=${setEnv}`, `--backend-config=python,interpreter=${testInterpreter()}`], {})
    await expect.poll(() => server.output(), { timeout: 60_000 }).toContain('acl of CANN in /opt/cann')
    const environment = readFileSync(`/proc/${server.processId}/environ`, 'utf8').split('\0')
    expect(environment).toContain('ASCEND_HOME_PATH=/opt/cann')
    expect(environment.find((entry) => entry.startsWith('LD_LIBRARY_PATH='))).toMatch(/^LD_LIBRARY_PATH=\/opt\/cann\/lib64:/)
    expect((await new HttpClient(server.httpPort).send({ path: '/v2/health/ready' })).status).toBe(200)
  })
})

async function disposable(flags: readonly string[], env: NodeJS.ProcessEnv) {
  const server = await startServerProcess(flags, { env })
  return { ...server, [Symbol.asyncDispose]: async () => { await server.stop() } }
}
