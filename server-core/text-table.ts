/** A table of text in the frame that Triton's start-up log uses. Cells hold no line breaks. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`
  const line = (cells: readonly string[]) => `|${widths.map((width, column) => ` ${(cells[column] ?? '').padEnd(width)} `).join('|')}|`
  return [rule, line(head), rule, ...rows.map(line), rule].join('\n')
}
