/** Code of a repository runs in the desktop once somebody trusted it, and under `serve` at once. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testInterpreter } from '../../server-core/testing/python-models.ts'
import { expect, openPage, test } from '../console-fixture.ts'
import { choose, findings } from '../page-findings.ts'

const CONFIG = `backend: "python"
max_batch_size: 8
input [ { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] } ]
parameters: { key: "PYTHON_INTERPRETER" value: { string_value: "${testInterpreter()}" } }
`
const code = (mark: string) => `import triton_python_backend_utils as pb_utils
open(${JSON.stringify(mark)}, "a").close()

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", pb_utils.get_input_tensor_by_name(request, "IN").as_numpy())]) for request in requests]
`

test('a repository with Python code is trusted, serves, and is not trusted any more', async ({ console: { page, dataDirectory, openFolder, httpPort }, host }) => {
  test.setTimeout(180_000)
  const repository = join(realpathSync(dataDirectory), 'home', 'models')
  const mark = join(dataDirectory, 'ran')
  mkdirSync(join(repository, 'scorer', '1'), { recursive: true })
  writeFileSync(join(repository, 'scorer', 'config.pbtxt'), CONFIG)
  writeFileSync(join(repository, 'scorer', '1', 'model.py'), code(mark))
  await openFolder(repository)
  await openPage(page, 'Models')
  const notice = page.getByTestId('trust-notice')
  const row = page.locator('[data-row="scorer"]')
  const load = async (port: number) => fetch(`http://127.0.0.1:${port}/v2/repository/models/scorer/load`, { method: 'POST' })
  await expect(row).toBeVisible()
  if (host === 'browser') {
    // Whoever started `serve` on a repository has decided.
    await expect(notice).toHaveCount(0)
    await page.getByTestId('load-scorer').click()
    await expect(row).toContainText('Ready', { timeout: 60_000 })
    await openPage(page, 'Settings')
    await expect(page.getByRole('heading', { name: 'About' })).toBeVisible()
    await expect(page.getByText('Trusted repositories')).toHaveCount(0)
    return
  }
  await expect(notice).toContainText('This repository contains Python code that runs with your rights')
  await expect(notice.getByTestId('trust-path')).toHaveText(repository)
  await expect(row).toContainText('Not trusted')
  expect(await findings(page, 'models, not trusted', { rules: 'all' })).toEqual([])
  const port = await httpPort()
  const refused = await load(port)
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain(`its repository '${repository}' is not trusted`)
  await openPage(page, 'Models')
  await page.getByTestId('trust-later').click()
  await expect(notice).toHaveCount(0)
  await page.evaluate(() => { window.location.hash = '#/models/scorer/summary' })
  await expect(page.getByTestId('failure-card')).toContainText('its repository is not trusted')
  await choose(page, 'dark', 'zh-CN')
  await expect(notice).toContainText('这个模型仓库含有 Python 代码，会以你的权限运行')
  expect(await findings(page, 'model, not trusted, dark zh-CN', { rules: 'all' })).toEqual([])
  await choose(page, 'light', 'en')
  expect(existsSync(mark)).toBe(false)

  // What was refused loads by itself.
  await notice.getByTestId('trust-repository').click()
  await expect(notice).toHaveCount(0)
  await expect(page.getByTestId('detail-unload')).toBeVisible({ timeout: 60_000 })
  expect(existsSync(mark)).toBe(true)
  expect((await load(port)).status).toBe(200)

  await openPage(page, 'Settings')
  const trusted = page.getByTestId('trusted-repositories')
  await expect(trusted).toContainText(repository)
  expect(await findings(page, 'settings with a trusted repository', { rules: 'all' })).toEqual([])
  await trusted.getByRole('button', { name: `Revoke trust in ${repository}` }).click()
  await expect(page.getByTestId('trust-none')).toBeVisible()
  await openPage(page, 'Models')
  await expect(row).toContainText('Not trusted')
  expect((await load(port)).status).toBe(400)
})
