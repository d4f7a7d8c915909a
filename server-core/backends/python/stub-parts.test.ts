import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fstatSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ProcessWatcher } from './process-watcher.ts'
import { releaseMemory } from '../../release-memory.ts'
import { PythonMetrics } from './python-metrics.ts'
import { openUnnamedFile, SharedRegion } from './shared-region.ts'
import { StubHealth } from './stub-health.ts'
import { LineReader, MAX_LINES_PER_SECOND } from './stub-log.ts'
import { errorOf, failureOf, parametersJson, parametersOf, sequenceFlags, sequenceIdOf, sequenceOf } from './stub-values.ts'

describe.each([['mapped', true], ['through its file', false]])('SharedRegion, %s', (_how, isMapped) => {
  const settings = { byteSize: 4096, growthByteSize: 4096, prefix: 'npu_console_test_', isMapped }
  const filled = (length: number, value: number) => new Uint8Array(length).fill(value)

  it('has no name, gives memory again, and joins neighbours', () => {
    const region = new SharedRegion(settings)
    expect(readdirSync('/dev/shm').filter((name) => name.startsWith(settings.prefix))).toEqual([])
    expect(region.write([filled(100, 1), filled(0, 2), filled(64, 3)])).toEqual([0, 128, 128])
    const second = region.write([filled(3000, 4)])[0] ?? -1
    expect(second).toBe(192)
    region.release(0)
    region.release(second)
    region.release(second)
    expect(region.usedBlocks).toBe(0)
    expect(region.write([filled(4096, 5)])).toEqual([0])
    expect(region.byteSize).toBe(4096)
    expect(region.read(4000, 96)).toEqual(Buffer.alloc(96, 5))
    region.close()
  })

  it('grows by steps, and keeps what is there', () => {
    const region = new SharedRegion(settings)
    const first = region.write([filled(1000, 1)])[0] ?? -1
    const large = region.write([filled(10_000, 2)])[0] ?? -1
    expect([region.byteSize, fstatSync(region.descriptor).size]).toEqual([12_288, 12_288])
    expect(region.read(first, 1000)).toEqual(Buffer.alloc(1000, 1))
    expect(region.read(large, 10_000)).toEqual(Buffer.alloc(10_000, 2))
    region.close()
  })

  it('holds what it was told in any order of writes and releases', () => {
    const region = new SharedRegion(settings)
    const held = new Map<number, { length: number; value: number }>()
    let seed = 7
    const random = (limit: number) => (seed = (seed * 48_271) % 2_147_483_647) % limit
    for (let round = 0; round < 2000; round++) {
      const [oldest] = held.keys()
      if (oldest !== undefined && random(2) === 0) {
        const chosen = [...held.keys()][random(held.size)] ?? oldest
        region.release(chosen)
        held.delete(chosen)
      } else {
        const [length, value] = [1 + random(700), random(256)]
        held.set(region.write([filled(length, value)])[0] ?? -1, { length, value })
      }
      if (round % 50 !== 0) continue
      for (const [offset, { length, value }] of held) expect(region.read(offset, length).every((byte) => byte === value)).toBe(true)
    }
    for (const offset of held.keys()) region.release(offset)
    region.write([filled(region.byteSize, 1)])
    region.close()
  })

  it('lends large pieces where they can be mapped, which outlast it', () => {
    const region = new SharedRegion(settings)
    const block = region.write([filled(100, 1), filled(70_000, 2)])[0] ?? -1
    expect([region.lend(128, 66_000, 999) === null, region.lend(0, 100, block), region.lend(128, 200_000, block)]).toEqual([!isMapped, null, null])
    const lent = region.lend(128, 70_000, block)
    region.release(block)
    expect(region.usedBlocks).toBe(isMapped ? 1 : 0)
    region.close()
    if (lent === null) return
    expect(Buffer.alloc(70_000, 2).equals(lent)).toBe(true)
  })

  it('says what to do where memory is not to be had', () => {
    expect(() => new SharedRegion({ ...settings, byteSize: 2 ** 50 })).toThrow(/^Failed to increase the shared memory pool by 1125899906842624 bytes to 1125899906842624: \/dev\/shm has \d+ bytes left\. Give \/dev\/shm more memory/)
    expect(() => openUnnamedFile({ prefix: 'x', directory: '/nowhere' })).toThrow('Python models need shared memory, and no file can be made in /nowhere: ENOENT')
    const region = new SharedRegion(settings)
    expect(() => region.read(4000, 1000)).toThrow('a tensor of 1000 bytes at 4000, which is beyond its shared memory')
    region.close()
  })
})

