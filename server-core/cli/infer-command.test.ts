import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readNpy, writeNpy } from '../tensors/npy.ts'
import { encodeElements } from '../tensors/tensor-codec.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'
import { identityConfig } from '../testing/temporary-repository.ts'
import { inferCommand } from './infer-command.ts'

const tensor = (kind: string, name: string, type: string, dims: string) => `${kind} [ { name: "${name}" data_type: ${type} dims: [ ${dims} ] } ]`
const pair = (type: string, dims: string) => `backend: "identity" max_batch_size: 0 ${tensor('input', 'INPUT0', type, dims)} ${tensor('output', 'OUTPUT0', type, dims)}`

let served: ServedRepository
let files: string
beforeAll(async () => {
  files = await mkdtemp(join(tmpdir(), 'npu-console-test-'))
  served = await serveRepository({
    'floats/config.pbtxt': identityConfig(), 'floats/1/x': '', 'text/config.pbtxt': pair('TYPE_STRING', '-1'), 'text/1/x': '',
    'long/config.pbtxt': pair('TYPE_INT64', '2, -1, -1'), 'long/1/x': '', 'half/config.pbtxt': pair('TYPE_FP16', '-1'), 'half/1/x': '',
    'sequences/config.pbtxt': identityConfig('sequence_batching { }'), 'sequences/1/x': '',
  })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await rm(files, { recursive: true })
})

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = []
  const err: string[] = []
  const code = await inferCommand([`--server=127.0.0.1:${served.running.addresses.http?.port}`, ...args], { print: (text) => { out.push(text) }, printError: (text) => { err.push(text) } })
  return { code, out: out.join('\n'), err: err.join('\n') }
}
async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(files, name), content)
  return join(files, name)
}
const valuesOf = (out: string) => (JSON.parse(out) as { outputs: { shape: number[]; data: unknown[] }[] }).outputs[0]

describe('npu-console infer', () => {
  it('prints a table of the first values, and makes up what is not given', async () => {
    const { code, out, err } = await run('floats', '--input=INPUT0=[[1, 2.5, NaN, -4]]')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^model 'floats', version 1, answered in [\d.]+ ms\nOUTPUT0 FP32 \[1, 4\]: min -4, max 2\.5 at \[0, 1\], mean -0\.1666.*, 1 NaN\n/)
    expect(out).toMatch(/\| \[0, 1\] \| 2\.5 +\|/)
    expect(await run('floats')).toMatchObject({ code: 0, err: "input 'INPUT0' is not given: random values of shape [1, 4]" })
    expect((await run('text', '--input=INPUT0=ramp', '--shape=INPUT0=12')).out).toContain('2 more of 12')
  })

  it.each(['18446744073709551615', 'conversation "1"'])('sends a sequence with all digits of its id, or its text: %s', async (id) => {
    const early = await run('sequences', `--sequence-id=${id}`)
    expect([early.code, early.err]).toEqual([1, expect.stringContaining(`inference request for sequence ${id} to model 'sequences' must specify the START flag`)])
    expect((await run('sequences', `--sequence-id=${id}`, '--sequence-start')).code).toBe(0)
    expect((await run('sequences', `--sequence-id=${id}`, '--sequence-end')).code).toBe(0)
    expect((await run('sequences', `--sequence-id=${id}`)).code).toBe(1)
  })

  it('takes arrays, with or without their batch, and writes them', async () => {
    const one = await file('one.npy', writeNpy({ datatype: 'FP32', shape: [4], data: encodeElements('FP32', [1, 2, 3, 4]) }))
    expect(valuesOf((await run('floats', `--input=INPUT0=${one}`, '--json')).out)).toEqual({ name: 'OUTPUT0', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] })
    const cube = await file('cube.npy', writeNpy({ datatype: 'INT64', shape: [2, 1, 2], data: encodeElements('INT64', [1n, -2n, 9007199254740993n, 4n]) }))
    const { out, err, code } = await run('long', `--input=INPUT0=${cube}`, '--json', `--save=${join(files, 'made', 'here')}`)
    expect([code, err]).toEqual([0, `saved ${join(files, 'made', 'here', 'OUTPUT0.npy')}`])
    expect(out).toContain('"shape":[2,1,2],"data":[1,-2,9007199254740993,4]')
    expect(readNpy(await readFile(join(files, 'made', 'here', 'OUTPUT0.npy')))).toEqual(readNpy(await readFile(cube)))
  })

  it('takes JSON files, the bytes of the protocol, and any file as one element of text', async () => {
    expect(valuesOf((await run('text', `--input=INPUT0=${await file('words.json', '["铭牌", "a\\"b"]')}`, '--json')).out)?.data).toEqual(['铭牌', 'a"b'])
    expect(valuesOf((await run('text', `--input=INPUT0=${await file('line.txt', 'one line')}`, '--json')).out)?.data).toEqual(['one line'])
    expect(valuesOf((await run('text', `--input=INPUT0=${await file('two.bin', Uint8Array.of(1, 0, 0, 0, 65, 0, 0, 0, 0))}`, '--json')).out)?.data).toEqual(['A', ''])
    expect(valuesOf((await run('half', `--input=INPUT0=${await file('half.raw', encodeElements('FP16', [0.5, Infinity]))}`, '--json')).out)?.data).toEqual([0.5, 'Infinity'])
    expect(valuesOf((await run('text', '--input=INPUT0=[]', '--json')).out)).toMatchObject({ shape: [0], data: [] })
  })

  it.each([
    [['--json'], 2, /which MODEL\?/],
    [['floats', 'text'], 2, /unexpected argument 'text'/],
    [['floats', '--input=OTHER=[1]'], 2, /model 'floats' has no input 'OTHER'; it has INPUT0/],
    [['floats', '--input=INPUT0=[1, 2, 3]'], 2, /input 'INPUT0' of shape \[-1, 4\] takes a multiple of 4 elements, the list has 3/],
    [['floats', '--input=INPUT0=[1,\n "x"]'], 2, /line 2, column 2: text does not fit FP32/],
    [['floats', '--input=INPUT0=nowhere.npy'], 2, /'nowhere\.npy' for 'INPUT0' is neither a JSON array, one of zeros, random, ramp, nor a file/],
    [['long', '--input=INPUT0=[1, 2]'], 2, /\[2, -1, -1\], of which the list does not say the free dims: add --shape='INPUT0=DIM,DIM/],
    [['floats', '--shape=INPUT0=1,four'], 2, /expects whole numbers like 1,3,224,224, got: 1,four/],
    [['floats', '--sequence-start'], 2, /need a --sequence-id/],
    [['none'], 1, /Request for unknown model: 'none' is not found/],
    [['floats', '--output=NONE'], 1, /unexpected inference output 'NONE' for model 'floats'/],
  ])('says what is wrong with %j', async (args, code, message) => {
    const result = await run(...args)
    expect(result.code).toBe(code)
    expect(result.err).toMatch(message)
  })

  it('says which file is of another kind', async () => {
    const wide = await file('wide.npy', writeNpy({ datatype: 'FP64', shape: [1, 4], data: new Uint8Array(32) }))
    expect((await run('floats', `--input=INPUT0=${wide}`)).err).toContain("wide.npy holds FP64, input 'INPUT0' takes FP32: convert it with astype")
    expect((await run('floats', `--input=INPUT0=${await file('bad.npy', 'no array')}`)).err).toContain('bad.npy: no .npy file')
  })
})
