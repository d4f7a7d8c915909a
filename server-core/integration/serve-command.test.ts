import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HttpClient } from '../testing/http-client.ts'
import { slowModel } from '../testing/onnx-fixture.ts'
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

/** A server that is not expected to listen. */
function startUnready(...flags: string[]) {
  const child = spawn(process.execPath, [MAIN, 'serve', ...freePorts, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { text += chunk.toString() })
  return { child, output: () => text }
}

const freePorts = ['--http-port=0', '--grpc-port=0', '--metrics-port=0']

/** Resolves when one request runs (a single instance) and one waits. */
async function untilOneWaits(server: ServerProcess): Promise<void> {
  const metrics = new HttpClient(server.metricsPort)
  await expect.poll(async () => (await metrics.send({ path: '/metrics' })).text, { interval: 20, timeout: 10_000 }).toMatch(/nv_inference_pending_request_count\{[^}]*\} 1/)
}

/** States (R: running) of the process's threads of that name. */
function threadStates(processId: number, name: string): string[] {
  return readdirSync(`/proc/${processId}/task`).flatMap((thread) => {
    try {
      const [, threadName, state] = /\((.*)\) (\S)/.exec(readFileSync(`/proc/${processId}/task/${thread}/stat`, 'utf8')) ?? []
      return threadName === name && state !== undefined ? [state] : []
    } catch {
      return [] // it ended meanwhile
    }
  })
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
    expect(server.output()).toContain('Timeout 1: Found 2 HTTP service connections')
    expect(server.output()).toContain('Timeout 0: Found 1 model versions that have in-flight inferences')
    expect(server.output()).toContain("Model 'm' (version 1) has 2 in-flight inferences")
    await inflight
  })

  it.each(['worker', 'native'])('does not wait at its exit for a call into ONNX Runtime that takes longer (implementation=%s)', async (implementation) => {
    await using repository = await TemporaryRepository.create({
      'slow/1/model.onnx': slowModel(),
      'slow/config.pbtxt': `${['input', 'output'].map((kind, index) => `${kind} { name: "${'XY'[index]}" data_type: TYPE_FP32 dims: [ -1, -1 ] }`).join(' ')}
        instance_group { count: 1 kind: KIND_CPU } parameters { key: "intra_op_thread_count" value { string_value: "1" } }`,
    })
    const size = 1500
    const head = Buffer.from(JSON.stringify({ inputs: [{ name: 'X', datatype: 'FP32', shape: [size, size], parameters: { binary_data_size: size * size * 4 } }] }))
    for (const signals of [['SIGTERM'], ['SIGTERM', 'SIGTERM']] as const) {
      const server = await startServerProcess([`--model-repository=${repository.path}`, '--exit-timeout-secs=1', `--backend-config=onnxruntime,implementation=${implementation}`])
      const inflight = Promise.allSettled([new HttpClient(server.httpPort).send({
        path: '/v2/models/slow/infer', body: Buffer.concat([head, Buffer.alloc(size * size * 4)]), headers: { 'inference-header-content-length': String(head.byteLength) },
      })])
      await expect.poll(() => threadStates(server.processId, 'slow_0_0'), { timeout: 20_000 }).toContain('R')
      server.kill(signals[0])
      await expect.poll(() => server.output(), { timeout: 10_000 }).toContain('Found 1 HTTP service connections')
      if (signals[1] !== undefined) server.kill(signals[1])
      expect(await server.exited).toBe(1)
      // It was still computing: the exit did not wait for its end.
      expect((await inflight)[0]?.status).toBe('rejected')
    }
  }, 60_000)

  it('ends a start whose warm-up would take for ever, and one that hangs in its backend when the exit timeout passes', async () => {
    const warmUp = 'model_warmup { name: "w" batch_size: 1 count: 4000000000 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } }'
    const hanging = 'parameters { key: "creation_delay_sec" value { string_value: "600" } }'
    for (const [more, code, last] of [[warmUp, 0, 'Found 0 live models and 0 in-flight non-inference requests'], [hanging, 1, 'Exit timeout expired. Exiting immediately.']] as const) {
      await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig(more), 'm/1/x': '' })
      const { child, output } = startUnready(`--model-repository=${repository.path}`, '--exit-timeout-secs=2')
      await expect.poll(output, { timeout: 20_000 }).toContain('loading: m:1')
      child.kill('SIGTERM')
      const [exitCode] = await once(child, 'close') as [number | null]
      expect(output()).toContain('Signal (15) received.')
      expect(output()).toContain(last)
      expect(exitCode).toBe(code)
    }
  })

  it('ends at once with a second signal', async () => {
    await using repository = await TemporaryRepository.create({ 'm/config.pbtxt': identityConfig('parameters { key: "execute_delay_ms" value { string_value: "60000" } }'), 'm/1/x': '' })
    const server = await startServerProcess([`--model-repository=${repository.path}`])
    const inflight = Promise.allSettled([1, 2].map(() => new HttpClient(server.httpPort).send({ path: '/v2/models/m/infer', body })))
    await untilOneWaits(server)
    server.kill('SIGTERM')
    await expect.poll(() => server.output(), { timeout: 10_000 }).toContain('HTTP service connections')
    server.kill('SIGINT')
    expect(await server.exited).toBe(1)
    await inflight
  })

  it('is ready whatever its models are with --strict-readiness=false, follows the disk in poll mode and caches responses', async () => {
    await using repository = await TemporaryRepository.create({ 'bad/config.pbtxt': 'backend: "nowhere"', 'bad/1/x': '' })
    const server = await startServerProcess([
      `--model-repository=${repository.path}`, '--exit-on-error=false', '--strict-readiness=false', '--model-control-mode=poll', '--repository-poll-secs=1', '--cache-config=local,size=1048576',
    ])
    const client = new HttpClient(server.httpPort)
    expect((await client.send({ path: '/v2/health/ready' })).status).toBe(200)
    await repository.write({ 'm/config.pbtxt': identityConfig('response_cache { enable: true }'), 'm/1/x': '' })
    await expect.poll(async () => (await client.send({ path: '/v2/models/m/ready' })).status, { timeout: 20_000 }).toBe(200)
    for (let round = 0; round < 3; round++) expect((await client.send({ path: '/v2/models/m/infer', body })).status).toBe(200)
    const page = (await new HttpClient(server.metricsPort).send({ path: '/metrics' })).text
    expect(page).toContain('nv_cache_num_hits_per_model{model="m",version="1"} 2')
    expect(page).toContain('nv_inference_exec_count{model="m",version="1"} 1')
    expect(await server.stop()).toBe(0)
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
