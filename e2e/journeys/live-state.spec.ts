/** The window shows what the server does, whoever asked for it, and survives the server. */
import { expect, openPage, test } from '../console-fixture.ts'

/** A state change must reach the pixels within this time. */
const PUSH_MILLISECONDS = 300

test('a load started by another client shows in the window within 300 ms', { tag: '@either-host' }, async ({ console: { page, httpPort } }) => {
  await page.getByTestId('first-run-sample').click()
  await expect(page.getByTestId('load-to-test')).toBeVisible()
  const port = await httpPort()
  await openPage(page, 'Models')
  await expect(page.getByTestId('load-ppocr_cls')).toBeVisible()
  const control = async (verb: 'load' | 'unload') => {
    const response = await fetch(`http://127.0.0.1:${port}/v2/repository/models/ppocr_cls/${verb}`, { method: 'POST' })
    expect(response.status, await response.text()).toBe(200)
    return Date.now()
  }
  // Noise of a shared machine can delay one of them; the path is fast when the best of three is.
  const delays: number[] = []
  for (let attempt = 0; attempt < 3; attempt++) {
    const shown = page.evaluate(() => new Promise<number>((resolve) => {
      const look = () => {
        if (document.querySelector('[data-testid="unload-ppocr_cls"]') !== null) resolve(Date.now())
        else requestAnimationFrame(look)
      }
      look()
    }))
    const loadedAt = await control('load')
    delays.push(await shown - loadedAt)
    await control('unload')
    await expect(page.getByTestId('load-ppocr_cls')).toBeVisible()
  }
  expect(Math.min(...delays), `delays: ${delays.join(', ')} ms`).toBeLessThanOrEqual(PUSH_MILLISECONDS)
})

test('the window says that the server is gone, and comes back with it', async ({ console: { page, killServer, startServerAgain } }) => {
  await page.getByTestId('first-run-sample').click()
  await expect(page.getByTestId('load-to-test')).toBeVisible()
  await openPage(page, 'Models')
  await expect(page.getByTestId('load-ppocr_rec')).toBeVisible()
  await killServer()
  await expect(page.getByTestId('connection-banner')).toBeVisible()
  await startServerAgain()
  await expect(page.getByTestId('connection-banner')).toBeHidden({ timeout: 20_000 })
  await expect(page.getByText('Engine ready')).toBeVisible()
  await openPage(page, 'Overview')
  await expect(page.getByText(/^http:\/\/127\.0\.0\.1:\d+$/).first().or(page.getByTestId('first-run'))).toBeVisible()
})
