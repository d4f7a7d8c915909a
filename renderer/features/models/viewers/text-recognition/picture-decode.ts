/** Picture files to pixels, through the browser's decoder; orientation as the file says, colours untouched. */
import type { Picture } from '../../../../../server-core/tensors/image-tensor.ts'

/** Larger pictures are refused: a text line has no use for them, and the pixels must fit in memory. */
const MOST_PIXELS = 50_000_000

/** @throws Error when the bytes are no picture that the browser can decode, or it is too large */
export async function decodePicture(data: Blob): Promise<Picture> {
  const bitmap = await createImageBitmap(data, { colorSpaceConversion: 'none', premultiplyAlpha: 'none' })
  const { width, height } = bitmap
  if (width * height > MOST_PIXELS) throw new Error(`${width} x ${height} pixels are more than ${MOST_PIXELS}`)
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  const context = canvas.getContext('2d', { willReadFrequently: true })
  if (!context) throw new Error('no 2D canvas')
  context.drawImage(bitmap, 0, 0)
  bitmap.close()
  return { width, height, data: context.getImageData(0, 0, width, height).data }
}
