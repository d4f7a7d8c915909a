import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DeviceCard, DevicesReport, DoctorReport, SimulatedFault } from '../../../server-core/contract/devices.ts'
import type { NpuSample, ServerSample } from '../../../server-core/contract/statistics.ts'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { useEngineRestart } from '../../engine-restart.ts'
import type { Language } from '../../preferences.ts'
import { modelSummary, npuSample as npu, serverSample, serverStatus, versionSummary } from '../../testing/models.ts'
import { render, type Rendered } from '../../testing/render.tsx'
import { historyPaths } from './card-history.ts'
import { memoryShares } from './card-memory.ts'
import DevicesPage from './devices-page.tsx'
import { useDevices } from './devices-store.ts'

const GB = 2 ** 30
const NONE: DevicesReport = { source: null, isSimulated: false, driverVersion: null, problem: null, cards: [], processes: null, memory: [], visibleDevices: null }
const device = (part: Partial<DeviceCard> = {}): DeviceCard => ({ card: 0, chip: '910B3', slot: 4, chipIndex: 0, logicalId: 0, visibleId: 0, busId: '0000:c1:00.0', deviceNode: '/dev/davinci0', aiCores: 20, vectorCores: 40, ...part })
const WITH_CARDS: DevicesReport = {
  ...NONE, source: 'npu-smi', driverVersion: '25.2.0', cards: [device(), device({ card: 1, slot: 5, logicalId: 1, visibleId: null, chip: '310P3', aiCores: 8, vectorCores: 7 })],
  processes: [{ card: 0, processId: 21847, name: 'npu-console', memoryBytes: 6 * GB, models: ['ppocr_det', 'ppocr_rec'], isOurs: true }, { card: 0, processId: 9127, name: 'python3', memoryBytes: null, models: [], isOurs: false }],
  memory: [{ model: 'ppocr_det', card: 0, basis: 'process', beforeBytes: GB, loadedBytes: 3 * GB, afterUnloadBytes: null, reportedBytes: 1.5 * GB, startedAt: 0, isShared: true }],
  visibleDevices: { value: '0,x', logicalIds: [0], problem: { en: "'x' is no device id", 'zh-CN': '“x”不是设备号' } },
}
const sample = (second: number, ...npus: NpuSample[]): ServerSample => ({ ...serverSample(second), npus })
const DOCTOR: DoctorReport = {
  ranAt: Date.now(), milliseconds: 5, hasNpu: true, isSimulated: false, devices: [device()], summary: { en: '1 problem; first: Python.', 'zh-CN': '1 个问题；首先：Python。' },
  checks: [
    { id: 'python', verdict: 'problem', title: { en: 'Packages are missing', 'zh-CN': '缺少软件包' }, detail: { en: 'numpy', 'zh-CN': 'numpy' }, fix: { text: { en: 'Install them.', 'zh-CN': '安装它们。' }, command: "pip install 'numpy<2'", restart: null } },
    { id: 'driver', verdict: 'ok', title: { en: 'Driver 25.2.0', 'zh-CN': '驱动 25.2.0' }, detail: { en: '-', 'zh-CN': '-' }, fix: null },
  ],
}

