/**
 * Devices: a machine without cards, and one whose driver is the stand-in `npu-smi` of server-core/testing (a shell script that prints outputs
 * written by us). The second starts its own server, since the script must be on the PATH of the process that serves.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { createFakeNpuSmi, npuSmiOutput, type FakeNpuSmi } from '../../server-core/testing/fake-npu-smi.ts'
import { startServerProcess } from '../../server-core/testing/server-process.ts'
import { identityConfig } from '../../server-core/testing/temporary-repository.ts'
import { expect, newVisitor, test } from '../console-fixture.ts'
import { choose, findings, LOOKS } from '../page-findings.ts'
import type { DesktopApi } from '../../server-core/contract/console-api.ts'
import { launchDesktop, PROJECT_DIRECTORY } from '../launch-desktop.ts'

async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate((next) => { window.location.hash = next }, hash)
  await expect(page.locator('main h1').first()).toBeVisible()
}

async function picture(page: Page, name: string): Promise<void> {
  const directory = join(PROJECT_DIRECTORY, 'test-results', 'images')
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: join(directory, `${name}.png`) })
}

test('a machine without cards: one calm sentence, and the Doctor by keyboard', { tag: '@either-host' }, async ({ console: { page } }) => {
  await expect(page.getByTestId('first-run')).toBeVisible()
  await page.keyboard.press('Control+4')
  await expect(page.locator('main h1')).toHaveText('Devices')
  await expect(page.getByText('Models run on the CPU, and loading, testing, load runs and monitoring work as ever.').first()).toBeVisible()
  await expect(page.getByTestId('doctor-summary')).toContainText('There is no NPU in this machine')
  await expect(page.getByTestId('doctor-onnxruntime')).toHaveAttribute('data-verdict', 'ok')
  await expect(page.getByTestId('doctor-cann')).toHaveCount(0)
  await page.getByTestId('examine').focus()
  await page.keyboard.press('Enter')
  await expect(page.getByTestId('examine')).not.toBeDisabled()
  const found: string[] = []
  for (const { theme, language, rules } of LOOKS) {
    await choose(page, theme, language)
    found.push(...await findings(page, `devices without cards ${theme} ${language}`, { rules }))
    if (theme !== 'contrast') await picture(page, `devices-none-${theme}-${language}`)
  }
  expect(found).toEqual([])
})

// Starts its own server, with the stand-in npu-smi on its PATH.
test('cards: figures that move, gaps that stay gaps, ids, and the simulated mark', { tag: '@browser-only' }, async ({ sharedChromium, viewport }) => {
  test.setTimeout(240_000)
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-devices-'))
  const tool = createFakeNpuSmi(join(directory, 'bin'))
  layOutCards(tool)
  const models = join(directory, 'models')
  mkdirSync(join(models, 'identity_fp32', '1'), { recursive: true })
  writeFileSync(join(models, 'identity_fp32', 'config.pbtxt'), identityConfig())
  const environment = { XDG_DATA_HOME: join(directory, 'data'), HOME: directory, PATH: `${tool.directory}:${process.env['PATH'] ?? ''}`, ASCEND_RT_VISIBLE_DEVICES: '0,1' }
  const server = await startServerProcess(['--console', '--model-control-mode=explicit', `--model-repository=${models}`], { built: true, env: environment })
  const page = await newVisitor(await sharedChromium(), viewport)
  try {
    await page.goto(server.consoleUrl)
    await show(page, '#/devices')
    const card = page.getByTestId('device-0')
    await expect(card).toContainText('38 %')
    await expect(card).toContainText('64.0 GB · 20 cube / 40 vector cores')
    await expect(card.getByText('19 %')).toBeVisible()
    await expect(page.getByTestId('device-1')).toContainText('Alarm')
    await expect(page.getByTestId('device-1')).toContainText('not reported')
    await expect(page.getByTestId('device-1')).toContainText('80E01801')
    await expect(page.getByTestId('device-process')).toHaveCount(1)
    await expect(page.getByTestId('device-ids').nth(1)).toContainText('device_ids: "1"')
    await expect(page.getByTestId('doctor-visible-devices')).toHaveAttribute('data-verdict', 'ok')
    await expect(page.getByTestId('doctor-cann')).toHaveAttribute('data-verdict', 'problem')
    await expect(page.getByTestId('npu-meter')).toContainText('38 %')

    tool.set('info', cardsOutput(77))
    await expect(card).toContainText('77 %')
    const found: string[] = []
    for (const [index, { theme, language, rules }] of LOOKS.entries()) {
      await choose(page, theme, language)
      tool.set('info', cardsOutput(20 + 17 * index))
      for (const hash of ['#/devices', '#/overview', '#/monitor']) {
        await show(page, hash)
        if (hash === '#/monitor') await page.waitForTimeout(1200)
        found.push(...await findings(page, `${hash} with cards ${theme} ${language}`, { rules }))
        if (theme !== 'contrast') await picture(page, `cards-${hash.slice(2)}-${theme}-${language}`)
      }
    }
    expect(found).toEqual([])

    await choose(page, 'light', 'en')
    await show(page, '#/devices')
    tool.fail('dcmi module initialize failed. ret is -8005')
    await expect(page.getByText('The cards could not be read:')).toBeVisible()
    await expect(card.getByTestId('stale')).toContainText(/The driver last answered \d+ s ago/)
    // After ten seconds what is old is unknown.
    await expect(card.locator('.npu-devices-meter').first()).toHaveText('AI Core—', { timeout: 20_000 })
    await picture(page, 'cards-stale')
    tool.fail(null)
    tool.set('info', npuSmiOutput('info-simulated'))
    await expect(page.getByRole('note')).toContainText('Card data comes from the simulator.')
    await expect(card.getByText('Simulated')).toBeVisible()
    expect(await findings(page, 'simulated cards')).toEqual([])
    for (const hash of ['#/overview', '#/monitor']) {
      await show(page, hash)
      await expect(page.getByText(/simulated/i).first()).toBeVisible()
    }
    for (const hash of ['#/devices', '#/overview', '#/monitor']) {
      await show(page, hash)
      await choose(page, 'dark', 'en')
      if (hash === '#/monitor') await page.waitForTimeout(1200)
      await picture(page, `simulated-${hash.slice(2)}`)
    }
  } finally {
    await page.context().close()
    await server.stop()
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  }
})

// For the command line server-core/integration/npu-telemetry.test.ts shows it.
test('the desktop starts its server process with what set_env.sh sets', { tag: '@desktop-only' }, async ({ electronPath }) => {
  const directory = mkdtempSync(join(tmpdir(), 'npu-console-cann-'))
  const setEnv = join(directory, 'set_env.sh')
  writeFileSync(setEnv, 'export ASCEND_HOME_PATH=/opt/cann\n')
  const env = { XDG_DATA_HOME: join(directory, 'data'), XDG_CONFIG_HOME: join(directory, 'config'), HOME: directory }
  const desktop = await launchDesktop({ userDataDirectory: join(directory, 'electron'), args: [`--cann-set-env=${setEnv}`], env, ...(electronPath === undefined ? {} : { executablePath: electronPath }) })
  try {
    const processId = await desktop.page.evaluate(() => new Promise<number>((resolve) => {
      const { desktopApi } = window as unknown as { desktopApi: DesktopApi }
      desktopApi.onServerProcess((state) => { if (state.kind === 'running') resolve(state.processId) })
    }))
    expect(readFileSync(`/proc/${processId}/environ`, 'utf8').split('\0')).toContain('ASCEND_HOME_PATH=/opt/cann')
  } finally {
    await desktop.close()
    rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  }
})

function cardsOutput(aiCore: number): string {
  return npuSmiOutput('info-910b').replace('| 38 ', `| ${aiCore} `)
}

/** Two A2 cards: the first busy and well, the second in alarm, with an error code and no temperature. */
function layOutCards(tool: FakeNpuSmi): void {
  tool.set('info', cardsOutput(38))
  tool.set('usages', npuSmiOutput('usages-910b'))
  tool.set('health', npuSmiOutput('health-alarm'))
  tool.set('ids', '\tNPU ID   Chip ID   Chip Logic ID   Chip Name\n\t0        0         0               Ascend 910B3\n\t5        0         1               Ascend 910B3\n')
}
