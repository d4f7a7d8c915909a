import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HttpClient } from '../testing/http-client.ts'
import { addModel } from '../testing/onnx-fixture.ts'
import { startServerProcess } from '../testing/server-process.ts'
import { TemporaryRepository } from '../testing/temporary-repository.ts'

/**
 * ONNX Runtime's build reports usage unless it is told not to. Proof: a library preloaded into the process records (and refuses) every
 * attempt to resolve a name or to reach another machine. Our server runs under it for longer than bare onnxruntime-node with its default
 * needs to be caught; that run is the control that the recorder sees such an attempt. What it cannot see: system calls that go around the
 * C library, and attempts that would only come after the observed time.
 */
const RECORDER_SOURCE = fileURLToPath(new URL('../testing/network-recorder.c', import.meta.url))
const LONGEST_WAIT_MILLISECONDS = 40_000
const BUILD_SERVICE_VARIABLES = [
  'CI', 'GITHUB_ACTIONS', 'TF_BUILD', 'GITLAB_CI', 'JENKINS_URL', 'JENKINS_HOME', 'TRAVIS', 'CIRCLECI', 'BUILDKITE', 'APPVEYOR', 'TEAMCITY_VERSION', 'CODEBUILD_BUILD_ID',
]

const BARE_RUN = `
  const { InferenceSession, Tensor } = require('onnxruntime-node')
  InferenceSession.create(process.argv[1]).then(async (session) => {
    const tensor = () => new Tensor('float32', new Float32Array(4), [1, 4])
    await session.run({ A: tensor(), B: tensor() })
    setInterval(() => {}, 1000)
  })`

function buildRecorder(directory: string): string {
  const library = join(directory, 'network-recorder.so')
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, RECORDER_SOURCE, '-ldl'], { encoding: 'utf8' })
  if (built.error !== undefined || built.status !== 0) {
    throw new Error(`the C compiler cannot build the network recorder (install it with: apt-get install gcc libc6-dev): ${built.error?.message ?? built.stderr}`)
  }
  return library
}

/** This process's environment without the variables that make ONNX Runtime keep silent by itself: its own switch and the marks of a build service. */
function environmentWithTelemetry(): NodeJS.ProcessEnv {
  const environment = { ...process.env }
  for (const name of ['ORT_DISABLE_TELEMETRY', ...BUILD_SERVICE_VARIABLES]) delete environment[name]
  return environment
}

describe.runIf(process.platform === 'linux')('outbound connections', () => {
  it.each(['native', 'worker'])('are never tried by a server that runs an ONNX model, implementation=%s', { timeout: 180_000 }, async (implementation) => {
    await using work = await TemporaryRepository.create({ 'models/add/1/model.onnx': addModel(4), 'home/keep': '' })
    const recorder = buildRecorder(work.path)
    const environment = (file: string) => ({
      LD_PRELOAD: recorder, NETWORK_RECORDER_FILE: file, HOME: join(work.path, 'home'), XDG_CACHE_HOME: join(work.path, 'home'),
    })

    const inherited = environmentWithTelemetry()
    const serverFile = join(work.path, 'server.txt')
    const server = await startServerProcess([`--model-repository=${join(work.path, 'models')}`, `--backend-config=onnxruntime,implementation=${implementation}`], { env: { ...inherited, ...environment(serverFile) } })
    const client = new HttpClient(server.httpPort)
    const body = JSON.stringify({ inputs: ['A', 'B'].map((name) => ({ name, datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] })) })
    const answer = await client.send({ path: '/v2/models/add/infer', body })
    expect(answer.status).toBe(200)

    const bareFile = join(work.path, 'bare.txt')
    const started = Date.now()
    const bare = spawn(process.execPath, ['-e', BARE_RUN, join(work.path, 'models/add/1/model.onnx')], {
      stdio: 'ignore', env: { ...inherited, ...environment(bareFile) }, cwd: fileURLToPath(new URL('../..', import.meta.url)),
    })
    await expect.poll(() => existsSync(bareFile), { timeout: LONGEST_WAIT_MILLISECONDS, interval: 100 }).toBe(true)
    const untilFirstAttempt = Date.now() - started
    bare.kill('SIGKILL')
    await once(bare, 'exit')
    expect(readFileSync(bareFile, 'utf8')).toMatch(/^getaddrinfo \S+\.microsoft\.com/)

    await sleep(untilFirstAttempt / 2 + 1000)
    expect(await server.stop()).toBe(0)
    expect(existsSync(serverFile) ? readFileSync(serverFile, 'utf8') : '').toBe('')
  })
})
