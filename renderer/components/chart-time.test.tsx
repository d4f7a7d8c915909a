import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { valueScale } from '../lib/chart-scale.ts'
import { render, type Rendered } from '../testing/render.tsx'
import { TimeChart, type ChartSeries } from './chart-time.tsx'

interface Point { readonly time: number; readonly value: number | null }

const T0 = 1_700_000_000_000
const at = (second: number, value: number | null): Point => ({ time: T0 + second * 1000, value })
const series: readonly ChartSeries<Point>[] = [{ key: 'p95', label: 'p95', color: 'red', value: (point) => point.value, format: (value) => (value === null ? '—' : `${value} ms`) }]

describe('TimeChart', () => {
  let page: Rendered

  beforeEach(() => {
    // jsdom lays nothing out: every element is 600 x 120.
    vi.stubGlobal('ResizeObserver', class {
      readonly #callback: ResizeObserverCallback
      constructor(callback: ResizeObserverCallback) { this.#callback = callback }
      observe() { this.#callback([{ contentRect: { width: 600, height: 120 } } as ResizeObserverEntry], this as unknown as ResizeObserver) }
      unobserve() {}
      disconnect() {}
    })
  })

  afterEach(async () => {
    await page.unmount()
    vi.unstubAllGlobals()
  })

  const show = async (points: readonly Point[], cursorIndex: number | null = null, gaps: readonly { from: number; to: number }[] = [], top = 10) => {
    page = await render(<TimeChart title="Latency" summary="p95 now 3 ms" series={series} points={points} start={T0} end={T0 + 10_000} scale={valueScale(top)} unit="ms" gaps={gaps} gapLabel="no data" marks={[]} newest={points.at(-1) ?? null} cursorIndex={cursorIndex} />)
  }
  const line = () => page.container.querySelector('path.recharts-area-curve')?.getAttribute('d') ?? ''
  const head = () => page.container.querySelector('.npu-chart-head')?.textContent

  it('breaks the line where nothing is known, and draws a lone value as a dot', async () => {
    await show([at(1, 5), at(2, 5), at(3, null), at(4, 7), at(5, null), at(6, 2), at(7, 3)])
    expect(line().match(/M/g)).toHaveLength(3)
    expect(page.container.querySelectorAll('.npu-chart-overlay circle')).toHaveLength(1)
  })

  it('puts values where the scale says: 48 px axis, 0 at the bottom', async () => {
    await show([at(0, 0), at(10, 10)])
    expect(line()).toBe('M48,114L592,8')
    expect([...page.container.querySelectorAll('.npu-chart-overlay text')].map((text) => text.textContent)).toEqual(['0', '5', '10 ms'])
  })

  it('puts the unit inside the plot where the axis has no room beside the number', async () => {
    await show([at(0, 0), at(10, 2000)], null, [], 2000)
    const texts = [...page.container.querySelectorAll('.npu-chart-overlay text')]
    expect(texts.map((text) => text.textContent)).toEqual(['0', '500', '1000', '1500', '2000', 'ms'])
    expect(texts.map((text) => text.getAttribute('x'))).toEqual(['41', '41', '41', '41', '41', '52'])
  })

  it('shows the newest value, or the one under the cursor, in the header', async () => {
    await show([at(1, 5), at(2, 7), at(3, null)])
    expect(head()).toContain('—')
    await page.unmount()
    await show([at(1, 5), at(2, 7), at(3, null)], 1)
    expect(head()).toContain('7 ms')
  })

  it('greys a gap and names its reason where there is room', async () => {
    await show([at(1, 5)], null, [{ from: T0 + 2000, to: T0 + 8000 }])
    expect(page.container.querySelector('.npu-chart-overlay rect')).not.toBeNull()
    expect(page.container.textContent).toContain('no data')
    await page.unmount()
    // 54 px: its reason would stand out of it on both sides.
    await show([at(1, 5)], null, [{ from: T0 + 9000, to: T0 + 10_000 }])
    expect(page.container.querySelector('.npu-chart-overlay rect')).not.toBeNull()
    expect(page.container.textContent).not.toContain('no data')
  })
})
