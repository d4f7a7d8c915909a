/** What journeys look for on whatever page is shown: accessibility findings, raw or cut-off text; and the switches that they look through. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from '@playwright/test'
import type axe from 'axe-core'
import { expect } from './console-fixture.ts'

/** Theme and language, by the switches of the top bar. */
export async function choose(page: Page, theme: string, language: string): Promise<void> {
  await page.getByTestId('theme-switch').click()
  await page.getByTestId(`theme-${theme}`).click()
  await page.getByTestId('language-switch').click()
  await page.getByTestId(`language-${language}`).click()
  await expect(page.locator('html')).toHaveAttribute('lang', language)
}

/** 'all'; 'colours': the page was looked at in another theme, so that only its colours can be wrong; 'none': colours and names were looked at before. */
export type AccessibilityRules = 'all' | 'colours' | 'none'

export interface Look {
  readonly theme: 'light' | 'dark' | 'contrast'
  readonly language: 'en' | 'zh-CN'
  readonly rules: AccessibilityRules
}

/**
 * Each theme and each language once: what a journey looks through where it shows something that every-page.spec.ts, which has all of them, does not.
 * Names depend on the language and colours on the theme: each is examined once.
 */
export const LOOKS: readonly Look[] = [
  { theme: 'dark', language: 'zh-CN', rules: 'all' }, { theme: 'contrast', language: 'en', rules: 'all' },
  { theme: 'light', language: 'zh-CN', rules: 'colours' }, { theme: 'light', language: 'en', rules: 'none' },
]

/** What is wrong with the page as it stands; all findings of a run are reported together. `isStrict`: with accessibility findings of minor impact. */
export async function findings(page: Page, where: string, { isStrict = false, rules = 'all' }: { readonly isStrict?: boolean; readonly rules?: AccessibilityRules } = {}): Promise<string[]> {
  const violations = rules === 'none' ? [] : await axeViolations(page, rules === 'colours' ? { runOnly: ['color-contrast'] } : {})
  const serious = violations.filter(({ impact }) => isStrict || impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `axe ${id}: ${nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary?.split('\n')[1]?.trim() ?? ''})`).join(', ')}`)
  const text = await page.locator('body').innerText()
  const raw = text.match(/\{\{\w+\}\}|\bundefined\b|\bNaN\b|\[object Object\]/g) ?? []
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  return [...serious, ...raw.map((match) => `raw text ${match}`), ...(await lastingBoxes(page)).map((shown) => `boxes instead of Han glyphs: ${shown}`), ...(overflow > 0 ? [`${overflow} px wider than the window`] : [])].map((finding) => `${where}: ${finding}`)
}

const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** axe is put into a page once and asked there: the console has no frames, which its wrapper for Playwright would open a second page for each time. */
async function axeViolations(page: Page, options: axe.RunOptions): Promise<axe.Result[]> {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE_SOURCE)
  return page.evaluate(async (runOptions) => {
    const { axe: inPage } = window as unknown as { axe: typeof axe }
    // Fluent's focus guards hand the focus on at once, so that a hidden element never holds it.
    const { violations } = await inPage.run({ exclude: ['[data-tabster-dummy]'] }, { resultTypes: ['violations'], ...runOptions })
    return violations
  }, options)
}

/** The face of a glyph arrives a moment after its text: boxes that go away by themselves are none. */
export async function lastingBoxes(page: Page): Promise<string[]> {
  let found = await boxes(page)
  for (let attempt = 0; attempt < 15 && found.length > 0; attempt++) {
    await page.waitForTimeout(200)
    found = await boxes(page)
  }
  return found
}

/** Han text that is narrower than its glyphs are: the boxes of a font that does not have them. */
export async function boxes(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    await document.fonts.ready
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const found: string[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const at = /\p{Script=Han}{2}/u.exec(node.textContent ?? '')?.index
      const parent = node.parentElement
      if (at === undefined || parent === null) continue
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + 2)
      const [{ width, height } = { width: 0, height: 0 }, ...others] = range.getClientRects()
      // Not shown, or broken between the two.
      if (width === 0 || height === 0 || others.length > 0) continue
      if (width < Number.parseFloat(getComputedStyle(parent).fontSize) * 2 * 0.9) found.push(node.textContent ?? '')
    }
    return found
  })
}
