/**
 * A test double of the console's server side: it serves a built window and answers the console WebSocket from memory. It shows what the real
 * server rarely shows (failed, degraded and slow loads, cards, hundreds of models). Nothing in the product uses it.
 *
 *   node e2e/testing/fake-console-server.ts [--dist dist/renderer] [--port 8700] [--scenario busy|empty|many|poll]
 */
import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { parseArgs } from 'node:util'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { decodeConsoleMessage, encodeConsoleMessage } from '../../server-core/contract/console-codec.ts'
import type { ClientMessage, ConsoleCommandName, ConsoleEventName, ConsoleEvents, LogEntry, LogLevel, ModelImportSource, ServerMessage, ServerStatus } from '../../server-core/contract/console-api.ts'
import type { LoadStage, LoadStageKind, ModelReadyState, ModelSummary } from '../../server-core/contract/repository.ts'
import { latencyBucketIndex } from '../../server-core/contract/statistics.ts'
import type { ModelSample, ServerSample } from '../../server-core/contract/statistics.ts'

const { values: options } = parseArgs({ options: { dist: { type: 'string', default: 'dist/renderer' }, port: { type: 'string', default: '8700' }, scenario: { type: 'string', default: 'busy' } } })

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.woff2': 'font/woff2', '.svg': 'image/svg+xml' }
const startedAt = Date.now() - 274_000_000
const FAILURES = {
  yolov9s: "Invalid argument: unexpected shape for input 'images' for model 'yolov9s'. Expected [-1,-1,3,640,640], got [-1,3,640,640]. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. (config.pbtxt:9:13)",
  layout_yolo: "Invalid argument: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration.",
}

function stageOf(kind: LoadStageKind): LoadStage {
  return { kind, version: '', instance: 0, instanceCount: 0, startedAt: Date.now() }
}

function summary(name: string, state: ModelReadyState, backend: string, extra: Partial<ModelSummary> = {}): ModelSummary {
  const isUp = state === 'READY'
  const reason = extra.reason ?? (state === 'UNAVAILABLE' ? 'unloaded' : '')
  return {
    name, repositoryPath: '/data/edge-ocr', backend, platform: '', state, reason,
    versions: [{ version: '1', state, reason, files: [{ path: '1/model.onnx', byteSize: 10_857_958, modifiedAt: startedAt }], changedAt: startedAt, instances: [] }],
    instanceCount: isUp ? 2 : null, runsOn: isUp ? 'CPU' : null, isSimulated: false, degraded: null, changedAt: state === 'UNKNOWN' ? 0 : Date.now() - 60_000 * (name.length + 1), stage: null, lastLoad: null, traffic: null, maxBatchSize: 8, awaitsTrust: null, ...extra,
  }
}

function firstModels(): ModelSummary[] {
  if (options.scenario === 'empty') return []
  if (options.scenario === 'many') return Array.from({ length: 500 }, (_, i) => summary(`model_${String(i).padStart(3, '0')}`, i % 7 === 0 ? 'UNKNOWN' : 'READY', 'onnxruntime'))
  const file = (path: string) => ({ path, byteSize: 10_857_958, modifiedAt: startedAt })
  return [
    summary('yolov9s', 'UNAVAILABLE', 'onnxruntime', { reason: FAILURES.yolov9s }),
    summary('layout_yolo', 'UNAVAILABLE', 'tensorrt', { reason: FAILURES.layout_yolo }),
    summary('ppocr_rec', 'READY', 'onnxruntime', { versions: [
      { version: '5', state: 'READY', reason: '', files: [file('5/model.onnx'), file('5/labels.txt')], changedAt: startedAt, instances: [] }, { version: '4', state: 'UNAVAILABLE', reason: 'unloaded', files: [file('4/model.onnx')], changedAt: startedAt, instances: [] }] }),
    summary('cnclip_image', 'READY', 'onnxruntime', { versions: [
      { version: '3', state: 'UNAVAILABLE', reason: 'Internal: onnx runtime error 1: Load model from model.onnx failed: Protobuf parsing failed.', files: [file('3/model.onnx')], changedAt: startedAt, instances: [] },
      { version: '2', state: 'READY', reason: '', files: [file('2/model.onnx')], changedAt: startedAt, instances: [] }] }),
    ...['ppocr_det', 'ppocr_cls', 'silero_vad'].map((name) => summary(name, 'READY', 'onnxruntime')),
    summary('bge_small_zh', 'LOADING', 'onnxruntime', { stage: stageOf('creatingInstance'), changedAt: Date.now() - 4000 }),
    summary('sensevoice_small', 'UNKNOWN', 'python'), summary('paraformer_zh_streaming_large_with_a_long_name', 'UNAVAILABLE', 'python'),
  ]
}

const models = new Map(firstModels().map((model) => [model.name, model]))
const clients = new Set<WebSocket>()
const log: LogEntry[] = []
const samples: ServerSample[] = []