describe('SharedRegion with memory that is lent', () => {
  it('uses blocks again that were lent', async () => {
    const region = new SharedRegion({ byteSize: 4096, growthByteSize: 4096, prefix: 'npu_console_test_' })
    const block = region.write([new Uint8Array(70_000).fill(2)])[0] ?? -1
    const [first, second] = [region.lend(0, 70_000, block), region.lend(0, 65_536, block)]
    if (first === null || second === null) throw new Error('nothing was lent')
    region.release(block)
    releaseMemory(first)
    await new Promise((resolve) => { setImmediate(resolve) })
    expect(region.usedBlocks).toBe(1)
    expect(region.write([new Uint8Array(64)])).not.toEqual([0])
    expect(second[0]).toBe(2)
    releaseMemory(second)
    await expect.poll(() => region.usedBlocks).toBe(1)
    expect(region.write([new Uint8Array(70_000)])).toEqual([0])
    region.close()
  })
})

describe('LineReader', () => {
  function reader(now = () => 0) {
    const lines: string[] = []
    const leftOut: number[] = []
    return { lines, leftOut, reader: new LineReader({ now, onLine: (line) => { lines.push(line) }, onLeftOut: (count) => { leftOut.push(count) } }) }
  }

  it('puts lines together that come in pieces, also within a character', () => {
    const { lines, reader: made } = reader()
    const bytes = Buffer.from('eins\r\nzwei é\n\ndrei')
    for (const byte of bytes) made.take(Buffer.from([byte]))
    expect(lines).toEqual(['eins', 'zwei é', ''])
    made.end()
    expect(lines.at(-1)).toBe('drei')
    expect(made.lastLines).toEqual(['eins', 'zwei é', '', 'drei'])
  })

  it('cuts lines without end', () => {
    const { lines, reader: made } = reader()
    made.take(Buffer.alloc(40_000, 'a'))
    expect(lines.map(({ length }) => length)).toEqual([16_384, 16_384])
  })

  it('passes so many a second on, and counts the rest', () => {
    let now = 0
    const { lines, leftOut, reader: made } = reader(() => now)
    made.take(Buffer.from('x\n'.repeat(5000)))
    expect([lines.length, leftOut]).toEqual([MAX_LINES_PER_SECOND, []])
    now = 1000
    made.take(Buffer.from('y\n'))
    expect([lines.length, lines.at(-1), leftOut]).toEqual([MAX_LINES_PER_SECOND + 1, 'y', [4000]])
    expect(made.lastLines.at(-1)).toBe('y')
  })
})

describe('StubHealth', () => {
  function health(timeoutSeconds: number) {
    const told: string[] = []
    return { told, health: new StubHealth({ timeoutSeconds, ping: () => { told.push('ping') }, onStuck: () => { told.push('stuck') }, onAnswersAgain: () => { told.push('again') }, onLost: () => { told.push('lost') } }) }
  }

  it('is not there within five seconds of silence, and there again with an answer', () => {
    const { told, health: made } = health(30)
    for (let second = 0; second < 3; second++) { made.tick(); made.answered() }
    expect([made.isResponding, told]).toEqual([true, ['ping', 'ping', 'ping']])
    for (let second = 0; second < 5; second++) made.tick()
    expect([made.isResponding, told.slice(3)]).toEqual([false, ['ping', 'stuck']])
    made.answered()
    expect([made.isResponding, told.at(-1)]).toEqual([true, 'again'])
  })

  it('is lost once, after the time limit', () => {
    const { told, health: made } = health(10)
    for (let second = 0; second < 30; second++) made.tick()
    expect(told).toEqual(['ping', 'stuck', 'lost'])
  })
})

