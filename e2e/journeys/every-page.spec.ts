/**
 * Every page in both languages and three themes: no serious accessibility finding, no key left untranslated, nothing cut off. Saves the pictures
 * of the documentation: under docs/images/ where one is missing or UPDATE_IMAGES=1, else under test-results/images/. The desktop shows the same
 * pages in the same Chromium: there each is opened once, and only what the host has a part in is examined for accessibility.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { expect, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, type Look } from '../page-findings.ts'

/** Names depend on the language and colours on the theme: each is examined once. */
const LOOKS: Readonly<Record<'browser' | 'desktop', readonly (Look & { readonly isPictured: boolean })[]>> = {
  browser: [
    { theme: 'light', language: 'en', rules: 'all', isPictured: true },
    { theme: 'dark', language: 'en', rules: 'colours', isPictured: true },
    { theme: 'contrast', language: 'en', rules: 'colours', isPictured: false },
    { theme: 'light', language: 'zh-CN', rules: 'all', isPictured: true },
    { theme: 'dark', language: 'zh-CN', rules: 'none', isPictured: true },
  ],
  desktop: [{ theme: 'light', language: 'zh-CN', rules: 'none', isPictured: false }],
}
/** Other controls in the desktop than in a browser. */
const HOST_PAGES = new Set(['first-run', 'settings'])

const PAGES = [
  { name: 'overview', hash: '#/overview' },
  { name: 'models', hash: '#/models' },
  { name: 'model-summary', hash: '#/models/ppocr_rec/summary' },
  { name: 'model-config', hash: '#/models/ppocr_rec/config' },
  { name: 'model-test', hash: '#/models/ppocr_rec/test' },
  { name: 'model-files', hash: '#/models/ppocr_rec/files' },
  { name: 'model-log', hash: '#/models/ppocr_rec/log' },
  { name: 'monitor', hash: '#/monitor' },
  { name: 'devices', hash: '#/devices' },
  { name: 'pipelines', hash: '#/pipelines/ppocr_line' },
  { name: 'settings', hash: '#/settings' },
] as const

async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate((next) => { window.location.hash = next }, hash)
  await expect(page.locator('main h1').first()).toBeVisible()
  await page.mouse.move(720, 890)
}

async function picture(page: Page, name: string, theme: string, language: string): Promise<void> {
  const file = `${name}-${theme}-${language}.png`
  const documented = join(PROJECT_DIRECTORY, 'docs', 'images', file)
  const isKept = process.env['UPDATE_IMAGES'] === '1' || !existsSync(documented)
  const directory = isKept ? join(PROJECT_DIRECTORY, 'docs', 'images') : join(PROJECT_DIRECTORY, 'test-results', 'images')
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: join(directory, file) })
}

test('every page in both languages and every theme', async ({ console: { page, httpPort }, host }) => {
  test.setTimeout(600_000)
  const found: string[] = []
  const look = async (name: string, { theme, language, rules, isPictured }: typeof LOOKS.browser[number]) => {
    found.push(...await findings(page, `${name} ${theme} ${language}`, { rules: host === 'desktop' && HOST_PAGES.has(name) ? 'all' : rules }))
    if (isPictured) await picture(page, name, theme, language)
  }
  for (const each of LOOKS[host]) {
    await choose(page, each.theme, each.language)
    await show(page, '#/overview')
    await expect(page.getByTestId('first-run')).toBeVisible()
    await look('first-run', each)
  }
  await choose(page, 'light', 'en')
  await show(page, '#/overview')
  await page.getByTestId('first-run-sample').click()
  await page.getByTestId('load-to-test').click()
  await page.getByTestId('run').click()
  await expect(page.getByTestId('recognised-text')).toBeVisible()
  // Something to see in tables, charts and the graph: more models, and traffic; half a minute of it for the documentation's pictures.
  const port = await httpPort()
  for (const model of ['silero_vad', 'ppocr_line']) {
    const load = await fetch(`http://127.0.0.1:${port}/v2/repository/models/${model}/load`, { method: 'POST' })
    expect(load.status).toBe(200)
  }
  const traffic = steadyTraffic(port)
  try {
    if (host === 'browser' && process.env['UPDATE_IMAGES'] === '1') await page.waitForTimeout(30_000)
    for (const each of LOOKS[host]) {
      await choose(page, each.theme, each.language)
      for (const { name, hash } of PAGES) {
        await show(page, hash)
        if (name === 'model-test') {
          await page.getByTestId('run').click()
          await expect(page.getByTestId('recognised-text')).toBeVisible()
          await expect(page.getByTestId('run')).toBeEnabled()
        }
        if (name === 'model-config') {
          await expect(page.getByTestId('config-text')).toContainText('max_batch_size')
          await expect(page.getByTestId('config-form')).toContainText('max_batch_size')
          await expect(page.locator('.view-line [class*="mtk"]:not(.mtk1)').first()).toBeVisible()
        }
        if (name === 'devices') await expect(page.getByTestId('doctor-summary')).toBeVisible({ timeout: 30_000 })
        if (name === 'pipelines') await expect(page.getByTestId('pipeline-canvas')).toBeVisible()
        if (name === 'monitor') await page.waitForTimeout(1500)
        await look(name, each)
      }
    }
  } finally {
    traffic.stop()
  }
  expect(found).toEqual([])
})

/** Indexes into the bodies of `steadyTraffic`. */
const WHOSE_TURN = [1, 0, 0, 2, 0, 0]

/** A few requests a second to the loaded models, one of six to the ensemble, until stopped. */
function steadyTraffic(port: number): { stop(): void } {
  const zeros = (name: string, shape: readonly number[]) => ({ name, shape, datatype: 'FP32', data: Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 0) })
  const bodies = [
    ['silero_vad', { inputs: [zeros('input', [1, 512]), zeros('state', [2, 1, 128]), { name: 'sr', shape: [1], datatype: 'INT64', data: [16000] }] }],
    ['ppocr_rec', { inputs: [zeros('x', [1, 3, 48, 64])], outputs: [{ name: 'softmax_11.tmp_0', parameters: { binary_data: true } }] }],
    ['ppocr_line', { inputs: [zeros('x', [1, 3, 48, 192])], outputs: [{ name: 'direction' }] }],
  ] as const
  let turn = 0
  const timer = setInterval(() => {
    const [model, body] = bodies[WHOSE_TURN[turn++ % WHOSE_TURN.length] ?? 0] ?? bodies[0]
    fetch(`http://127.0.0.1:${port}/v2/models/${model}/infer`, { method: 'POST', body: JSON.stringify(body) })
      .then((response) => response.arrayBuffer())
      .catch(() => { clearInterval(timer) })
  }, 150)
  return { stop: () => { clearInterval(timer) } }
}
