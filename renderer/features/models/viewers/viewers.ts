/** Which viewer a model asks for in its config: `parameters { key: "console.viewer" ... }`. */
import type { ModelDetail } from '../../../../server-core/contract/console-api.ts'

export interface TextRecognitionViewer {
  readonly kind: 'text_recognition'
  /** Path of the character list, relative to the model directory. */
  readonly charactersPath: string
}

export type Viewer = TextRecognitionViewer

/** The viewer, or null where the model asks for none that is known here. */
export function viewerOf(detail: ModelDetail): Viewer | null {
  const parameters = detail.config?.parameters
  const charactersPath = parameters?.['console.characters']?.string_value
  if (parameters?.['console.viewer']?.string_value !== 'text_recognition' || charactersPath === undefined) return null
  return { kind: 'text_recognition', charactersPath }
}