describe('devices', () => {
  let page: Rendered
  const text = (selector: string) => page.container.querySelector(selector)?.textContent ?? null
  const show = async (report: DevicesReport, samples: readonly ServerSample[] = [], language: Language = 'en') => {
    page = await render(<DevicesPage />, language)
    await act(async () => useDevices.setState({ report, samples }))
  }

  beforeEach(() => {
    useDevices.setState({ report: null, doctor: null, examinedSince: null, doctorError: null, simulation: null, faultsError: null, samples: [] })
    useConsole.setState(initialConsoleState)
    useEngineRestart.setState({ leaving: null, error: null })
    vi.spyOn(consoleClient, 'command').mockImplementation(() => new Promise(() => {}))
  })

  afterEach(async () => {
    await page.unmount()
    vi.restoreAllMocks()
  })

  it('says nothing about cards before the server has told', async () => {
    page = await render(<DevicesPage />)
    expect(text('.npu-devices-main')).toBe('')
    expect(text('.npu-page-note')).toBeNull()
  })

  it('says calmly that there is no NPU and what works without', async () => {
    await show(NONE)
    expect(text('.npu-page-note')).toBe('No NPU found on this machine')
    expect(text('.npu-devices-main')).toContain('Models run on the CPU, and loading, testing, load runs and monitoring work as ever.')
    expect(text('.npu-devices-main')).not.toMatch(/\d %|\b0\b/)
  })

  it('shows the figures of each card, and of what is not reported only that', async () => {
    await show(WITH_CARDS, [sample(10, npu(), npu({ card: 1, chip: '310P3', cubeCorePercent: null, vectorCorePercent: null, powerWatts: null, health: null, errorCodes: null, memoryUsedBytes: null, temperatureCelsius: 82 }))])
    expect(text('.npu-page-note')).toBe('2 cards · read by npu-smi every second · driver 25.2.0')
    const rows = (card: number) => [...page.container.querySelectorAll(`[data-testid="device-${card}"] .npu-devices-meter`)].map((row) => row.textContent)
    const figures = (card: number) => [...page.container.querySelectorAll(`[data-testid="device-${card}"] dd`)].map((value) => value.textContent)
    expect(rows(0)).toEqual(['AI Core38 %', 'Cube core34 %', 'Vector core19 %', 'Card memory8.0 GB / 64.0 GB'])
    expect(figures(0)).toEqual(['51 °C', '98 W', 'none', '2'])
    expect(text('[data-testid="device-0"] .npu-card-head')).toBe('Card 0910B364.0 GB · 20 cube / 40 vector coresHealthy')
    expect(rows(1)).toEqual(['AI Core38 %', 'Cube core310P3 does not report it', 'Vector core310P3 does not report it', 'Card memory310P3 does not report it'])
    expect(figures(1)).toEqual(['82 °C', 'not reported', 'not reported', '0'])
    expect(text('[data-testid="device-1"] .npu-state-pill')).toBe('Health not reported')
    expect(page.container.querySelector('[data-testid="device-1"] dd')?.className).toBe('npu-is-degraded')
  })

  it('says how old the figures are when the driver does not answer, and why', async () => {
    await show({ ...WITH_CARDS, problem: { en: 'npu-smi did not answer within 10 s', 'zh-CN': '-' } }, [sample(22, npu({ aiCorePercent: null, health: null }))])
    expect(text('[data-testid="device-0"] [data-testid="stale"]')).toBe('The driver last answered 12 s ago.')
    expect(text('.npu-devices-problem')).toBe('The cards could not be read: npu-smi did not answer within 10 s')
    // Not "not reported": that would be the card's doing.
    expect(text('[data-testid="device-0"] .npu-devices-meter')).toBe('AI Core—')
    expect(text('[data-testid="device-0"] .npu-state-pill')).toBe('Health unknown')
    expect(text('[data-testid="device-0"] dl > div:last-child dd')).toBe('—')
    expect(page.container.textContent).toContain('The driver does not answer: this is what it told last.')
  })

  it('does not take a driver that does not answer for a card that is lost', async () => {
    const unknown = { aiCorePercent: null, memoryUsedBytes: null, temperatureCelsius: null, powerWatts: null, health: null }
    await show({ ...WITH_CARDS, problem: { en: 'npu-smi did not answer within 10 s', 'zh-CN': '-' } }, [sample(22, npu(unknown), npu({ card: 1, ...unknown, readAt: 22_000 }))])
    expect(text('[data-testid="device-0"] [data-testid="card-silent"]')).toBeNull()
    expect(text('[data-testid="device-1"] [data-testid="card-silent"]')).toContain('it may be lost')
  })

  it.each([['en', 'Read 1 s ago · cube and vector cores and error codes 7 s ago'], ['zh-CN', '读取于 1 秒前 · 矩阵核、向量核和错误码 7 秒前']] as const)('says of each card how old its figures are (%s)', async (language, ages) => {
    await show(WITH_CARDS, [sample(11, npu({ detailsReadAt: 4000 }), npu({ card: 1, detailsReadAt: null }))], language)
    expect(text('[data-testid="device-0"] [data-testid="card-ages"]')).toBe(ages)
    expect(text('[data-testid="device-1"] [data-testid="card-ages"]')).toBe(ages.split(' · ')[0])
  })

  it('puts error codes where they are seen', async () => {
    await show(WITH_CARDS, [sample(10, npu({ health: 'alarm', errorCodes: ['80E01801'] }))])
    expect(text('[data-testid="device-0"] dd.npu-is-failed')).toBe('80E01801')
    expect(text('[data-testid="device-0"] .npu-state-pill')).toBe('Alarm')
  })

  it('names models and foreign processes, the memory of a load, and every number of a card', async () => {
    await show(WITH_CARDS, [sample(10, npu())])
    const cells = (id: string) => [...page.container.querySelectorAll(`[data-testid="${id}"]`)].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))
    expect(cells('device-process')).toEqual([['21847', 'npu-console', 'ppocr_det, ppocr_rec', '0', '6.0 GB'], ['9127', 'python3', 'not run by the console', '0', '—']])
    expect(cells('device-ids')).toEqual([
      ['Card 0', '910B3', '0000:c1:00.0', '4', '0', '0', '0', '/dev/davinci0', 'device_ids: "0"'], ['Card 1', '310P3', '0000:c1:00.0', '5', '0', '1', 'hidden', '/dev/davinci0', '—'],
    ])
    expect(page.container.textContent).toContain('ppocr_det · shared01.0 GB3.0 GB+2.0 GB—1.5 GB')
    expect(page.container.textContent).toContain('0,xonly part of it counts')
  })

  it('says simulated at the top, on each card and on each table', async () => {
    await show({ ...WITH_CARDS, isSimulated: true }, [sample(10, npu({ isSimulated: true }), npu({ card: 1, isSimulated: true }))])
    expect(text('.npu-page-header .npu-is-simulated')).toBe('Simulated NPU')
    expect(text('.npu-simulated-banner')).toBe('Card data comes from the simulator. Outputs are real, computed on the CPU; times, load and temperature are modelled.')
    expect([...page.container.querySelectorAll('.npu-card-head .npu-is-simulated .npu-state-word')].map((mark) => mark.textContent)).toEqual(['Simulated', 'Simulated', 'Simulated', 'Simulated'])
    expect(page.container.querySelectorAll('[data-simulated="true"]')).toHaveLength(2)
  })

  it('lists the findings of the Doctor in the language of the window, with the repair to copy', async () => {
    vi.mocked(consoleClient.command).mockImplementation(() => Promise.resolve(DOCTOR) as never)
    const written: string[] = []
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: (copied: string) => { written.push(copied); return Promise.resolve() } } })
    page = await render(<DevicesPage />, 'zh-CN')
    await act(async () => page.container.querySelector<HTMLButtonElement>('[data-testid="examine"]')?.click())
    expect(consoleClient.command).toHaveBeenCalledWith('doctor.run')
    expect(text('[data-testid="doctor-summary"]')).toBe('1 个问题；首先：Python。')
    expect([...page.container.querySelectorAll('.npu-devices-check')].map((check) => check.querySelector('p')?.textContent)).toEqual(['问题：缺少软件包', '正常：驱动 25.2.0'])
    await act(async () => page.container.querySelector<HTMLButtonElement>('.npu-devices-command button')?.click())
    expect(written).toEqual(["pip install 'numpy<2'"])
    await act(async () => page.container.querySelector<HTMLButtonElement>('.npu-devices-doctor .npu-devices-foot button')?.click())
    expect(written[1]?.split('\n').slice(0, 3)).toEqual(['1 个问题；首先：Python。', 'NPU 4 · Chip 0 · 910B3 · 0000:c1:00.0 · Logical id 0 · Visible id 0 · /dev/davinci0', '[问题] 缺少软件包'])
  })

  it('says that the machine was not examined, in the server\'s words, and can try again', async () => {
    vi.mocked(consoleClient.command).mockImplementation(() => Promise.reject(new ConsoleError('INTERNAL', 'EMFILE: too many open files')))
    page = await render(<DevicesPage />)
    await act(async () => page.container.querySelector<HTMLButtonElement>('[data-testid="examine"]')?.click())
    expect(text('[role="alert"]')).toContain('The machine was not examined.')
    expect(text('[role="alert"]')).toContain('EMFILE: too many open files')
    expect(useDevices.getState().examinedSince).toBeNull()
  })

  describe('with simulated cards', () => {
    const SIMULATED: DevicesReport = { ...WITH_CARDS, isSimulated: true, cards: WITH_CARDS.cards.map((card) => ({ ...card, visibleId: card.logicalId })), visibleDevices: null }
    const lost: SimulatedFault = { kind: 'card-lost', device: 1, count: null, phase: null, needsReset: false }
    const simulation = (faults: readonly SimulatedFault[] = []) => ({ isOn: true, unavailableReason: null, profiles: [], cards: ['910B3', '310P3'], timeScale: 1, faults })
    const click = (testId: string) => act(async () => { page.container.querySelector<HTMLElement>(`[data-testid="${testId}"]`)?.click() })

    it('has no fault panel for real cards', async () => {
      await show(WITH_CARDS)
      await act(async () => useDevices.setState({ simulation: { ...simulation(), isOn: false } }))
      expect(text('[data-testid="fault-inject"]')).toBeNull()
    })

    it('injects what is chosen beside what is in force, shows it on its card only, and clears all', async () => {
      const sent: unknown[] = []
      vi.spyOn(consoleClient, 'command').mockImplementation(((name: string, args: { faults: readonly SimulatedFault[] }) => {
        if (name !== 'npu.setFaults') return new Promise(() => {})
        sent.push(args.faults)
        return Promise.resolve(args.faults)
      }) as typeof consoleClient.command)
      await show(SIMULATED)
      await act(async () => useDevices.setState({ simulation: simulation([lost]) }))
      expect(text('[data-testid="device-1"]')).toContain('Injected on purpose: Card lost')
      expect(text('[data-testid="device-0"]')).not.toContain('Injected')
      await click('fault-inject')
      expect(sent).toEqual([[lost, { ...lost, device: 0 }]])
      expect(page.container.querySelectorAll('[data-testid="fault"]')).toHaveLength(2)
      expect(text('[data-testid="fault"]')).toContain('Card lost · Card 1 · until cleared')
      await click('fault-clear')
      expect(sent[1]).toEqual([])
      expect(text('[data-testid="fault"]')).toBeNull()
    })

    it.each([['en', 'the card is lost', 'It stops:'], ['zh-CN', '卡已断开', '因此停止：']] as const)('explains on the card what stops a model there (%s)', async (language, sentence, stops) => {
      await show(SIMULATED, [], language)
      const reason = 'waiting for the stream of device 1 failed with 507901 SOCKET_CLOSE: the link to the card is gone'
      await act(async () => useConsole.setState({ models: [modelSummary('ppocr_rec', { versions: [versionSummary('1', { state: 'READY', reason: '', instances: [{ name: 'a_0', kind: 'KIND_MODEL', isPassive: false, state: 'RESTARTING', reason, restart: null }] })] })] }))
      expect(text('[data-testid="device-1"] [data-testid="card-trouble"]')).toContain(sentence)
      expect(text('[data-testid="device-1"] [data-testid="card-trouble"]')).toContain(`${stops} ppocr_rec`)
      expect(text('[data-testid="device-0"] [data-testid="card-trouble"]')).toBeNull()
    })

    it('finds the card of a device by its number in the engine, where ASCEND_RT_VISIBLE_DEVICES hides others', async () => {
      await show({ ...SIMULATED, cards: [device({ visibleId: null }), device({ card: 1, logicalId: 1, visibleId: 0 })], visibleDevices: { value: '1', logicalIds: [1], problem: null } })
      await act(async () => useConsole.setState({ models: [modelSummary('ppocr_rec', { versions: [versionSummary('1', { state: 'READY', reason: '', instances: [{ name: 'a_0', kind: 'KIND_MODEL', isPassive: false, state: 'READY', reason: '', restart: null, report: { runs_on: 'npu', device: 0 } }] })] })] }))
      expect(text('[data-testid="device-1"] [data-testid="card-models"]')).toContain('ppocr_rec')
      expect(text('[data-testid="device-0"] [data-testid="card-models"]')).toBeNull()
    })

    it.each([['en', 'It stops: ppocr_rec', 'restart by themselves'], ['zh-CN', '因此停止： ppocr_rec', '自动重启']] as const)('says of every fault of a card that its instances come back, once (%s)', async (language, stops, comesBack) => {
      await show(SIMULATED, [], language)
      for (const [code, name] of [['507901', 'SOCKET_CLOSE'], ['507033', 'DEV_SETUP_ERROR'], ['507054', 'HBM_MULTI_BIT_ECC_ERROR']]) {
        const reason = `loading on device 1 failed with ${code} ${name}: the card`
        await act(async () => useConsole.setState({ models: [modelSummary('ppocr_rec', { versions: [versionSummary('1', { state: 'READY', reason: '', instances: [{ name: 'a_0', kind: 'KIND_MODEL', isPassive: false, state: 'RESTARTING', reason, restart: { attempt: 7, limit: null, at: 0 } }] })] })] }))
        expect(text('[data-testid="device-1"] [data-testid="card-trouble"]')).toContain(stops)
        expect(text('[data-testid="device-1"] [data-testid="card-trouble"]')?.split(comesBack)).toHaveLength(2)
      }
    })

    it('offers to apply what the engine can mend by a restart, where it can restart', async () => {
      const asked = vi.spyOn(consoleClient, 'command').mockImplementation(() => new Promise(() => {}))
      await show(SIMULATED)
      const check = { ...DOCTOR.checks[0]!, id: 'environment' as const, fix: { text: { en: 'Apply it.', 'zh-CN': '应用它。' }, command: null, restart: { cannSetEnv: 'auto' } } }
      await act(async () => { useDevices.setState({ doctor: { ...DOCTOR, checks: [check] } }); useConsole.setState({ status: serverStatus({ canRestart: false }) }) })
      expect(text('[data-testid="doctor-apply"]')).toBeNull()
      await act(async () => useConsole.setState({ status: serverStatus({ canRestart: true }) }))
      await click('doctor-apply')
      expect(asked).toHaveBeenCalledWith('server.restart', { cannSetEnv: 'auto' })
      expect(text('[data-testid="doctor-environment"]')).toContain('The engine starts again.')
    })
  })
})

