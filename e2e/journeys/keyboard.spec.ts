/** The window by keyboard alone: where the focus is after each key, and that it can be seen. */
import type { Page } from '@playwright/test'
import { expect, test } from '../console-fixture.ts'

/** The box of the focus ring (its outer edge), and what of it its surroundings cut off. */
function ring(page: Page) {
  return page.evaluate(() => {
    const rings = [...document.querySelectorAll<HTMLElement>('*')].filter((element) => {
      const style = getComputedStyle(element)
      return style.outlineStyle === 'solid' && style.outlineWidth === '2px' && (element === document.activeElement || element.contains(document.activeElement) || element.parentElement?.contains(document.activeElement) === true)
    })
    return rings.map((element) => {
      const width = 2 + Number.parseFloat(getComputedStyle(element).outlineOffset)
      const box = element.getBoundingClientRect()
      const cut: string[] = []
      for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        if (getComputedStyle(parent).overflow === 'visible') continue
        const around = parent.getBoundingClientRect()
        if (box.left - width < around.left || box.top - width < around.top || box.right + width > around.right || box.bottom + width > around.bottom) cut.push(parent.className)
      }
      return { holdsIcon: element.querySelector('svg') !== null, cut }
    })
  })
}

test('dialogs, dock and table take the focus and give it back', { tag: '@either-host' }, async ({ console: { page }, host }) => {
  test.setTimeout(120_000)
  const focused = page.locator(':focus')
  const press = (...keys: string[]) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve())

  // The desktop has the dialog of its system.
  if (host === 'browser') {
    await test.step('the folder browser returns to the menu that opened it', async () => {
      await page.getByTestId('repository-switcher').focus()
      await press('Enter')
      await expect(page.getByRole('menuitem').first()).toBeFocused()
      await press('Enter')
      await expect(page.getByLabel('Folder path')).toBeFocused()
      await expect(page.getByLabel('Folder path')).not.toHaveValue('')
      expect(await ring(page)).toEqual([expect.objectContaining({ cut: [] })])
      await press('Escape')
      await expect(page.getByTestId('repository-switcher')).toBeFocused()
    })
  }

  await test.step('Load leads to Run', async () => {
    await page.getByTestId('first-run-sample').focus()
    await press('Enter')
    await page.getByTestId('load-to-test').focus()
    await press('Enter')
    await expect(page.getByTestId('run')).toBeFocused({ timeout: 20_000 })
    await expect(page.getByTestId('run')).not.toHaveAttribute('aria-disabled', 'true')
    await press('Enter')
    await expect(page.getByTestId('recognised-text')).toBeVisible()
    await expect(page.getByTestId('run')).toBeFocused()
  })

  await test.step('the ring of the filter goes around all of the field', async () => {
    await press('Control+2')
    await expect(page.getByTestId('model-table')).toBeVisible()
    await press('/')
    expect(await ring(page)).toEqual([{ holdsIcon: true, cut: [] }])
  })

  await test.step('the table keeps the focus when the selection bar goes', async () => {
    await page.locator('[role="row"][tabindex="0"]').focus()
    await press('Space')
    await page.getByTestId('selection-bar').getByRole('button').last().focus()
    await press('Enter')
    await expect(focused).toHaveAttribute('role', 'row')
  })

  await test.step('the dock returns to its button', async () => {
    await page.getByTestId('dock-logs-button').focus()
    await press('Enter', 'Shift+Tab', 'Escape')
    await expect(page.getByTestId('dock-logs-button')).toBeFocused()
  })

  await test.step('the time at the cursor covers no label of the lane', async () => {
    await press('Control+3')
    await page.getByRole('slider').focus()
    await press('ArrowLeft')
    const time = await page.locator('.npu-chart-cursor-time').first().boundingBox()
    const lane = await page.locator('.npu-chart-lane').first().boundingBox()
    expect(time && lane && time.y + time.height <= lane.y).toBe(true)
  })
})
