/** A tiny PNG reader for tests: 8 bits a channel, grey, RGB or RGBA, not interlaced. */
import { inflateSync } from 'node:zlib'

export interface TestImage {
  readonly width: number
  readonly height: number
  /** Three bytes a pixel, red first. */
  readonly rgb: Uint8Array
}

export function readPng(png: Buffer): TestImage {
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const [width, height, colorType] = [png.readUInt32BE(16), png.readUInt32BE(20), png.readUInt8(25)]
  const channels = ({ 0: 1, 2: 3, 6: 4 } as Record<number, number>)[colorType]
  if (channels === undefined || png.readUInt8(24) !== 8 || png.readUInt8(28) !== 0) throw new Error('a PNG of another kind')
  const raw = inflateSync(Buffer.concat(parts))
  const stride = width * channels
  const pixels = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? pixels[y * stride + x - channels]! : 0
      const up = y > 0 ? pixels[(y - 1) * stride + x]! : 0
      const corner = x >= channels && y > 0 ? pixels[(y - 1) * stride + x - channels]! : 0
      pixels[y * stride + x] = raw[y * (stride + 1) + 1 + x]! + prediction(filter, left, up, corner)
    }
  }
  const rgb = new Uint8Array(width * height * 3)
  for (let index = 0; index < rgb.length; index++) {
    rgb[index] = pixels[Math.floor(index / 3) * channels + (channels === 1 ? 0 : index % 3)]!
  }
  return { width, height, rgb }
}

function prediction(filter: number | undefined, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const estimate = left + up - corner
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}
