/** What the console shows of a model in Python that raises, crashes, cannot be imported, or is given another interpreter. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { testInterpreter } from '../../server-core/testing/python-models.ts'
import { expect, openPage, test } from '../console-fixture.ts'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'
import { choose, findings, LOOKS } from '../page-findings.ts'

const CONFIG = `# mine
backend: "python"
max_batch_size: 8
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 1 ] } ]  # one number
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 1 ] } ]
parameters { key: "console.default.IN" value { string_value: "[[0]]" } }
`
const CODE = `import os, sys
import triton_python_backend_utils as pb_utils

def check(value):
    if value == 1:
        try:
            {}["weights"]
        except KeyError:
            raise ValueError("bad value")
    if value == 2:
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)

class TritonPythonModel:
    def initialize(self, args):
        print("printed line", flush=True)
        pb_utils.Logger.log_info("logged line")
        pb_utils.Logger.log_error("logged error")

    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            check(x.flat[0])
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", x)]))
        return answers
`

async function picture(page: Page, name: string): Promise<void> {
  const directory = join(PROJECT_DIRECTORY, 'test-results', 'images')
  mkdirSync(directory, { recursive: true })
  await page.screenshot({ path: join(directory, `python-${name}.png`) })
}

test.use({ serverFlags: [`--backend-config=python,interpreter=${testInterpreter()}`] })

test('a model in Python tells what went wrong in it, and takes another interpreter', { tag: '@either-host' }, async ({ console: { page, dataDirectory, openFolder, httpPort } }) => {
  test.setTimeout(300_000)
  const repository = join(dataDirectory, 'home', 'models')
  const write = (path: string, text: string) => {
    mkdirSync(join(repository, path, '..'), { recursive: true })
    writeFileSync(join(repository, path), text)
  }
  write('scorer/config.pbtxt', CONFIG)
  write('scorer/1/model.py', CODE)
  write('absent/config.pbtxt', CONFIG)
  write('absent/1/model.py', `import no_such_module\n${CODE}`)
  await openFolder(repository)
  const port = await httpPort()
  const infer = async (value: number) => (await fetch(`http://127.0.0.1:${port}/v2/models/scorer/infer`, { method: 'POST', body: JSON.stringify({ inputs: [{ name: 'IN', shape: [1, 1], datatype: 'FP32', data: [value] }] }) })).status
  const show = async (model: string, tab: string) => page.evaluate((hash) => { window.location.hash = hash }, `#/models/${model}/${tab}`)
  const look = async (name: string) => {
    const found: string[] = []
    for (const { theme, language, rules } of LOOKS) {
      await choose(page, theme, language)
      found.push(...await findings(page, `${name} ${theme} ${language}`, { rules }))
      await picture(page, `${name}-${theme}-${language}`)
    }
    return found
  }
  const found: string[] = []
  await openPage(page, 'Models')
  await page.getByTestId('load-scorer').click()
  await expect(page.locator('[data-row="scorer"]')).toContainText('Ready', { timeout: 60_000 })

  // A request that raises: the exception, its place in the model, the whole traceback.
  await show('scorer', 'test')
  const input = page.locator('.npu-inputs textarea').first()
  const details = page.getByTestId('python-failure')
  await input.fill('[[1]]')
  await page.getByTestId('run').click()
  await expect(details.getByTestId('python-place')).toHaveText('1/model.py:9')
  await expect(details).toContainText('During handling of the above exception')
  await expect(details).toContainText('raise ValueError("bad value")')
  found.push(...await look('raised'))

  // One that ends the process: how, and what it said last; the process is another one then.
  const processText = async () => page.getByTestId('instance-process').first().innerText()
  await show('scorer', 'summary')
  await expect(page.getByTestId('instance-process')).toContainText('never restarted')
  const before = await processText()
  await show('scorer', 'test')
  await input.fill('[[2]]')
  await page.getByTestId('run').click()
  await expect(details).toContainText('The process of instance scorer_0 ended.')
  await expect(details).toContainText('It ended with exit code 3.')
  await expect(details).toContainText('out of luck')
  await picture(page, 'crashed')
  await show('scorer', 'summary')
  await expect(page.getByTestId('instance-process')).toContainText('died 1 time', { timeout: 60_000 })
  await expect(page.getByTestId('instance-process')).toContainText('It ended with exit code 3.')
  await expect.poll(processText, { timeout: 60_000 }).toMatch(/Process \d+/)
  expect(await processText()).not.toBe(before)

  // What it prints and logs stands in its log, with levels.
  await show('scorer', 'log')
  const logged = (level: string, text: string) => page.locator(`.npu-detail-log-${level}`, { hasText: text }).first()
  for (const [level, text] of [['info', 'printed line'], ['info', 'logged line'], ['error', 'logged error'], ['warning', 'out of luck'], ['warning', '    raise ValueError("bad value")']] as const) await expect(logged(level, text)).toBeVisible()
  await picture(page, 'log')

  // A module that is not there is named.
  await show('absent', 'summary')
  await page.getByTestId('detail-load').click()
  await expect(page.getByTestId('failure-card')).toContainText('Python cannot import “no_such_module”', { timeout: 60_000 })
  await expect(page.getByTestId('failure-card').getByTestId('python-place')).toHaveText('1/model.py:1')
  found.push(...await look('absent'))

  // Another interpreter: written into the config, and nothing else of it touched.
  await show('scorer', 'summary')
  const configFile = join(repository, 'scorer', 'config.pbtxt')
  await page.getByTestId('interpreter-choose').click()
  // The first is the engine's own choice, the next the same by its path.
  const named = page.locator('.npu-interpreters input[type="radio"]:enabled').nth(1)
  await named.check({ timeout: 60_000 })
  const path = await named.inputValue()
  found.push(...await look('interpreters'))
  await page.getByTestId('interpreter-apply').click()
  await expect(page.getByTestId('interpreter-outcome')).toContainText('Loaded with this interpreter', { timeout: 60_000 })
  await expect(page.getByTestId('interpreter-facts')).toContainText(path)
  const written = readFileSync(configFile, 'utf8')
  expect(written).toContain('# one number')
  expect(written).toContain(`string_value: "${path}"`)
  expect(await infer(0)).toBe(200)
  expect(found).toEqual([])
})
