import { describe, expect, it } from 'vitest'
import type { DevicesReport } from '../contract/devices.ts'
import type { ModelSummary } from '../contract/repository.ts'
import { LogHub } from '../logger.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { NpuTelemetry } from './npu-telemetry.ts'
import { NpuTelemetryError, type NpuChipReading, type NpuReading, type NpuTelemetrySource } from './npu-telemetry-source.ts'
import { ProcessOwners } from './process-owners.ts'

const SECOND = 1e9
const OWN_PROCESS = 4711

const chip = (part: Partial<NpuChipReading> = {}): NpuChipReading => ({
  slot: 4, chipIndex: 0, logicalId: 1, name: '910B3', busId: '0000:c1:00.0', health: 'ok', powerWatts: 98.4, temperatureCelsius: 50, aiCorePercent: 38, memoryUsedBytes: 3000, memoryTotalBytes: 65536,
  processes: [], vectorCorePercent: null, cubeCorePercent: null, errorCodes: null, ...part,
})

/** Answers when the test says so. */
class ScriptedSource implements NpuTelemetrySource {
  readonly kind = 'dcmi'
  reads = 0
  #answer: ((reading: NpuReading) => void) | null = null
  #refuse: ((error: Error) => void) | null = null
  readonly #clock: FakeClock

