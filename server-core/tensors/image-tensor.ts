/**
 * A picture as the input of a text recogniser, step by step as PaddleOCR does it, in plain arithmetic so that every machine and every
 * test gets the same bytes: resize to the height of the model with the ratio kept (bilinear, half-pixel centres, as OpenCV's
 * INTER_LINEAR), normalise ((x / 255 - mean) / std), planes in the order of the model, the rest of the width filled with 0.
 */

/** 8-bit RGBA, row-major, as canvas `ImageData` has it. */
export interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Uint8ClampedArray | Uint8Array
}

export type ChannelOrder = 'BGR' | 'RGB'

export interface RecognitionSizes {
  /** Of the resized picture. */
  readonly width: number
  readonly height: number
  /** Of the tensor: the resized picture and what fills it up. */
  readonly tensorWidth: number
  /** Resized height by original height. */
  readonly scale: number
}

/**
 * Sizes for a model input of this height. `fixedWidth`: the width the model wants, or -1 where it takes any; then the tensor is as wide
 * as the text, rounded up to a multiple of 32 and never below 320, the width PaddleOCR trains with.
 */
export function recognitionSizes(picture: { readonly width: number; readonly height: number }, height: number, fixedWidth: number): RecognitionSizes {
  const scale = height / picture.height
  const natural = Math.max(1, Math.ceil(picture.width * scale))
  const tensorWidth = fixedWidth > 0 ? fixedWidth : Math.max(320, Math.ceil(natural / 32) * 32)
  return { width: Math.min(natural, tensorWidth), height, tensorWidth, scale }
}

/** Bilinear resize with half-pixel centres and clamped edges; values rounded to 8 bits. Alpha is laid over white first. */
export function resizeBilinear(picture: Picture, width: number, height: number): Picture {
  const source = overWhite(picture)
  const data = new Uint8ClampedArray(width * height * 4)
  const columns = sampling(picture.width, width)
  const rows = sampling(picture.height, height)
  for (let y = 0; y < height; y++) {
    const row = rows[y] as SamplePoint
    for (let x = 0; x < width; x++) {
      const column = columns[x] as SamplePoint
      const target = (y * width + x) * 4
      const topLeft = (row.low * picture.width + column.low) * 3
      const topRight = (row.low * picture.width + column.high) * 3
      const bottomLeft = (row.high * picture.width + column.low) * 3
      const bottomRight = (row.high * picture.width + column.high) * 3
      for (let channel = 0; channel < 3; channel++) {
        const top = (source[topLeft + channel] ?? 0) * (1 - column.weight) + (source[topRight + channel] ?? 0) * column.weight
        const bottom = (source[bottomLeft + channel] ?? 0) * (1 - column.weight) + (source[bottomRight + channel] ?? 0) * column.weight
        data[target + channel] = Math.round(top * (1 - row.weight) + bottom * row.weight)
      }
      data[target + 3] = 255
    }
  }
  return { width, height, data }
}

interface SamplePoint { readonly low: number; readonly high: number; readonly weight: number }

function sampling(from: number, to: number): SamplePoint[] {
  return Array.from({ length: to }, (_, index) => {
    const position = Math.min(from - 1, Math.max(0, ((index + 0.5) * from) / to - 0.5))
    const low = Math.floor(position)
    return { low, high: Math.min(from - 1, low + 1), weight: position - low }
  })
}

function overWhite(picture: Picture): Float32Array {
  const pixels = picture.width * picture.height
  const result = new Float32Array(pixels * 3)
  for (let pixel = 0; pixel < pixels; pixel++) {
    const alpha = (picture.data[pixel * 4 + 3] ?? 255) / 255
    for (let channel = 0; channel < 3; channel++) result[pixel * 3 + channel] = (picture.data[pixel * 4 + channel] ?? 0) * alpha + 255 * (1 - alpha)
  }
  return result
}

export interface Normalisation {
  readonly mean: number
  readonly std: number
  readonly order: ChannelOrder
}

/** PaddleOCR's for text recognition: values in -1..1, blue first (OpenCV's order). */
export const PADDLE_RECOGNITION: Normalisation = { mean: 0.5, std: 0.5, order: 'BGR' }

/** FP32 planes [3, height, tensorWidth], row-major; columns right of the picture are 0. */
export function normaliseToPlanes(picture: Picture, tensorWidth: number, { mean, std, order }: Normalisation): Float32Array<ArrayBuffer> {
  const { width, height, data } = picture
  const planes = new Float32Array(3 * height * tensorWidth)
  for (let plane = 0; plane < 3; plane++) {
    const channel = order === 'BGR' ? 2 - plane : plane
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < Math.min(width, tensorWidth); x++) {
        planes[(plane * height + y) * tensorWidth + x] = ((data[(y * width + x) * 4 + channel] ?? 0) / 255 - mean) / std
      }
    }
  }
  return planes
}

/** The tensor as a picture again, as the model sees it: -1..1 becomes black to white, the filled part mid-grey. */
export function planesToPicture(planes: Float32Array, width: number, height: number, { mean, std, order }: Normalisation): Picture {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let plane = 0; plane < 3; plane++) {
      const channel = order === 'BGR' ? 2 - plane : plane
      data[pixel * 4 + channel] = Math.round(((planes[plane * width * height + pixel] ?? 0) * std + mean) * 255)
    }
    data[pixel * 4 + 3] = 255
  }
  return { width, height, data }
}
