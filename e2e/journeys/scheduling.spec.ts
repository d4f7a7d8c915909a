/**
 * What the console shows of scheduling: an ensemble step by step, an instance that dies and comes back, traffic moved between versions while it
 * flows, and a load that is cancelled. Each in every theme and both languages; pictures are kept under test-results/images/.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { addModel } from '../../server-core/testing/onnx-fixture.ts'
import { identityConfig } from '../../server-core/testing/temporary-repository.ts'
import { expect, openPage, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, LOOKS } from '../page-findings.ts'

const IMAGES = join(PROJECT_DIRECTORY, 'test-results', 'images')

/** Looks at the page as it stands in every theme and both languages, and goes back to light and English. */
async function everyLook(page: Page, name: string): Promise<void> {
  mkdirSync(IMAGES, { recursive: true })
  const found: string[] = []
  for (const { theme, language, rules } of LOOKS) {
    await choose(page, theme, language)
    await page.mouse.move(720, 890)
    found.push(...await findings(page, `${name} ${theme} ${language}`, { rules }))
    await page.screenshot({ path: join(IMAGES, `${name}-${theme}-${language}.png`) })
  }
  expect(found).toEqual([])
}

function writeRepository(dataDirectory: string, files: Readonly<Record<string, string | Uint8Array>>): string {
  const repository = join(dataDirectory, 'home', 'models')
  for (const [name, data] of Object.entries(files)) {
    mkdirSync(dirname(join(repository, name)), { recursive: true })
    writeFileSync(join(repository, name), data)
  }
  return repository
}

