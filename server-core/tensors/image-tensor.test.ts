import { describe, expect, it } from 'vitest'
import { PADDLE_RECOGNITION, normaliseToPlanes, planesToPicture, recognitionSizes, resizeBilinear, type Picture } from './image-tensor.ts'

/** A picture of grey pixels. */
const grey = (width: number, height: number, values: readonly number[]): Picture => ({ width, height, data: Uint8ClampedArray.from(values.flatMap((value) => [value, value, value, 255])) })
const reds = (picture: Picture) => Array.from({ length: picture.width * picture.height }, (_, pixel) => picture.data[pixel * 4])

describe('recognitionSizes', () => {
  it('keeps the ratio and pads to a multiple of 32, at least 320', () => {
    expect(recognitionSizes({ width: 640, height: 64 }, 48, -1)).toEqual({ width: 480, height: 48, tensorWidth: 480, scale: 0.75 })
    expect(recognitionSizes({ width: 641, height: 64 }, 48, -1)).toMatchObject({ width: 481, tensorWidth: 512 })
    expect(recognitionSizes({ width: 100, height: 48 }, 48, -1)).toMatchObject({ width: 100, tensorWidth: 320 })
  })

  it('squeezes into a fixed width', () => {
    expect(recognitionSizes({ width: 1000, height: 48 }, 48, 320)).toMatchObject({ width: 320, tensorWidth: 320 })
  })
})

describe('resizeBilinear', () => {
  it('gives the same pixels back at the same size', () => {
    expect(reds(resizeBilinear(grey(2, 2, [0, 50, 100, 200]), 2, 2))).toEqual([0, 50, 100, 200])
  })

  it('samples at half-pixel centres with clamped edges, as OpenCV does', () => {
    // cv2.resize(np.uint8([[0, 100]]), (4, 1)) is [0, 25, 75, 100].
    expect(reds(resizeBilinear(grey(2, 1, [0, 100]), 4, 1))).toEqual([0, 25, 75, 100])
    expect(reds(resizeBilinear(grey(4, 1, [0, 10, 20, 30]), 2, 1))).toEqual([5, 25])
  })

  it('lays transparent pixels over white', () => {
    expect(reds(resizeBilinear({ width: 1, height: 1, data: new Uint8ClampedArray([0, 0, 0, 0]) }, 1, 1))).toEqual([255])
  })
})

describe('normaliseToPlanes', () => {
  const picture: Picture = { width: 1, height: 1, data: new Uint8ClampedArray([255, 0, 51, 255]) }

  it('puts blue first, scales to -1..1 and fills the rest with 0', () => {
    const planes = Array.from(normaliseToPlanes(picture, 2, PADDLE_RECOGNITION))
    expect(planes.map((value) => Number(value.toFixed(6)))).toEqual([-0.6, 0, -1, 0, 1, 0])
  })

  it('can put red first', () => {
    expect(normaliseToPlanes(picture, 1, { ...PADDLE_RECOGNITION, order: 'RGB' })[0]).toBe(1)
  })

  it('shows as the picture it was made of', () => {
    expect(Array.from(planesToPicture(normaliseToPlanes(picture, 1, PADDLE_RECOGNITION), 1, 1, PADDLE_RECOGNITION).data)).toEqual([255, 0, 51, 255])
  })
})
