import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HttpClient } from '../testing/http-client.ts'
import { startServerProcess, type ServerProcess } from '../testing/server-process.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'

const MAIN = fileURLToPath(new URL('../cli/main.ts', import.meta.url))
const MODEL = { 'm/config.pbtxt': identityConfig(), 'm/1/x': '' }
const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] })

async function runToEnd(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const [code] = await once(child, 'close') as [number | null]
  return { code, output }
}

const freePorts = ['--http-port=0', '--grpc-port=0', '--metrics-port=0']

/** Resolves when one request runs (a single instance) and one waits. */
async function untilOneWaits(server: ServerProcess): Promise<void> {
  const metrics = new HttpClient(server.metricsPort)
  await expect.poll(async () => (await metrics.send({ path: '/metrics' })).text, { interval: 20, timeout: 10_000 }).toMatch(/nv_inference_pending_request_count\{[^}]*\} 1/)
}

describe('npu-console serve', () => {
  it('says which ports it took, drains on SIGTERM and exits 0', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "300" } }'), 'm/1/x': '' })
    const server = await startServerProcess([`--model-repository=${repository.path}`])
    expect(server.output()).toMatch(/Started HTTPService at 127\.0\.0\.1:\d+/)
    expect(server.output()).toMatch(/\| m {5}\| 1 {7}\| READY {2}\|/)
    const inflight = [1, 2].map(() => new HttpClient(server.httpPort).send({ path: '/v2/models/m/infer', body }))
    await untilOneWaits(server)
    const stopped = server.stop()
    expect((await Promise.all(inflight)).map((answer) => answer.status)).toEqual([200, 200])
    expect(await stopped).toBe(0)
    expect(server.output()).toContain('Signal (15) received.')
  })

  it('exits 1 when the exit timeout passes with a request in flight', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "60000" } }'), 'm/1/x': '' })
    const server = await startServerProcess([`--model-repository=${repository.path}`, '--exit-timeout-secs=1'])
    const inflight = Promise.allSettled([1, 2].map(() => new HttpClient(server.httpPort).send({ path: '/v2/models/m/infer', body })))
    await untilOneWaits(server)
    expect(await server.stop()).toBe(1)
    expect(server.output()).toContain('Exit timeout expired. Exiting immediately.')
    await inflight
  })

  it('names port, flag and owner when a port is in use', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { code, output } = await runToEnd('serve', `--model-repository=${repository.path}`, ...freePorts.slice(1), `--http-port=${port}`)
    expect(code).toBe(1)
    expect(output).toContain(`error: creating server: Unavailable - --http-port: port ${port} on 127.0.0.1 is in use`)
    if (process.platform === 'linux') expect(output).toContain(`It belongs to process ${process.pid} (`)
    other.close()
  })

  it('exits 1 when a model fails at start, and serves the others with --exit-on-error=false', async () => {
    await using repository = await TemporaryRepository.create({ ...MODEL, 'bad/config.pbtxt': 'backend: "nowhere"', 'bad/1/x': '' })
    const { code, output } = await runToEnd('serve', `--model-repository=${repository.path}`, ...freePorts)
    expect(code).toBe(1)
    expect(output.trimEnd().split('\n').at(-1)).toBe('error: creating server: Internal - failed to load all models')
    const server = await startServerProcess([`--model-repository=${repository.path}`, '--exit-on-error=false'])
    const client = new HttpClient(server.httpPort)
    expect((await client.send({ path: '/v2/models/m/infer', body })).status).toBe(200)
    expect((await client.send({ path: '/v2/health/ready' })).status).toBe(400)
    expect(await server.stop()).toBe(0)
  })

  it('keeps repository control closed on other addresses until a flag opens it', async () => {
    await using repository = await TemporaryRepository.create(MODEL)
    const load = async (...flags: string[]) => {
      const server = await startServerProcess([`--model-repository=${repository.path}`, '--model-control-mode=explicit', '--http-address=0.0.0.0', ...flags])
      const { status } = await new HttpClient(server.httpPort).send({ path: '/v2/repository/models/m/load', method: 'POST' })
      await server.stop()
      return status
    }
    expect(await load()).toBe(403)
    expect(await load('--allow-remote-control')).toBe(200)
  })

  it('prints the usage for an unknown flag and names it', async () => {
    const { code, output } = await runToEnd('serve', '--http-prot=1')
    expect(code).toBe(1)
    expect(output).toMatch(/^unrecognized option '--http-prot'\nUsage: npu-console serve \[flags\]/)
    expect(output).toMatch(/\nnpu-console serve: unrecognized option '--http-prot'\n$/)
  })

  it('answers --help with the usage and 0', async () => {
    for (const [args, usage] of [[['serve', '--help'], 'Usage: npu-console serve [flags]'], [['--help'], 'Usage: npu-console <command>'], [['import', '--help'], 'Usage: npu-console <command>']] as const) {
      const { code, output } = await runToEnd(...args)
      expect(output).toContain(usage)
      expect(code).toBe(0)
    }
  })

  it('says that a repository is no directory', async () => {
    const { code, output } = await runToEnd('serve', '--model-repository=/nowhere/at/all', ...freePorts)
    expect(code).toBe(1)
    expect(output).toContain('error: creating server: Internal - failed to stat file /nowhere/at/all')
  })
})