function push<K extends ConsoleEventName>(name: K, value: ConsoleEvents[K]): void {
  const frame = encodeConsoleMessage({ type: 'event', name, value } satisfies ServerMessage)
  for (const client of clients) client.send(frame)
}

function say(level: LogLevel, source: string, message: string, fields: LogEntry['fields'] = {}): void {
  const entry: LogEntry = { sequence: log.length + 1, time: Date.now(), level, source, message, fields }
  log.push(entry)
  push('log.appended', [entry])
}

function change(name: string, part: Partial<ModelSummary>): void {
  const before = models.get(name)
  if (!before) return
  const model = { ...before, ...part, changedAt: part.state !== undefined && part.state !== before.state ? Date.now() : before.changedAt }
  const versions = model.versions.map((version, index) => (index === 0 ? { ...version, state: model.state, reason: model.reason } : version))
  models.set(name, { ...model, versions })
  push('model.changed', { ...model, versions })
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const listen = (port: number) => ({ address: '127.0.0.1', port })

function status(): ServerStatus {
  return {
    id: 'triton', version: '2.73.0', instanceId: String(startedAt), state: 'READY', startedAt, controlMode: options.scenario === 'poll' ? 'poll' : 'explicit',
    repositoryPaths: options.scenario === 'empty' ? [] : ['/data/edge-ocr'], http: listen(8000), grpc: listen(8001), metrics: listen(8002), console: listen(Number(options.port)), processId: process.pid,
    nodeVersion: process.version, onnxRuntimeVersion: '1.30.0', platform: 'linux-x64', cpuCount: 8, totalMemoryBytes: 2 ** 34, npuCount: null, cannVersion: null, driverVersion: null, npuSource: 'auto', npuFallback: 'fail', canRestart: false, repositoryTrust: { mode: 'all', trusted: [] },
  }
}

class Refusal extends Error {}

let imported: ModelImportSource = { kind: 'local', paths: [] }

const handlers: Partial<Record<ConsoleCommandName, (args: Record<string, unknown>) => unknown>> = {
  'server.status': status,
  'devices.report': () => ({ source: null, isSimulated: false, driverVersion: null, problem: null, cards: [], processes: null, memory: [], visibleDevices: null }),
  'doctor.run': () => ({ ranAt: Date.now(), milliseconds: 0, hasNpu: false, isSimulated: false, summary: { en: 'The test double has no machine.', 'zh-CN': '测试替身没有机器。' }, devices: [], checks: [] }),
  'repository.models': () => [...models.values()],
  'repository.rescan': () => [...models.values()],
  'repository.open': () => { throw new Refusal('/data/old is not a directory or cannot be read (EACCES)') },
  'repository.openSample': () => status(),
  'repository.recent': () => ['/data/edge-ocr', '/home/user/models'],
  'repository.browse': ({ path }) => ({
    path: path === '' ? '/home/user' : path, parent: '/home',
    directories: ['models', 'projects', 'video'].map((name) => ({ name, path: `/home/user/${name}`, looksLikeRepository: name === 'models' })),
  }),
  'statistics.history': () => samples,
  'log.recent': () => log.slice(-500),
  'model.load': async ({ name }) => {
    const model = models.get(String(name))
    if (!model) throw new Refusal(`failed to load '${String(name)}', failed to poll from model repository`)
    say('info', 'model-lifecycle', 'loading', { model: model.name, version: 1 })
    for (const kind of ['readingConfig', 'initializingModel', 'creatingInstance'] as const) {
      change(model.name, { state: 'LOADING', stage: stageOf(kind), reason: '' })
      await wait(700)
    }
    const reason = FAILURES[model.name as keyof typeof FAILURES]
    if (reason !== undefined) {
      say('error', 'model-lifecycle', `failed to load '${model.name}' version 1: ${reason}`, { model: model.name })
      change(model.name, { state: 'UNAVAILABLE', stage: null, reason })
      throw new Refusal(`failed to load '${model.name}', no version is available`)
    }
    change(model.name, { state: 'READY', stage: null, instanceCount: 1, runsOn: 'CPU' })
    say('info', 'model-lifecycle', 'successfully loaded', { model: model.name, version: 1, ms: 2100 })
  },
  'model.unload': ({ name }) => { change(String(name), { state: 'UNAVAILABLE', reason: 'unloaded', instanceCount: null, runsOn: null }) },
  'model.detail': ({ name }) => ({
    summary: models.get(String(name)), metadata: null, config: null, configText: 'name: "yolov9s"\nmax_batch_size: 8\n', effectiveConfigText: null, samples: [],
    log: log.filter((entry) => entry.fields['model'] === name),
  }),
  'import.open': ({ source }) => {
    imported = source as ModelImportSource
    return { importId: 'import' }
  },
  'import.chunk': () => wait(200),
  'import.close': () => {},
  'import.review': ({ backend }) => {
    const path = imported.kind === 'template' ? `${imported.name}/model.py` : imported.kind === 'local' ? imported.paths[0] ?? '' : imported.files[0]?.path ?? ''
    const fileName = path.split('/').at(-1) ?? ''
    const kind = fileName.endsWith('.om') ? 'om' : fileName.endsWith('.py') ? 'python' : 'onnx'
    const names = { onnx: ['onnxruntime', 'npu_ge'], om: ['npu_om'], python: ['python'] }[kind]
    const modelName = fileName.replace(/\.\w+$/, '')
    return {
      kind, modelName, fileName, byteSize: 9_340_000, backend: backend ?? names[0], backends: names.map((name) => ({ name, isHere: name === 'onnxruntime' })), opset: kind === 'onnx' ? 14 : null,
      inputs: kind === 'onnx' ? [{ name: 'x', datatype: 'FP32', shape: ['batch', 3, 48, 'width'] }] : [], outputs: kind === 'onnx' ? [{ name: 'softmax', datatype: 'FP32', shape: ['batch', 'time', 6625] }] : [],
      signature: kind === 'onnx' ? 'complete' : 'unknown', signatureReason: null, isConfigGenerated: true, files: [{ path: `1/model.${kind === 'python' ? 'py' : kind}`, byteSize: 9_340_000 }], leftOut: [], missingFiles: [],
      existingModel: null, isLocal: imported.kind === 'local', configText: `backend: "${String(backend ?? names[0])}"\nmax_batch_size: 8\ndynamic_batching { }\n`,
    }
  },
  'import.create': ({ modelName }) => {
    const model = summary(String(modelName), 'UNKNOWN', 'onnxruntime')
    models.set(model.name, model)
    push('model.changed', model)
    return { model, version: 1, method: 'copy' }
  },
}

async function answer(client: WebSocket, message: ClientMessage): Promise<void> {
  let reply: ServerMessage
  try {
    const handler = handlers[message.name]
    if (!handler) throw new Refusal(`the test double does not answer ${message.name}`)
    reply = { type: 'result', id: message.id, ok: true, value: await handler((message.args ?? {}) as Record<string, unknown>) }
  } catch (error) {
    reply = { type: 'result', id: message.id, ok: false, error: { kind: error instanceof Refusal ? 'INVALID_ARG' : 'INTERNAL', message: (error as Error).message } }
  }
  client.send(encodeConsoleMessage(reply))
}

function sampleAt(time: number): ServerSample {
  const rows: ModelSample[] = [...models.values()].filter((model) => model.state === 'READY' && model.name !== 'silero_vad').slice(0, 12).map((model, index) => {
    const count = Math.round(40 + 20 * Math.sin(time / 20_000 + index) + 10 * Math.random())
    const latency: Record<number, number> = {}
    for (let i = 0; i < count; i++) {
      const bucket = latencyBucketIndex((2 + index * 3 + 3 * Math.random() ** 3) * 1e6)
      latency[bucket] = (latency[bucket] ?? 0) + 1
    }
    const failure = index === 2 && Math.random() < 0.1 ? 1 : 0
    return {
      model: model.name, version: '1', success: count, failure, inferences: count, executions: Math.ceil(count / 4), latency, queueNanoseconds: count * 4e5,
      computeInputNanoseconds: count * 1e5, computeInferNanoseconds: count * 2e6, computeOutputNanoseconds: count * 1e5, batchSizes: { 4: Math.ceil(count / 4) }, pending: index === 0 ? 3 : 0, inFlight: index === 0 ? 4 : 0,
    }
  })
  return { time, models: rows, processCpuCores: 1.4, processResidentBytes: 412e6, npus: null }
}

const second = () => Math.floor(Date.now() / 1000) * 1000
for (let i = 600; i > 0; i--) samples.push(sampleAt(second() - i * 1000))
setInterval(() => {
  samples.push(sampleAt(second()))
  push('statistics.sample', samples[samples.length - 1] as ServerSample)
  if (samples.length % 3 === 0) say('verbose', 'http-frontend', 'request served', { model: 'ppocr_rec', ms: 6.8 })
}, 1000)
say('info', 'server', 'listening', { http: 8000, grpc: 8001, metrics: 8002 })
say('error', 'model-lifecycle', `failed to load 'yolov9s' version 1: ${FAILURES.yolov9s}`, { model: 'yolov9s' })
say('warning', 'model-repository', 'two model directories have the same name', { model: 'ppocr_cls' })

const http = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname))
  const file = join(options.dist, path === '/' ? 'index.html' : path)
  if (!existsSync(file)) {
    response.writeHead(404).end()
    return
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'content-security-policy': "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'",
  })
  createReadStream(file).pipe(response)
})
new WebSocketServer({ server: http, path: '/console' }).on('connection', (client) => {
  clients.add(client)
  client.on('close', () => clients.delete(client))
  client.on('message', (data: Buffer, isBinary) => void answer(client, decodeConsoleMessage(isBinary ? new Uint8Array(data) : data.toString()) as ClientMessage))
})
http.listen(Number(options.port), '127.0.0.1', () => console.log(`test double: http://127.0.0.1:${options.port}/ (${options.scenario})`))
