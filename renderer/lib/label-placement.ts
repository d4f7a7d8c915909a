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
  const taken: { readonly from: number; readonly to: number }[] = []
  // Marks that stand on one spot look like one: they do not keep the label of the newest away.
  const isFree = (from: number, to: number, own: number) => from >= 0 && to <= laneWidth && taken.every((other) => to <= other.from || from >= other.to) &&
    labels.every(({ at }) => at <= from || at >= to || Math.abs(at - own) < SAME_SPOT)
  for (let index = labels.length - 1; index >= 0; index--) {
    const label = labels[index]
    if (!label) continue
    const width = labelWidth(label.text)
    const place = isFree(label.at, label.at + width, label.at) ? 'right' : isFree(label.at - width, label.at, label.at) ? 'left' : 'none'
    places[index] = place
    if (place !== 'none') taken.push({ from: label.at - (place === 'left' ? width : MARK_WIDTH), to: label.at + (place === 'right' ? width : MARK_WIDTH) })
  }
  return places
}

/** Marks this near to each other cannot be told apart, in CSS pixels. */
const SAME_SPOT = 3
/** Of the drawn flag, in CSS pixels. */
const MARK_WIDTH = 12
