/** Reads what `npu-smi info -t TYPE -i ID` and `npu-smi info -m` print: lines `label : value`, in a block a chip; a table of ids. Pure. */

export type NpuSmiFields = ReadonlyMap<string, string>

/**
 * The fields of each chip of one card. A block ends with `Chip ID : k` (on the 310 it begins with it); the 950 has no such line and is chip null.
 * Labels are in lower case without spaces, since spelling differs between versions.
 */
export function parseChipBlocks(text: string): ReadonlyMap<number | null, NpuSmiFields> {
  const blocks = new Map<number | null, NpuSmiFields>()
  let fields = new Map<string, string>()
  let openChip: number | null = null
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (colon < 0) continue
    const label = plainLabel(line.slice(0, colon))
    const value = line.slice(colon + 1).trim()
    if (label === 'npuid' || label === 'chipcount') continue
    if (label !== 'chipid') {
      fields.set(label, value)
      continue
    }
    const chip = Number(value)
    if (openChip !== null) {
      blocks.set(openChip, fields)
      openChip = chip
    } else if (fields.size > 0) {
      blocks.set(chip, fields)
    } else {
      openChip = chip
    }
    fields = new Map()
  }
  if (openChip !== null) blocks.set(openChip, fields)
  else if (blocks.size === 0 && fields.size > 0) blocks.set(null, fields)
  return blocks
}

function plainLabel(label: string): string {
  return label.toLowerCase().replace(/\s+/g, '')
}

export interface ChipUsage {
  readonly vectorCorePercent: number | null
  readonly cubeCorePercent: number | null
}

export function chipUsage(fields: NpuSmiFields): ChipUsage {
  const percent = (pattern: RegExp): number | null => {
    for (const [label, value] of fields) if (pattern.test(label) && /^\d+(?:\.\d+)?$/.test(value)) return Number(value)
    return null
  }
  return { vectorCorePercent: percent(/^(?:ai)?vector(?:core)?usagerate/), cubeCorePercent: percent(/^(?:ai)?cube(?:core)?usagerate/) }
}

/** @returns empty: the driver says that there are none; null: it does not tell */
export function chipErrorCodes(fields: NpuSmiFields): readonly string[] | null {
  const value = fields.get('errorcode')
  if (value === undefined) return null
  return value.split(/[\s,;]+/).filter((code) => /^(?:0x)?[0-9a-f]+$/i.test(code) && !/^0*$/.test(code))
}

export interface ChipIds {
  readonly slot: number
  readonly chipIndex: number | null
  readonly logicalId: number | null
  readonly name: string
}

/** `npu-smi info -m`: which columns there are differs by family (A3 adds a physical id, the 950 a slot), so they are found by their heads. */
export function parseIdTable(text: string): readonly ChipIds[] {
  const lines = text.split('\n').map((line) => line.replaceAll('|', ' ').trim()).filter((line) => line !== '' && !/^[+=-]+$/.test(line))
  const head = lines.find((line) => /^NPU ID\b/i.test(line))
  if (head === undefined) return []
  const names = head.split(/\s{2,}/).map((name) => name.toLowerCase().replace(/[\s-]+/g, ' '))
  const place = (...wanted: readonly string[]) => names.findIndex((name) => wanted.includes(name))
  const [slot, chip, logical, name] = [place('npu id'), place('chip id'), place('chip logic id', 'chip logical id', 'logic id'), place('chip name')]
  return lines.slice(lines.indexOf(head) + 1).flatMap((line) => {
    // Chip names hold one space (`Ascend 310P3`): columns are at least two apart, except where a number is as wide as its column.
    const cells = line.split(/\s{2,}/)
    const number = (index: number) => (index >= 0 && /^\d+$/.test(cells[index] ?? '') ? Number(cells[index]) : null)
    const slotId = number(slot)
    // The card's own controller (`Mcu`) has no chip to compute on.
    if (slotId === null || /^mcu$/i.test(cells[name] ?? '')) return []
    return [{ slot: slotId, chipIndex: number(chip), logicalId: number(logical), name: cells[name] ?? '' }]
  })
}
