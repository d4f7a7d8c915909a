/** The first slice through everything: three clicks to a recognised text line, an ordinary client, live charts, unload. */
import { join } from 'node:path'
import { expect, openPage, test } from '../console-fixture.ts'
import { expectedText, runPythonClient, writeSampleTensor } from './recognised-text.ts'

const REQUESTS = 500

test('sample repository, Load, Run: a recognised line; then a client, the charts, unload', { tag: '@either-host' }, async ({ console: { page, dataDirectory, httpPort } }) => {
  test.setTimeout(240_000)
  await test.step('three clicks and nothing typed', async () => {
    await page.getByTestId('first-run-sample').click()
    await page.getByTestId('load-to-test').click()
    await page.getByTestId('run').click()
    await expect(page.getByTestId('recognised-text')).toHaveText(expectedText('line-en.png'))
  })

  await test.step('an ordinary client gets the same text and its requests show in the charts', async () => {
    const port = await httpPort()
    const tensor = join(dataDirectory, 'line.f32')
    const shape = await writeSampleTensor(page, 'line-en.png', tensor)
    await openPage(page, 'Monitor')
    await page.getByRole('combobox', { name: 'Model' }).selectOption('ppocr_rec')
    await page.getByRole('button', { name: 'Show as table' }).click()
    const before = Date.now()
    const run = await runPythonClient({ port, tensor, shape, count: REQUESTS, concurrency: 4 })
    expect(run.text).toBe(expectedText('line-en.png'))
    expect(run.latencies_ms).toHaveLength(REQUESTS)

    const seconds = async () => (await page.getByTestId('second').evaluateAll((rows) => rows.map((row) => ({
      time: Date.parse(row.getAttribute('data-time') ?? ''), requests: Number(row.getAttribute('data-requests')), p95: row.getAttribute('data-p95-milliseconds') ?? '',
    })))).filter((row) => row.time > before).sort((a, b) => a.time - b.time)
    await page.getByRole('button', { name: '5 min' }).or(page.getByRole('radio', { name: '5 min' })).first().click()
    await expect.poll(async () => (await seconds()).reduce((sum, row) => sum + row.requests, 0), { timeout: 10_000 }).toBe(REQUESTS)

    const shown = await seconds()
    let cumulative = 0
    for (const row of shown) {
      cumulative += row.requests
      const finishedBy = (time: number) => run.finished_at_ms.filter((finished) => finished <= time).length
      expect(cumulative, `requests up to ${new Date(row.time).toISOString()}`).toBeGreaterThanOrEqual(finishedBy(row.time - 1000))
      expect(cumulative, `requests up to ${new Date(row.time).toISOString()}`).toBeLessThanOrEqual(finishedBy(row.time + 1000))
    }

    // The sentence under the title sums the window: "Last 5 min: 501 requests (...), p95 123 ms, no errors."
    const conclusion = await page.getByText(/^Last 5 min: .*p95/).innerText()
    const [, figure = '', unit = ''] = /p95 ([\d.,\s]+?)\s*(µs|ms|s)\b/.exec(conclusion) ?? []
    const shownP95 = Number(figure.replace(/[^\d.]/g, '')) * { µs: 1e3, ms: 1e6, s: 1e9 }[unit as 'ms']
    const clientP95 = [...run.latencies_ms].sort((a, b) => a - b)[Math.floor(0.95 * REQUESTS)] ?? NaN
    // The client's clock starts before the server's and stops after it, so the two agree within a quarter octave, not exactly.
    expect(Math.abs(Math.log2(shownP95 / (clientP95 * 1e6))), `${conclusion}; the client measured ${clientP95.toFixed(1)} ms`).toBeLessThanOrEqual(0.25)
  })

  await test.step('unload', async () => {
    await openPage(page, 'Models')
    await page.getByTestId('unload-ppocr_rec').click()
    await expect(page.getByTestId('load-ppocr_rec')).toBeVisible()
  })
})