  constructor(clock: FakeClock) { this.#clock = clock }

  read(): Promise<NpuReading> {
    this.reads++
    return new Promise((resolve, reject) => { this.#answer = resolve; this.#refuse = reject })
  }

  async answer(chips: readonly NpuChipReading[], readAt = this.#clock.wallMilliseconds()): Promise<void> {
    this.#answer?.({ readAt, isSimulated: false, driverVersion: '25.2.0', chips })
    await settled()
  }

  async refuse(error: Error): Promise<void> {
    this.#refuse?.(error)
    await settled()
  }
}

/** Lets what waits for an answer go on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

async function setUp(options: { visibleDevices?: string; hasSource?: boolean; models?: readonly ModelSummary[] } = {}) {
  const clock = new FakeClock()
  const source = new ScriptedSource(clock)
  const logs = new LogHub()
  const reports: DevicesReport[] = []
  const back: (readonly number[])[] = []
  let hasSource = options.hasSource ?? true
  const owners = new ProcessOwners(OWN_PROCESS, () => options.models ?? [])
  const telemetry = new NpuTelemetry({
    clock, owners, visibleDevices: options.visibleDevices, log: logs.logger('npu-telemetry'), findSource: () => Promise.resolve(hasSource ? source : null), onReportChanged: (report) => { reports.push(report) },
    onCardsAnswer: (isBack) => { back.push([0, 1].filter(isBack)) },
  })
  telemetry.start()
  await settled()
  return { clock, source, telemetry, reports, back, logs, owners, installDriver: () => { hasSource = true } }
}

const model = (name: string, part: Partial<ModelSummary>): ModelSummary => ({
  name, repositoryPath: '', backend: '', platform: '', state: 'READY', reason: '', versions: [], instanceCount: 1, runsOn: 'NPU 1', isSimulated: false, degraded: null, changedAt: 0, stage: null, traffic: null, lastLoad: null, maxBatchSize: 0, awaitsTrust: null, ...part,
})

describe('NpuTelemetry', () => {
  it('tells when cards are well again, by the number that backends have for them', async () => {
    const { clock, source, back } = await setUp({ visibleDevices: '1,2' })
    const read = async (...health: readonly NpuChipReading['health'][]) => {
      await source.answer(health.map((one, logicalId) => chip({ logicalId, health: one })))
      clock.advance(1 * SECOND)
      await settled()
    }
    await read('ok', 'ok', 'ok')
    await read('ok', 'critical', 'ok')
    await read('ok', null, 'ok')
    expect(back).toEqual([])
    await read('ok', 'ok', 'ok')
    expect(back).toEqual([[0]])
    await read('ok', 'ok')
    await read('ok', 'alarm', 'warning')
    expect(back).toEqual([[0], [1]])
  })

  it('reads once a second, and never a second time while the driver has not answered', async () => {
    const { clock, source, telemetry } = await setUp()
    expect(telemetry.samples()).toBeNull()
    clock.advance(5 * SECOND)
    await settled()
    expect(source.reads).toBe(1)
    await source.answer([chip()])
    clock.advance(0)
    await settled()
    expect(source.reads).toBe(2)
    await source.answer([chip()])
    clock.advance(0.9 * SECOND)
    await settled()
    expect(source.reads).toBe(2)
    clock.advance(0.1 * SECOND)
    await settled()
    expect(source.reads).toBe(3)
  })

  it('says how old its values are, and that they are unknown when they are too old: never the last ones for ever', async () => {
    const { clock, source, telemetry } = await setUp()
    const readAt = clock.wallMilliseconds()
    await source.answer([chip({ vectorCorePercent: { value: 19, readAt: readAt - 40_000 }, cubeCorePercent: { value: 34, readAt }, errorCodes: { value: ['80E01801'], readAt } })])
    expect(telemetry.samples()).toEqual([{
      card: 1, chip: '910B3', aiCorePercent: 38, vectorCorePercent: 19, cubeCorePercent: 34, memoryUsedBytes: 3000, memoryTotalBytes: 65536, temperatureCelsius: 50, powerWatts: 98.4,
      health: 'ok', errorCodes: ['80E01801'], readAt, detailsReadAt: readAt - 40_000, isSimulated: false,
    }])
    clock.advance(11 * SECOND)
    expect(telemetry.samples()?.[0]).toMatchObject({ aiCorePercent: null, memoryUsedBytes: null, temperatureCelsius: null, powerWatts: null, health: null, cubeCorePercent: 34, readAt })
    clock.advance(15 * SECOND)
    expect(telemetry.samples()?.[0]).toMatchObject({ vectorCorePercent: null, cubeCorePercent: 34 })
  })

  it('keeps cards that do not answer, says why, and logs the same trouble once', async () => {
    const { clock, source, telemetry, reports, logs } = await setUp()
    await source.answer([chip()])
    for (let turn = 0; turn < 3; turn++) {
      clock.advance(SECOND)
      await settled()
      await source.refuse(new NpuTelemetryError({ en: 'the driver refuses', 'zh-CN': '驱动拒绝' }))
    }
    expect(telemetry.samples()).toHaveLength(1)
    expect(reports.at(-1)?.problem).toEqual({ en: 'the driver refuses', 'zh-CN': '驱动拒绝' })
    expect(logs.recent(100).filter(({ level }) => level === 'warning').map(({ message, fields }) => [message, fields['reason']])).toEqual([['the cards could not be read', 'the driver refuses']])
    clock.advance(SECOND)
    await settled()
    await source.answer([chip()])
    expect(reports.at(-1)?.problem).toBeNull()
  })

  it('looks again from time to time where nothing was found', async () => {
    const { clock, source, telemetry, installDriver } = await setUp({ hasSource: false })
    expect(telemetry.report()).toMatchObject({ source: null, cards: [], processes: null, visibleDevices: null })
    installDriver()
    clock.advance(59 * SECOND)
    await settled()
    expect(source.reads).toBe(0)
    clock.advance(SECOND)
    await settled()
    expect(source.reads).toBe(1)
  })

  it('ends with stop: an answer that comes later changes nothing', async () => {
    const { clock, source, telemetry, reports } = await setUp()
    telemetry.stop()
    await source.answer([chip()])
    clock.advance(10 * SECOND)
    await settled()
    expect([telemetry.samples(), source.reads, reports, clock.timerCount]).toEqual([null, 1, [], 0])
  })

  it('names each card by slot, logical and visible id', async () => {
    const { source, telemetry } = await setUp({ visibleDevices: '1,2' })
    await source.answer([chip({ slot: 0, logicalId: 0 }), chip({ slot: 5, logicalId: 1 }), chip({ slot: 6, logicalId: 2, name: 'Ascend910' })])
    expect(telemetry.report().cards.map(({ card, slot, logicalId, visibleId, deviceNode, aiCores, vectorCores }) => [card, slot, logicalId, visibleId, deviceNode, aiCores, vectorCores])).toEqual([
      [0, 0, 0, null, '/dev/davinci0', 20, 40], [1, 5, 1, 0, '/dev/davinci1', 20, 40], [2, 6, 2, 1, '/dev/davinci2', null, null],
    ])
  })

  it('counts cards in the driver\'s order where no logical id is told, and makes up no other number', async () => {
    const { source, telemetry } = await setUp()
    await source.answer([chip({ slot: 3, logicalId: null }), chip({ slot: 7, logicalId: null })])
    expect(telemetry.report().cards.map(({ card, logicalId, visibleId, deviceNode }) => [card, logicalId, visibleId, deviceNode])).toEqual([[0, null, null, null], [1, null, null, null]])
  })

  it('says which models live in a process, and which processes are not ours', async () => {
    const { source, telemetry, owners } = await setUp({ models: [model('det', {}), model('cpu', { runsOn: 'CPU' }), model('asr', {})] })
    const end = owners.add(5000, 'asr')
    await source.answer([chip({ processes: [{ processId: OWN_PROCESS, name: 'npu-console', memoryBytes: 100 }, { processId: 5000, name: 'python3', memoryBytes: 50 }, { processId: 9127, name: 'python3', memoryBytes: null }] })])
    expect(telemetry.report().processes?.map(({ processId, models, isOurs, memoryBytes }) => [processId, models, isOurs, memoryBytes])).toEqual([
      [OWN_PROCESS, ['det'], true, 100], [5000, ['asr'], true, 50], [9127, [], false, null],
    ])
    end()
    expect(telemetry.report().processes?.[1]).toMatchObject({ models: [], isOurs: false })
  })

  it('names the models of a card only, by the devices that the process sees', async () => {
    const instance = { name: 'i', kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, report: { runs_on: 'npu', device: 0 } } as const
    const onFirst = model('det', { versions: [{ version: '1', state: 'READY', reason: '', files: [], changedAt: 0, instances: [instance] }] })
    const { source, telemetry } = await setUp({ models: [onFirst, model('anywhere', {})], visibleDevices: '1' })
    const processes = [{ processId: OWN_PROCESS, name: 'npu-console', memoryBytes: 100 }]
    await source.answer([chip({ slot: 0, logicalId: 0, processes }), chip({ slot: 1, logicalId: 1, processes })])
    expect(telemetry.report().processes?.map(({ card, models }) => [card, models])).toEqual([[0, ['anywhere']], [1, ['det', 'anywhere']]])
  })

  it('names a model that one instance serves on several cards at each of them', async () => {
    const report = { runs_on: 'npu', device: 0, devices: [0, 1] } as const
    const instance = { name: 'i', kind: 'KIND_CPU', isPassive: false, state: 'READY', reason: '', restart: null, report } as const
    const onBoth = model('det', { versions: [{ version: '1', state: 'READY', reason: '', files: [], changedAt: 0, instances: [instance] }] })
    const { source, telemetry } = await setUp({ models: [onBoth] })
    const processes = [{ processId: OWN_PROCESS, name: 'npu-console', memoryBytes: 100 }]
    await source.answer([0, 1, 2].map((logicalId) => chip({ slot: logicalId, logicalId, processes })))
    expect(telemetry.report().processes?.map(({ card, models }) => [card, models])).toEqual([[0, ['det']], [1, ['det']], [2, []]])
  })

  it('keeps the memory before a load, after it, and after the unload', async () => {
    const { clock, source, telemetry } = await setUp()
    const own = (memoryBytes: number) => [chip({ processes: [{ processId: OWN_PROCESS, name: 'npu-console', memoryBytes }, { processId: 1, name: 'other', memoryBytes: 7 }] })]
    const next = async (memoryBytes: number) => {
      clock.advance(SECOND)
      await settled()
      await source.answer(own(memoryBytes))
    }
    await source.answer(own(100))
    telemetry.modelChanged(model('det', { state: 'LOADING', runsOn: null }))
    await next(900)
    expect(telemetry.report().memory).toEqual([])
    telemetry.modelChanged(model('det', { state: 'READY' }))
    await next(1100)
    const startedAt = telemetry.report().memory[0]?.startedAt
    expect(telemetry.report().memory).toEqual([{ model: 'det', card: 1, basis: 'process', beforeBytes: 100, loadedBytes: 1100, afterUnloadBytes: null, reportedBytes: null, startedAt, isShared: false }])
    telemetry.modelChanged(model('det', { state: 'UNLOADING' }))
    telemetry.modelChanged(model('det', { state: 'UNAVAILABLE', reason: 'unloaded', runsOn: null }))
    await next(130)
    await next(100)
    expect(telemetry.report().memory[0]).toMatchObject({ beforeBytes: 100, loadedBytes: 1100, afterUnloadBytes: 130 })
  })
})