async function infer(port: number, model: string, inputs: readonly { name: string; shape: readonly number[] }[]): Promise<void> {
  const body = { inputs: inputs.map(({ name, shape }) => ({ name, shape, datatype: 'FP32', data: Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 0) })), parameters: { binary_data_output: true } }
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${model}/infer`, { method: 'POST', body: JSON.stringify(body) })
  expect(response.status, response.ok ? '' : await response.text()).toBe(200)
  await response.arrayBuffer()
}

test('an ensemble: what it is, its steps with their times, the last requests, and the way to a step', { tag: '@either-host' }, async ({ console: { page, httpPort } }) => {
  test.setTimeout(240_000)
  await openPage(page, 'Pipelines')
  await expect(page.getByTestId('no-pipelines')).toBeVisible()
  await everyLook(page, 'pipelines-none')
  await page.getByTestId('no-pipelines').getByRole('button', { name: 'Open the sample repository' }).click()
  await page.getByTestId('pipeline-load').click()
  await expect(page.getByTestId('pipeline-node-0')).toContainText('not run yet')
  const port = await httpPort()
  await openPage(page, 'Pipelines')
  for (let request = 0; request < 3; request++) await infer(port, 'ppocr_line', [{ name: 'x', shape: [1, 3, 48, 192] }])
  // Pushed within the second: nothing is reloaded by hand.
  for (const step of [0, 1]) await expect(page.getByTestId(`pipeline-node-${step}`).getByTestId('node-time')).toContainText(/\d ms/)
  await expect(page.getByTestId('pipeline-requests').getByRole('button')).toHaveCount(3)
  await expect(page.getByTestId('side-by-side')).toHaveText('Steps 1, 2 ran at the same time.')
  const boxes = await Promise.all([0, 1].map((step) => page.getByTestId(`pipeline-node-${step}`).boundingBox()))
  expect(boxes[0]?.x, 'parallel steps stand in one column').toBe(boxes[1]?.x)
  await expect(page.getByTestId('step-times').locator('[data-step="1"] td').nth(7)).toHaveText('3')
  await page.getByTestId('outline-step-1').focus()
  await page.keyboard.press('Enter')
  await expect(page.getByTestId('step-card')).toContainText('Mean time')
  await expect(page.getByTestId('pipeline-node-1').getByRole('button')).toHaveAttribute('aria-pressed', 'true')
  await everyLook(page, 'pipelines-step')
  await page.getByTestId('step-config').click()
  await expect(page.locator('main h1')).toHaveText('ppocr_rec')
  await expect(page.getByTestId('config-text')).toContainText('max_batch_size')
})

test.describe('with a way to end an instance', () => {
  // A thread that ends takes its instance with it only where instances are worker threads.
  test.use({
    serverPreload: fileURLToPath(new URL('../testing/end-instance.cjs', import.meta.url)), serverFlags: ['--backend-config=onnxruntime,implementation=worker'],
  })

  test('an instance that dies shows on its row and in a notice, and comes back', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder, serverProcessId } }) => {
    test.setTimeout(240_000)
    await openFolder(writeRepository(dataDirectory, { 'add/1/model.onnx': addModel(2), 'add/config.pbtxt': 'max_batch_size: 4 instance_group [ { count: 2 kind: KIND_CPU }, { name: "spare" count: 1 kind: KIND_CPU passive: true } ]' }))
    await openPage(page, 'Models')
    await page.getByTestId('load-add').click()
    await expect(page.getByTestId('unload-add')).toBeVisible()
    const row = page.locator('[data-row="add"]')
    await row.click()
    const processId = await serverProcessId()
    for (const attempt of [1, 2, 3, 4, 5]) {
      process.kill(processId, 'SIGUSR2')
      await expect(row).toContainText(`Restart ${attempt}/5`)
      await expect(row.locator('[data-cell="instances"]')).toHaveText('1/2')
      await expect(page.getByTestId('instance-notice')).toContainText('the worker thread')
      await expect(page.getByTestId('instance-trouble')).toContainText('1 of 2 instances run')
      if (attempt === 4) await page.screenshot({ path: join(IMAGES, 'instance-restarting-light-en.png') })
      await expect(page.getByTestId('instance-notice')).toContainText('Runs again', { timeout: 20_000 })
      await expect(row).toContainText('Ready')
      await expect(row.locator('[data-cell="instances"]')).toHaveText('2')
    }
    process.kill(processId, 'SIGUSR2')
    await expect(row).toContainText('1 given up')
    await expect(page.getByTestId('instance-notice')).toContainText('Given up')
    await everyLook(page, 'instance-given-up')
    await page.evaluate(() => { window.location.hash = '#/models/add' })
    await expect(page.getByTestId('instances').locator('tbody tr')).toHaveCount(3)
    await everyLook(page, 'model-given-up')
    await page.getByTestId('trouble-reload').click()
    await expect(page.getByTestId('instances')).not.toContainText('Given up')
    await expect(page.getByTestId('instances').getByText('Running')).toHaveCount(2)
    await expect(page.getByTestId('instances')).toContainText('Passive')
  })
})

test('a share of the traffic is moved while it flows, and the statistics follow', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder, httpPort } }) => {
  test.setTimeout(240_000)
  await openFolder(writeRepository(dataDirectory, { 'm/1/keep': '', 'm/2/keep': '', 'm/config.pbtxt': identityConfig('version_policy { all { } }') }))
  await openPage(page, 'Models')
  await page.getByTestId('load-m').click()
  await expect(page.getByTestId('unload-m')).toBeVisible()
  const port = await httpPort()
  let isOver = false
  const traffic = (async () => { while (!isOver) { await infer(port, 'm', [{ name: 'INPUT0', shape: [1, 4] }]); await new Promise((resolve) => { setTimeout(resolve, 25) }) } })()
  try {
    await page.evaluate(() => { window.location.hash = '#/models/m' })
    await page.getByTestId('traffic-begin').click()
    const share = async (version: string) => Number(/(\d+) %/.exec(await page.getByTestId('traffic-measured').locator(`[data-version="${version}"]`).innerText())?.[1] ?? Number.NaN)
    await expect.poll(() => share('2'), { timeout: 15_000 }).toBe(100)
    const field = page.getByTestId('traffic-percent')
    await field.fill('30')
    await field.press('Enter')
    await expect.poll(async () => Math.abs(await share('2') - 30), { timeout: 20_000 }).toBeLessThanOrEqual(3)
    // By keyboard: Page Up is ten.
    const slider = page.getByTestId('traffic-slider')
    await slider.focus()
    for (let step = 0; step < 4; step++) await slider.press('PageUp')
    await expect(field).toHaveValue('70')
    await expect.poll(async () => Math.abs(await share('2') - 70), { timeout: 20_000 }).toBeLessThanOrEqual(3)
    const counted = await (await fetch(`http://127.0.0.1:${port}/v2/models/m/versions/2/stats`)).json() as { model_stats: { traffic?: { percent: number } }[] }
    expect(counted.model_stats[0]?.traffic?.percent).toBe(70)
    await everyLook(page, 'model-traffic')
    await page.getByTestId('traffic-end').click()
    await expect(page.getByTestId('traffic-begin')).toBeVisible()
  } finally {
    isOver = true
    await traffic
  }
})

test('a load shows its stage with the time and is cancelled, which is no failure', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  test.setTimeout(240_000)
  await openFolder(writeRepository(dataDirectory, { 'slow/1/keep': '', 'slow/config.pbtxt': identityConfig('instance_group { count: 2 kind: KIND_CPU } parameters { key: "creation_delay_sec" value { string_value: "60" } }') }))
  await openPage(page, 'Models')
  await page.getByTestId('load-slow').click()
  await page.evaluate(() => { window.location.hash = '#/models/slow' })
  await expect(page.getByTestId('running-load')).toContainText('Creating instances')
  await expect(page.getByTestId('stage-time')).toHaveText(/^[1-9]\d* s$/)
  await everyLook(page, 'model-loading')
  await openPage(page, 'Models')
  await page.getByTestId('cancel-slow').click()
  await expect(page.locator('[data-row="slow"]')).toContainText('Unloaded')
  await expect(page.getByTestId('load-slow')).toBeVisible()
  await expect(page.getByRole('alert').filter({ hasText: 'slow' })).toHaveCount(0)
  await page.evaluate(() => { window.location.hash = '#/models/slow' })
  await expect(page.getByTestId('last-load')).toContainText('Cancelled')
})
