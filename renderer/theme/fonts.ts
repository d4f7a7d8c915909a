/**
 * Registers the bundled Noto Sans SC (OFL) as the last fallback for Han glyphs: machines without network often have no CJK font. Each face covers
 * one range of code points and is read from disk only when a glyph of that range is needed and no earlier font has it.
 */
import ranges from '@fontsource/noto-sans-sc/unicode.json'

const files = import.meta.glob<string>(
  ['../../node_modules/@fontsource/noto-sans-sc/files/noto-sans-sc-[0-9]*-400-normal.woff2', '../../node_modules/@fontsource/noto-sans-sc/files/noto-sans-sc-[0-9]*-600-normal.woff2'],
  { eager: true, query: '?url&no-inline', import: 'default' },
)

const texts = import.meta.glob<object>('../locales/zh-CN/*.json', { eager: true, import: 'default' })

/** Call once at start-up. */
export function registerFallbackFont(): void {
  const rangeOf = ranges as Readonly<Record<string, string>>
  for (const [path, url] of Object.entries(files)) {
    const parts = /noto-sans-sc-(.+)-(400|600)-normal\.woff2$/.exec(path)
    const subset = parts?.[1]
    const weight = parts?.[2]
    if (subset === undefined || weight === undefined) continue
    const unicodeRange = rangeOf[/^\d+$/.test(subset) ? `[${subset}]` : subset]
    if (unicodeRange === undefined) continue
    document.fonts.add(new FontFace('Noto Sans SC', `url(${JSON.stringify(url)}) format("woff2")`, { weight, unicodeRange, display: 'swap' }))
  }
  drawAgainWhenLoaded()
  if (!hasOwnHanFont()) void loadForTheWindow()
}

/** Longer than this nothing waits for a face: boxes that go away are better than no window. */
const PATIENCE_MILLISECONDS = 3000
let windowFaces: Promise<void> | null = null

/**
 * Resolves when the window's own words can be drawn in a language: text that is shaped with its face there needs no second drawing. At once where
 * the machine has a Han font of its own.
 */
export async function fontsFor(language: string): Promise<void> {
  if (language !== 'zh-CN' || hasOwnHanFont()) return
  await Promise.race([loadForTheWindow(), new Promise((resolve) => { setTimeout(resolve, PATIENCE_MILLISECONDS) })])
}

/** The faces of the window's own Chinese words, before they are asked for. A face that cannot be read is reported, once. */
function loadForTheWindow(): Promise<void> {
  windowFaces ??= (async () => {
    const characters = [...new Set(JSON.stringify(Object.values(texts)).match(/\p{Script=Han}|[\u3000-\u303f\uff00-\uffef]/gu) ?? [])].join('')
    await Promise.all([400, 600].map((weight) => document.fonts.load(`${weight} 14px "Noto Sans SC"`, characters)))
  })().catch(reportError)
  return windowFaces
}

/** Whether Han glyphs come from a font of the machine: without one they are as narrow as the box that stands for any unknown character. */
function hasOwnHanFont(): boolean {
  const canvas = document.createElement('canvas').getContext('2d')
  if (canvas === null) return false
  // Without the bundled font, which has the glyphs but may not be loaded yet.
  canvas.font = '100px "Noto Sans CJK SC", "Source Han Sans SC", "Microsoft YaHei", system-ui, sans-serif'
  return canvas.measureText('中').width !== canvas.measureText('\u{10fffe}').width
}

/**
 * Chromium keeps text that it has shaped without the face, as boxes, until the text or its font settings change. A number that means "on" like any
 * other changes the settings and nothing to be seen.
 */
function drawAgainWhenLoaded(): void {
  let turn = 0
  const settings = new CSSStyleSheet()
  document.adoptedStyleSheets.push(settings)
  document.fonts.addEventListener('loadingdone', ({ fontfaces }) => {
    if (fontfaces.length === 0) return
    // On each element: text that only inherits the settings may still be left as it is.
    const drawAgain = () => { settings.replaceSync(`* { font-feature-settings: "kern" ${++turn} }`) }
    drawAgain()
    // Once more when that is on the screen: while a dialog opens, text that is shaped in the same frame may still miss the face.
    requestAnimationFrame(() => { requestAnimationFrame(drawAgain) })
  })
}
