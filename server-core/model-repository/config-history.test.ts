import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configHistory, configHistoryText, KEPT_CONFIG_SAVES, rememberConfigSave } from './config-history.ts'
import type { HistoryPlace } from './config-history.ts'

let dataDirectory: string
let place: HistoryPlace
beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'config-history-'))
  place = { dataDirectory, repositoryPath: '/models', modelName: '识别 model' }
})
afterEach(async () => { await rm(dataDirectory, { recursive: true, force: true }) })

const texts = async (of = place) => await Promise.all((await configHistory(of)).map((entry) => configHistoryText(of, entry.id)))

describe('config history', () => {
  it('keeps the file that the first save replaced, then each save, newest first', async () => {
    await rememberConfigSave(place, { replaced: { text: 'original', modifiedAt: 1000 }, text: 'one', time: 5000 })
    await rememberConfigSave(place, { replaced: { text: 'one', modifiedAt: 5000 }, text: 'two', time: 6000 })
    expect(await texts()).toEqual(['two', 'one', 'original'])
    expect((await configHistory(place)).map(({ time, byteSize, origin }) => ({ time, byteSize, origin }))).toEqual([
      { time: 6000, byteSize: 3, origin: 'saved' }, { time: 5000, byteSize: 3, origin: 'saved' }, { time: 1000, byteSize: 8, origin: 'found' }])
  })

  it('keeps what another editor wrote in between', async () => {
    await rememberConfigSave(place, { replaced: null, text: 'one', time: 5000 })
    await rememberConfigSave(place, { replaced: { text: 'by hand', modifiedAt: 5500 }, text: 'two', time: 6000 })
    expect(await texts()).toEqual(['two', 'by hand', 'one'])
  })

  it('keeps order when several fall into one millisecond or the clock goes back', async () => {
    for (const [index, time] of [9000, 9000, 4000].entries()) await rememberConfigSave(place, { replaced: null, text: `${index}`, time })
    expect(await texts()).toEqual(['2', '1', '0'])
  })

  it(`keeps the last ${KEPT_CONFIG_SAVES}`, async () => {
    for (let index = 0; index <= KEPT_CONFIG_SAVES; index++) await rememberConfigSave(place, { replaced: null, text: `${index}`, time: index })
    const kept = await texts()
    expect(kept).toHaveLength(KEPT_CONFIG_SAVES)
    expect([kept[0], kept.at(-1)]).toEqual([`${KEPT_CONFIG_SAVES}`, '1'])
  })

  it('tells models of one name in two repositories apart', async () => {
    await rememberConfigSave(place, { replaced: null, text: 'one', time: 1 })
    expect(await texts({ ...place, repositoryPath: '/other' })).toEqual([])
  })

  it('is readable by its user only, and leaves no temporary file', async () => {
    await rememberConfigSave(place, { replaced: null, text: 'one', time: 1 })
    const [folder = ''] = await readdir(join(dataDirectory, 'config-history'))
    const [name = '', ...others] = await readdir(join(dataDirectory, 'config-history', folder))
    expect(others).toEqual([])
    expect((await stat(join(dataDirectory, 'config-history', folder, name))).mode & 0o777).toBe(0o600)
  })

  it('answers no id that is none of its own', async () => {
    await expect(configHistoryText(place, '../../secret')).rejects.toMatchObject({ kind: 'NOT_FOUND' })
    await expect(configHistoryText(place, '000000000000001-0000-saved.pbtxt')).rejects.toMatchObject({ kind: 'NOT_FOUND' })
  })
})
