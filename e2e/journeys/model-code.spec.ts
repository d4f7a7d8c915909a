/** A model.py in the console: what is wrong with it, fixes, saving without losing a byte, a file that changes on disk; in both languages and themes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { PYTHON_CONFIG } from '../../server-core/testing/python-models.ts'
import { expect, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, LOOKS } from '../page-findings.ts'

/** CRLF line ends, a byte order mark, and no line end at the end: all of that stays. */
const CODE = `\uFEFF# 文本方向：演示
import numpy as np
import triton_python_backend_utils as pb_utils
from ais_bench.infer.interface import InferSession


class TritonPythonModel:
    def initialize(self, args):
        self.session = InferSession(0, "/home/me/models/direction.om")

    def execute(self, requests):
        responses = []
        for request in requests:
            image = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            print(image)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", image * 2)]))
            return responses  # 完`.replaceAll('\n', '\r\n')

const FIXED = CODE
  .replace('InferSession(0, ', 'InferSession(int(args["model_instance_device_id"]), ')
  .replace('print(image)', 'print(image.shape)')
  .replace('            return responses', '        return responses') + '\r\n\r\n    def finalize(self):\r\n        self.session.free_resource()'

function writeModel(dataDirectory: string): string {
  const repository = join(dataDirectory, 'home', 'repository')
  for (const version of ['1', '2']) mkdirSync(join(repository, 'direction', version), { recursive: true })
  writeFileSync(join(repository, 'direction/config.pbtxt'), PYTHON_CONFIG)
  writeFileSync(join(repository, 'direction/1/model.py'), 'x = 1\n')
  writeFileSync(join(repository, 'direction/2/model.py'), CODE)
  return repository
}

/** The problems shown are those of the text shown. */
async function checked(page: Page): Promise<void> {
  await expect(page.getByTestId('code-problems')).toHaveAttribute('data-checked', 'true')
}

test('a model.py is repaired by fixes, saved byte by byte, and not over what another program wrote', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder } }) => {
  test.setTimeout(180_000)
  const repository = writeModel(dataDirectory)
  const path = join(repository, 'direction/2/model.py')
  await openFolder(repository)
  await page.evaluate(() => { window.location.hash = '#/models/direction/code' })
  await checked(page)
  const problems = page.getByTestId('code-problems').locator('.npu-editor-problem')
  await expect(problems.locator('.npu-editor-problem-code')).toHaveText(['nothing-freed', 'hard-coded-card', 'absolute-model-path', 'prints-tensor', 'return-in-request-loop'])
  await expect(page.getByTestId('dock-problems-button')).toContainText('1')
  const found: string[] = []
  for (const { theme, language, rules } of LOOKS) {
    await choose(page, theme, language)
    await problems.nth(1).getByRole('button').first().click()
    await expect(page.locator('.npu-editor-zone')).toContainText('hard-coded-card')
    found.push(...await findings(page, `${theme} ${language}`, { rules }))
    await page.screenshot({ path: join(PROJECT_DIRECTORY, 'test-results', 'images', `model-code-${theme}-${language}.png`) })
  }
  expect(found).toEqual([])

  await page.getByTestId('code-fix-all').click()
  await checked(page)
  await expect(problems.locator('.npu-editor-problem-code')).toHaveText(['absolute-model-path'])
  // One step of the editor's undo.
  await page.getByTestId('code-text').getByRole('textbox').first().focus()
  await page.keyboard.press('Control+z')
  await checked(page)
  await expect(problems).toHaveCount(5)
  await page.getByTestId('code-fix-all').click()
  await checked(page)
  await page.keyboard.press('Control+s')
  await expect(page.getByTestId('code-diff')).toBeVisible()
  await page.screenshot({ path: join(PROJECT_DIRECTORY, 'test-results', 'images', 'model-code-save.png') })
  await page.getByTestId('code-diff-confirm').click()
  await expect.poll(() => readFileSync(path, 'utf8')).toBe(FIXED)

  // Somebody else writes while there are changes here.
  await page.getByTestId('code-text').getByRole('textbox').first().focus()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText('  # mine')
  writeFileSync(path, 'theirs = True\n')
  await page.getByTestId('code-save').click()
  await page.getByTestId('code-diff-confirm').click()
  await expect(page.getByTestId('code-disk-change')).toBeVisible()
  expect(readFileSync(path, 'utf8')).toBe('theirs = True\n')
  await page.getByTestId('code-take-theirs').click()
  await expect(page.getByTestId('code-text')).toContainText('theirs = True')
  await expect(page.getByTestId('code-disk-change')).toBeHidden()

  await page.getByTestId('code-version').selectOption('1')
  await expect(page.getByTestId('code-text')).toContainText('x = 1')
})
