/** Which labels of a one-line lane can be shown without covering each other. */

export type LabelPlace = 'right' | 'left' | 'none'

/** Estimated width in px at 11 px type: Han characters are as wide as they are high. */
export function labelWidth(text: string): number {
  let width = 16
  for (const character of text) width += character > '\u2e80' ? 11 : 6.2
  return width
}

/**
 * A place per label: to the right of its mark, to the left where the right edge is near, or none (the mark alone). Labels come oldest
 * first; newer ones win.
 */
export function placeLabels(labels: readonly { readonly at: number; readonly text: string }[], laneWidth: number): LabelPlace[] {
  const places: LabelPlace[] = labels.map(() => 'none')
  const taken: { from: number; to: number }[] = labels.map(({ at }) => ({ from: at - 2, to: at + 12 }))
  for (let index = labels.length - 1; index >= 0; index--) {
    const label = labels[index]
    if (!label) continue
    const width = labelWidth(label.text)
    const isFree = (from: number, to: number) => from >= 0 && to <= laneWidth && taken.every((other, position) => position === index || to <= other.from || from >= other.to)
    if (isFree(label.at, label.at + width)) {
      places[index] = 'right'
      taken[index] = { from: label.at, to: label.at + width }
    } else if (isFree(label.at - width, label.at)) {
      places[index] = 'left'
      taken[index] = { from: label.at - width, to: label.at + 12 }
    }
  }
  return places
}
