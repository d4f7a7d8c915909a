import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Tensor } from '../contract/inference.ts'
import { LogHub } from '../logger.ts'
import { tensorDocument } from './tensor-text.ts'
import { DEFAULT_TRACE_CONFIG, traceConfigWith, type TraceConfig } from './trace-settings.ts'
import { Tracer } from './tracer.ts'

let directory: string
let file: string
let logs: LogHub
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'npu-console-trace-'))
  file = join(directory, 'trace.json')
  logs = new LogHub()
})
afterEach(() => { rmSync(directory, { recursive: true }) })

const tracerOf = (more: Partial<TraceConfig> = {}) => new Tracer({ ...DEFAULT_TRACE_CONFIG, levels: ['TIMESTAMPS'], rate: 1, file, ...more }, logs.logger('tracer'))
const documentAt = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as unknown[]

/** One request of that model, traced if the settings say so. */
function run(tracer: Tracer, model = 'm', id = ''): boolean {
  const trace = tracer.sample(model)
  trace?.begin(model, '2', id)
  trace?.timestamp('REQUEST_START', 7)
  trace?.end()
  return trace !== undefined
}

describe('Tracer', () => {
  it('writes one file that is a whole document after each trace', () => {
    const tracer = tracerOf()
    run(tracer, 'm', 'a')
    expect(documentAt(file)).toEqual([{ id: 1, model_name: 'm', model_version: 2, request_id: 'a' }, { id: 1, timestamps: [{ name: 'REQUEST_START', ns: 7 }] }])
    run(tracer)
    expect(documentAt(file)).toHaveLength(4)
    expect(documentAt(file)[2]).toEqual({ id: 2, model_name: 'm', model_version: 2 })
    tracer.close()
    expect(readdirSync(directory)).toEqual(['trace.json'])
  })

  it('writes files of so many traces each with a log frequency, the last one when it ends', () => {
    const tracer = tracerOf({ logFrequency: 2 })
    for (let index = 0; index < 3; index++) run(tracer)
    expect(readdirSync(directory)).toEqual(['trace.json.0'])
    tracer.close()
    expect([documentAt(`${file}.0`).length, documentAt(`${file}.1`).length]).toEqual([4, 2])
  })

  it('traces every rate-th request, until the count is used up', () => {
    const tracer = tracerOf({ rate: 3, count: 2 })
    expect(Array.from({ length: 12 }, () => run(tracer))).toEqual([false, false, true, false, false, true, false, false, false, false, false, false])
    expect(tracer.settings('').count).toBe(0)
    tracer.change('', { count: 1 })
    expect(Array.from({ length: 3 }, () => run(tracer))).toEqual([false, false, true])
  })

  it('lets a model have settings of its own', () => {
    const tracer = tracerOf({ levels: [] })
    tracer.change('own', { levels: ['TIMESTAMPS'] })
    expect([run(tracer, 'other'), run(tracer, 'own')]).toEqual([false, true])
    tracer.change('own', { levels: null })
    expect(run(tracer, 'own')).toBe(false)
  })

  it('is off without a file, and says so', () => {
    const tracer = tracerOf({ file: '' })
    expect(run(tracer)).toBe(false)
    tracer.change('', { levels: ['TENSORS'] })
    expect(logs.recent(1)[0]?.message).toContain('Start the server with --trace-config triton,file=<path>')
  })

  it('names the parent of a step, and leaves out what no model took in', () => {
    const tracer = tracerOf()
    const trace = tracer.sample('ensemble')
    trace?.begin('ensemble', '1', '')
    const step = trace?.child()
    step?.begin('step', '1', '')
    step?.requestEnded()
    trace?.requestEnded()
    trace?.end()
    tracer.sample('refused')?.end()
    expect(documentAt(file)).toEqual([{ id: 2, model_name: 'step', model_version: 1, parent_id: 1 }, { id: 1, model_name: 'ensemble', model_version: 1 }])
  })

  it('writes tensors where the level has them, and only those', () => {
    const tracer = tracerOf({ levels: ['TENSORS'] })
    const trace = tracer.sample('m')
    trace?.begin('m', '1', '')
    trace?.timestamp('REQUEST_START', 1)
    trace?.tensors('TENSOR_QUEUE_INPUT', [{ name: 'IN', datatype: 'INT32', shape: [1, 3], data: new Uint8Array(Int32Array.of(1, -2, 3).buffer) }])
    trace?.end()
    expect(documentAt(file)[1]).toEqual({ id: 1, activity: 'TENSOR_QUEUE_INPUT', tensor: { name: 'IN', data: '1,-2,3', shape: '1,3', dtype: 'INT32' } })
    expect(documentAt(file)).toHaveLength(2)
  })

  it('says that traces cannot be written, and goes on without', () => {
    const tracer = tracerOf({ file: '/no/such/directory/trace.json' })
    expect([run(tracer), run(tracer)]).toEqual([true, true])
    expect(logs.recent(10).filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})

it.each<[Tensor['datatype'], Uint8Array, string]>([
  ['BOOL', Uint8Array.of(1, 0), '1,0'],
  ['INT8', Uint8Array.of(255), '-1'],
  ['UINT64', new Uint8Array(BigUint64Array.of(2n ** 64n - 1n).buffer), '18446744073709551615'],
  ['FP16', new Uint8Array(Uint16Array.of(0x3c00, 0xc000, 0x7c00, 1).buffer), `1,-2,Infinity,${2 ** -24}`],
  ['BF16', new Uint8Array(Uint16Array.of(0x3f80, 0xc000).buffer), '1,-2'],
  ['FP32', new Uint8Array(Float32Array.of(0.5).buffer), '0.5'],
  ['BYTES', Uint8Array.of(1, 0, 0, 0, 97, 0, 0, 0, 0), 'a,'],
  ['INT32', Uint8Array.of(1, 0, 0, 0, 9), '1'],
])('prints %s', (datatype, data, text) => {
  expect(JSON.parse(tensorDocument({ name: 'T', datatype, shape: [1], data }))).toEqual({ name: 'T', data: text, shape: '1', dtype: datatype })
})

describe('--trace-config', () => {
  it('collects settings', () => {
    const texts = ['level=TENSORS', 'level=TIMESTAMPS', 'rate=5', 'count=-1', 'mode=triton', 'triton,file=/tmp/t.json', 'triton,log-frequency=10']
    expect(texts.reduce(traceConfigWith, DEFAULT_TRACE_CONFIG)).toEqual({ levels: ['TIMESTAMPS', 'TENSORS'], rate: 5, count: -1, logFrequency: 10, file: '/tmp/t.json' })
    expect(traceConfigWith({ ...DEFAULT_TRACE_CONFIG, levels: ['TENSORS'] }, 'level=OFF').levels).toEqual([])
  })

  it.each([
    ['mode=opentelemetry', /opentelemetry is not there/], ['opentelemetry,url=x', /opentelemetry is not there/], ['mode=x', /unknown trace mode 'x'/], ['rate=x', /Unable to parse 'rate', got: x/],
    ['count=-2', /Expecting value >= -1, got: -2/], ['level=ALL', /unknown trace level 'ALL'/], ['file=x', /--trace-config expects/], ['x', /--trace-config expects/],
  ])('refuses %s', (text, message) => {
    expect(() => traceConfigWith(DEFAULT_TRACE_CONFIG, text)).toThrow(message)
  })
})
