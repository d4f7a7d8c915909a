/**
 * Reads the table of `npu-smi info`. There are three layouts (310/310P; 910, A2 and A3; 950) whose widths differ from version to version and
 * whose columns may touch (`31877/ 65536`), so it is read by its cells and by what stands in them, never by columns. Pure: text in, values out.
 */
import type { NpuHealth } from '../contract/statistics.ts'
import type { NpuProcessReading } from './npu-telemetry-source.ts'

export interface NpuSmiTable {
  readonly toolVersion: string | null
  readonly driverVersion: string | null
  /** The title says so: the tool is the simulator's. */
  readonly isSimulated: boolean
  readonly layout: '310' | '910' | '950'
  readonly chips: readonly NpuSmiChip[]
}

export interface NpuSmiChip {
  readonly slot: number
  /** Null on the 950, which has no chips inside a card. */
  readonly chipIndex: number | null
  /** Only the 310 layout prints it. */
  readonly logicalId: number | null
  /** Only A3 prints it. */
  readonly physicalId: number | null
  readonly name: string
  readonly busId: string | null
  readonly health: NpuHealth | null
  readonly powerWatts: number | null
  readonly temperatureCelsius: number | null
  readonly aiCorePercent: number | null
  readonly memoryUsedBytes: number | null
  readonly memoryTotalBytes: number | null
  readonly processes: readonly NpuProcessReading[] | null
}

type ChipWithoutProcesses = Omit<NpuSmiChip, 'processes'>

interface ProcessRow extends NpuProcessReading {
  readonly slot: number
  readonly chipIndex: number | null
}

/** The driver counts in MB of 2^20 bytes. */
const BYTES_PER_MEGABYTE = 2 ** 20
const BUS_ID = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]+$/i
const HEALTH: Readonly<Record<string, NpuHealth>> = { ok: 'ok', warning: 'warning', alarm: 'alarm', critical: 'critical' }

/** @returns null for a text that is no such table */
export function parseNpuSmiTable(text: string): NpuSmiTable | null {
  const title = /npu-smi\s+(\S.*?)\s*Version:\s*([^\s|]+)/i.exec(text)
  const rows = text.split('\n').map(cellsOf).filter((cells) => cells.length > 0)
  const layout = layoutOf(rows)
  if (layout === null) return null
  const chips: ChipWithoutProcesses[] = []
  const processes: ProcessRow[] = []
  const idleSlots = new Set<number>()
  let head: CardLine | null = null
  let columns: ProcessColumns | null = null
  for (const cells of rows) {
    const processColumns = processColumnsOf(cells)
    if (processColumns !== null) {
      columns = processColumns
    } else if (columns !== null) {
      const idle = /no running processes found(?: in NPU (\d+))?/i.exec(cells.join(' '))
      if (idle?.[1] !== undefined) idleSlots.add(Number(idle[1]))
      const row = processRow(cells, columns)
      if (row !== null) processes.push(row)
    } else if (!isHeader(cells)) {
      const card = cardLine(cells, layout)
      if (card !== null) {
        head = card
      } else if (head !== null) {
        const chip = chipLine(cells, head, layout)
        if (chip !== null) chips.push(chip)
      }
    }
  }
  const listsProcesses = columns !== null
  return {
    toolVersion: title?.[1] ?? null,
    driverVersion: title?.[2] ?? null,
    isSimulated: /\bsimulat(?:ed|or)\b/i.test(text.split('\n').find((line) => /npu-smi/i.test(line)) ?? ''),
    layout,
    chips: chips.map((chip) => ({ ...chip, processes: listsProcesses ? processesOf(chip, processes) : null })),
  }
}

/** A process row that names no chip belongs to the card's first one. */
function processesOf(chip: ChipWithoutProcesses, rows: readonly ProcessRow[]): NpuProcessReading[] {
  return rows.filter((row) => row.slot === chip.slot && (row.chipIndex ?? chip.chipIndex ?? 0) === (chip.chipIndex ?? row.chipIndex ?? 0))
    .map(({ processId, name, memoryBytes }) => ({ processId, name, memoryBytes }))
}

/** `| a | b |` to its cells; rules, warnings and other lines to none. */
function cellsOf(line: string): string[] {
  const trimmed = line.trim()
  if (!trimmed.startsWith('|')) return []
  return trimmed.replace(/^\|/, '').replace(/\|$/, '').split('|').map((cell) => cell.trim())
}

function layoutOf(rows: readonly (readonly string[])[]): NpuSmiTable['layout'] | null {
  const headers = rows.filter(isHeader).map((cells) => cells.join(' '))
  if (headers.length === 0) return null
  if (headers.some((header) => /NPU\s+ID|NPU\s+Util/i.test(header))) return '950'
  return headers.some((header) => /HBM-Usage/i.test(header)) ? '910' : '310'
}