describe('ProcessWatcher', () => {
  it('kills the groups that it was told of when it is left alone, and no others', async () => {
    const sleeper = () => spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    const children = [sleeper(), sleeper(), sleeper()]
    const ends = children.map((child) => once(child, 'exit'))
    const script = `
      import { ProcessWatcher } from ${JSON.stringify(new URL('./process-watcher.ts', import.meta.url).href)}
      const watcher = new ProcessWatcher()
      const [a, b, c] = process.argv.slice(1).map(Number)
      watcher.watch(a); watcher.watch(b); watcher.watch(c); watcher.forget(b)
      setTimeout(() => { process.kill(process.pid, 'SIGKILL') }, 300)
    `
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script, ...children.map(({ pid }) => String(pid))], { stdio: 'ignore' })
    expect((await once(owner, 'exit'))[1]).toBe('SIGKILL')
    expect([(await ends[0])?.[1], (await ends[2])?.[1]]).toEqual(['SIGKILL', 'SIGKILL'])
    expect(children[1]?.exitCode === null && children[1]?.signalCode === null).toBe(true)
    children[1]?.kill('SIGTERM')
    await ends[1]
  })

  it('is started again when somebody ends it', async () => {
    const watcher = new ProcessWatcher()
    watcher.watch(999_999_999)
    const first = watcher.processId ?? 0
    process.kill(first, 'SIGKILL')
    await expect.poll(() => watcher.processId !== null && watcher.processId !== first).toBe(true)
    watcher.forget(999_999_999)
    process.kill(watcher.processId ?? 0, 'SIGKILL')
    await expect.poll(() => watcher.processId).toBeNull()
  })
})

describe('values', () => {
  it('of parameters keep their types', () => {
    expect(parametersJson({ i: 2n ** 63n, d: 1, e: 1.5, n: NaN, big: 1e21, s: '"', b: true })).toBe('{"i":9223372036854775808,"d":1.0,"e":1.5,"n":null,"big":1e+21,"s":"\\"","b":true}')
    expect(parametersOf([['i', 'int', '9223372036854775808'], ['d', 'double', '1.0'], ['s', 'string', 'x'], ['b', 'bool', 'false']])).toEqual({ i: 2n ** 63n, d: 1, s: 'x', b: false })
  })

  it('of errors and sequences are the numbers of Triton', () => {
    expect(failureOf({ kind: 'UNAVAILABLE', message: 'm' })).toEqual([4, 'm'])
    expect([errorOf([7, 'm']).kind, errorOf([99, 'm']).kind]).toEqual(['CANCELLED', 'UNKNOWN'])
    expect([sequenceFlags({ sequenceStart: true, sequenceEnd: true }), sequenceOf(2)]).toEqual([3, { sequenceStart: false, sequenceEnd: true }])
    expect([sequenceIdOf(['int', '18446744073709551615']), sequenceIdOf(['string', 'a'])]).toEqual([2n ** 64n - 1n, 'a'])
  })
})

describe('PythonMetrics', () => {
  it('refuses names that Prometheus does not take', () => {
    const metrics = new PythonMetrics()
    expect(() => metrics.family('a-b', '', 'GAUGE')).toThrow("Invalid metric family name 'a-b'")
    metrics.family('a', 'text\nwith \\ lines', 'GAUGE')
    expect(() => metrics.hold('a', { 'x-y': '1' }, [])).toThrow("Invalid label name 'x-y' for metric family 'a'")
    const metric = metrics.hold('a', { b: '"\n\\' }, [])
    metrics.act(metric, 'set', -Infinity)
    expect(metrics.text()).toBe('# HELP a text\\nwith \\\\ lines\n# TYPE a gauge\na{b="\\"\\n\\\\"} -Inf\n')
    metrics.release(metric)
    expect(metrics.text()).toBe('# HELP a text\\nwith \\\\ lines\n# TYPE a gauge\n')
  })
})
