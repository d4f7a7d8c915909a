// Renders the application's icons from their SVG sources with a Chromium: `node scripts/render-icons.mjs`. The PNG files are kept in the repository.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const directory = join(resolve(dirname(fileURLToPath(import.meta.url)), '..'), 'assets/icons')
const SIZES = [16, 24, 32, 48, 64, 128, 256, 512]
/** Up to here the drawing with fewer details is used. */
const LARGEST_SMALL_SIZE = 32

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
for (const size of SIZES) {
  const svg = readFileSync(join(directory, size <= LARGEST_SMALL_SIZE ? 'icon-small.svg' : 'icon.svg'), 'utf8')
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  await page.setContent(`<style>html,body{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${svg}`)
  writeFileSync(join(directory, `${size}x${size}.png`), await page.screenshot({ omitBackground: true }))
  await page.close()
}
await browser.close()