function isHeader(cells: readonly string[]): boolean {
  return /^(?:NPU|Chip)\b(?!\s*\d)/i.test(cells[0] ?? '') || cells.some((cell) => /Bus-Id|NPU Util\(%\)/i.test(cell))
}

interface CardLine {
  readonly slot: number
  readonly name: string
  readonly health: NpuHealth | null
  readonly powerWatts: number | null
  readonly temperatureCelsius: number | null
}

/** Line 1 of a pair: slot and name, health, then power, temperature and huge pages. Null: it is the second one. */
function cardLine(cells: readonly string[], layout: NpuSmiTable['layout']): CardLine | null {
  const hasOwnName = layout === '950' && cells.length >= 4 && /^\d+$/.test(cells[0] ?? '')
  const [first = '', health = '', figures = ''] = hasOwnName ? [`${cells[0] ?? ''} ${cells[1] ?? ''}`, ...cells.slice(2)] : cells
  const [slot, name] = first.split(/\s+/)
  // The second line has a bus id in its second cell, the first one a word of health.
  if (slot === undefined || !/^\d+$/.test(slot) || name === undefined || !/[a-z]/i.test(name) || !/^[a-z]+$/i.test(health)) return null
  const [power, temperature] = tokensOf(figures)
  return {
    slot: Number(slot), name: first.slice(slot.length).trim(), health: HEALTH[health.toLowerCase()] ?? null,
    powerWatts: numberOf(power), temperatureCelsius: numberOf(temperature),
  }
}

/** Line 2 of a pair: chip and its ids, bus, then AI Core and one or two of used / total. */
function chipLine(cells: readonly string[], card: CardLine, layout: NpuSmiTable['layout']): ChipWithoutProcesses | null {
  const figures = tokensOf(cells[cells.length - 1] ?? '')
  const pairs = figures.flatMap((token) => pairOf(token) ?? [])
  if (pairs.length === 0) return null
  const [chip, second] = (layout === '950' ? '' : cells[0] ?? '').split(/\s+/)
  // Where both are there (910 of the first generation has DDR and HBM), models live in HBM; on the A2 the DDR is 0 / 0.
  const memory = pairs[pairs.length - 1]
  const hasMemory = memory !== undefined && memory.total > 0
  const secondId = numberOf(second)
  return {
    ...card,
    chipIndex: numberOf(chip),
    logicalId: layout === '310' ? secondId : null,
    physicalId: layout === '910' ? secondId : null,
    busId: cells.find((cell) => BUS_ID.test(cell))?.toLowerCase() ?? null,
    aiCorePercent: numberOf(figures.find((token) => !token.includes('/'))),
    memoryUsedBytes: hasMemory ? memory.used * BYTES_PER_MEGABYTE : null,
    memoryTotalBytes: hasMemory ? memory.total * BYTES_PER_MEGABYTE : null,
  }
}

interface ProcessColumns {
  readonly id: number
  readonly name: number
  readonly memory: number
}

/** The header of the process table: newer drivers add a column, so its places are looked up by name. */
function processColumnsOf(cells: readonly string[]): ProcessColumns | null {
  const place = (pattern: RegExp) => cells.findIndex((cell) => pattern.test(cell))
  const id = place(/^Process id$/i)
  return id < 0 ? null : { id, name: place(/^Process name/i), memory: place(/^Process memory/i) }
}

function processRow(cells: readonly string[], columns: ProcessColumns): ProcessRow | null {
  const processId = numberOf(cells[columns.id])
  const [slot, chip] = (cells[0] ?? '').split(/\s+/).map(numberOf)
  if (processId === null || slot === null || slot === undefined) return null
  const memory = numberOf(cells[columns.memory])
  return { slot, chipIndex: chip ?? null, processId, name: cells[columns.name] ?? '', memoryBytes: memory === null ? null : memory * BYTES_PER_MEGABYTE }
}

/** `98.4  50  0 / 0` is three tokens: what stands around a slash belongs together. */
function tokensOf(cell: string): string[] {
  return cell.replace(/\s*\/\s*/g, '/').split(/\s+/).filter((token) => token !== '')
}

function pairOf(token: string): { readonly used: number; readonly total: number } | null {
  const [, used, total] = /^(\d+)\/(\d+)$/.exec(token) ?? []
  return used === undefined ? null : { used: Number(used), total: Number(total) }
}

/** `NA`, `-` and nothing at all are unknown. */
function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : null
}
