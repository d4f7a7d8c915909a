/** Colour arithmetic: WCAG contrast, OKLab distance, and simulated colour blindness (Machado, Oliveira and Fernandes 2009, severity 1). */

type Triple = readonly [number, number, number]
type Matrix = readonly [Triple, Triple, Triple]

export const SIGHTS: Readonly<Record<'normal' | 'protan' | 'deutan' | 'tritan', Matrix>> = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}

/** Linear-light red, green, blue of `#rrggbb` (or `#rgb`). @throws Error on other notations, so that no colour goes unmeasured */
function linear(color: string): Triple {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(color)?.[1]
  if (hex === undefined) throw new Error(`not a hex colour: ${color}`)
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex
  const channel = (index: number) => {
    const value = Number.parseInt(full.slice(index * 2, index * 2 + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  return [channel(0), channel(1), channel(2)]
}

const dot = (row: Triple, [r, g, b]: Triple) => row[0] * r + row[1] * g + row[2] * b

/** WCAG contrast ratio, 1..21. */
export function contrastRatio(one: string, other: string): number {
  const luminance = (color: string) => dot([0.2126, 0.7152, 0.0722], linear(color))
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

function oklab(light: Triple): Triple {
  const cone = (row: Triple) => Math.cbrt(dot(row, light))
  const cones: Triple = [cone([0.4122214708, 0.5363325363, 0.0514459929]), cone([0.2119034982, 0.6806995451, 0.1073969566]), cone([0.0883024619, 0.2817188376, 0.6299787005])]
  return [dot([0.2104542553, 0.793617785, -0.0040720468], cones), dot([1.9779984951, -2.428592205, 0.4505937099], cones), dot([0.0259040371, 0.7827717662, -0.808675766], cones)]
}

/** Distance of two colours in OKLab times 100, as a person with this sight sees them. */
export function colorDistance(one: string, other: string, sight: Matrix = SIGHTS.normal): number {
  const seen = (color: string) => {
    const light = linear(color)
    const clamp = (row: Triple) => Math.min(1, Math.max(0, dot(row, light)))
    return oklab([clamp(sight[0]), clamp(sight[1]), clamp(sight[2])])
  }
  const [a, b] = [seen(one), seen(other)]
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) * 100
}
