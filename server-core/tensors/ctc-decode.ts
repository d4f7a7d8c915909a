/** Greedy CTC decoding of a text recogniser's scores, as PaddleOCR's CTCLabelDecode. */

export interface DecodedCharacter {
  readonly character: string
  /** Score of the step where it stands. */
  readonly confidence: number
  /** Time step, counted from 0: where in the picture, from the left. */
  readonly step: number
}

export interface DecodedText {
  readonly text: string
  readonly characters: readonly DecodedCharacter[]
  /** null when no character was read. */
  readonly meanConfidence: number | null
}

/** Characters by class: class 0 is the blank, then the lines of the list, then the space. A trailing newline is no line. */
export function characterClasses(listText: string): string[] {
  const lines = listText.replace(/^\uFEFF/, '').split('\n').map((line) => line.replace(/\r$/, ''))
  if (lines[lines.length - 1] === '') lines.pop()
  return ['', ...lines, ' ']
}

/**
 * Best class per step, repeats of one class collapsed, blanks dropped.
 * @param scores row-major [steps, classes]
 * @throws Error when the sizes do not belong together
 */
export function decodeCtc(scores: Float32Array, steps: number, characters: readonly string[]): DecodedText {
  const classes = characters.length
  if (scores.length !== steps * classes) throw new Error(`the scores hold ${scores.length} values, expected ${steps} steps of ${classes} classes`)
  const decoded: DecodedCharacter[] = []
  let previous = 0
  for (let step = 0; step < steps; step++) {
    let best = 0
    for (let candidate = 1; candidate < classes; candidate++) {
      if ((scores[step * classes + candidate] ?? -Infinity) > (scores[step * classes + best] ?? -Infinity)) best = candidate
    }
    if (best !== 0 && best !== previous) decoded.push({ character: characters[best] ?? '', confidence: scores[step * classes + best] ?? 0, step })
    previous = best
  }
  return {
    text: decoded.map((entry) => entry.character).join(''),
    characters: decoded,
    meanConfidence: decoded.length === 0 ? null : decoded.reduce((sum, entry) => sum + entry.confidence, 0) / decoded.length,
  }
}