describe('historyPaths', () => {
  const query = { card: 0, end: 10_000, seconds: 10, width: 20, height: 100 }
  const at = (second: number, aiCorePercent: number | null) => sample(second, npu({ aiCorePercent }))

  it('draws nothing where nothing is known, and no line across it', () => {
    expect(historyPaths([], query)).toEqual([])
    expect(historyPaths([at(2, 50), at(3, 100), at(4, null), at(6, 0)], query)).toEqual(['M4 50h.01L6 0', 'M12 100h.01'])
  })

  it('joins seconds that share two pixels, unknown ones left out', () => {
    expect(historyPaths([at(1, 20), at(2, 40), at(3, null), at(4, 80)], { ...query, width: 10 })).toEqual(['M2 70h.01L4 20'])
  })

  it('ignores other cards and what lies before the window', () => {
    expect(historyPaths([at(-5, 10), sample(3, npu({ card: 1 }))], query)).toEqual([])
  })
})

describe('memoryShares', () => {
  it('shares out what is used, and nothing where the driver does not say by whom', () => {
    expect(memoryShares({ memoryUsedBytes: 8 * GB }, WITH_CARDS.processes)).toEqual([{ kind: 'models', models: ['ppocr_det', 'ppocr_rec'], bytes: 6 * GB }, { kind: 'system', models: [], bytes: 2 * GB }])
    expect(memoryShares({ memoryUsedBytes: 8 * GB }, null)).toEqual([])
    expect(memoryShares({ memoryUsedBytes: null }, [])).toEqual([])
  })
})
