/** The buttons of the model table, one row after another. */
import { expect, openPage, test } from '../console-fixture.ts'

test('the tooltip of one row leaves the row above within reach', { tag: '@either-host' }, async ({ console: { page } }) => {
  await page.getByTestId('first-run-sample').click()
  await openPage(page, 'Models')
  for (const name of ['silero_vad', 'ppocr_rec', 'ppocr_det', 'ppocr_cls']) {
    await page.getByTestId(`load-${name}`).hover()
    await expect(page.getByRole('tooltip')).toBeVisible()
    await page.getByTestId(`load-${name}`).click()
  }
  await expect(page.getByRole('button', { name: /^Unload / })).toHaveCount(4)
})
