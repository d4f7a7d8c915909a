/**
 * Where the nodes of an ensemble stand and how its tensors run between them: a layer a column, from the request on the left to the response
 * on the right. Steps that do not wait for each other stand in one column. An edge that skips columns gets a place of its own in each, so that
 * it never runs behind a node. CSS pixels.
 */
import type { EnsembleEdge, EnsembleGraph } from '../../../server-core/contract/ensemble.ts'

export const NODE_WIDTH = 224
export const NODE_HEAD = 36
export const PORT_HEIGHT = 24
export const NODE_FOOT = 24
const COLUMN_GAP = 64
const ROW_GAP = 20
/** Height of an edge's place between nodes. */
const LANE_HEIGHT = 12
const SWEEPS = 4

export type NodeId = 'request' | 'response' | number

export interface PipelinePort {
  /** The model's tensor; of request and response the ensemble's. */
  readonly name: string
  /** An edge that ends or begins here: they agree on datatype and shape. */
  readonly edge: EnsembleEdge
}

export interface PipelineNode {
  readonly id: NodeId
  readonly inputs: readonly PipelinePort[]
  readonly outputs: readonly PipelinePort[]
  readonly column: number
  readonly x: number
  readonly y: number
  readonly height: number
}

export interface PipelineLine {
  readonly edge: EnsembleEdge
  readonly from: NodeId
  readonly to: NodeId
  /** Of an SVG path. */
  readonly path: string
}

export interface PipelineLayout {
  /** Request, steps in the order of the config, response. */
  readonly nodes: readonly PipelineNode[]
  readonly lines: readonly PipelineLine[]
  readonly width: number
  readonly height: number
}

export function sourceOf({ from }: EnsembleEdge): NodeId { return from.kind === 'request' ? 'request' : from.step }
export function targetOf({ to }: EnsembleEdge): NodeId { return to.kind === 'response' ? 'response' : to.step }
const outputOf = (edge: EnsembleEdge): string => (edge.from.kind === 'request' ? edge.tensor : edge.from.output)
const inputOf = (edge: EnsembleEdge): string => (edge.to.kind === 'response' ? edge.tensor : edge.to.input)

/** Something that takes place in a column: a node, or the lane of edges of one output that pass by. */
interface Place {
  readonly node: NodeId | null
  readonly height: number
  readonly before: Place[]
  readonly after: Place[]
  y: number
}

/** The column of each node: one behind the last of those it waits for. */
function columnsOf(steps: readonly number[], edges: readonly EnsembleEdge[]): Map<NodeId, number> {
  const columns = new Map<NodeId, number>([['request', 0], ...steps.map((step): [NodeId, number] => [step, 1]), ['response', 1]])
  // A path has at most as many nodes as there are: more rounds change nothing.
  for (let round = 0; round <= steps.length; round++) {
    for (const edge of edges) {
      const target = targetOf(edge)
      columns.set(target, Math.max(columns.get(target) ?? 1, (columns.get(sourceOf(edge)) ?? 0) + 1))
    }
  }
  columns.set('response', Math.max(columns.get('response') ?? 1, ...steps.map((step) => (columns.get(step) ?? 0) + 1)))
  return columns
}

export function layOut({ steps, edges }: Pick<EnsembleGraph, 'steps' | 'edges'>): PipelineLayout {
  const ids: readonly NodeId[] = ['request', ...steps.map(({ step }) => step), 'response']
  const columnOf = columnsOf(steps.map(({ step }) => step), edges)
  const inputs = new Map(ids.map((id) => [id, portsOf(edges.filter((edge) => targetOf(edge) === id), inputOf)]))
  const outputs = new Map(ids.map((id) => [id, portsOf(edges.filter((edge) => sourceOf(edge) === id), outputOf)]))
  const heightOf = (id: NodeId) => NODE_HEAD + PORT_HEIGHT * ((inputs.get(id)?.length ?? 0) + (outputs.get(id)?.length ?? 0)) + (typeof id === 'number' ? NODE_FOOT : 8)

  const columns: Place[][] = []
  const place = (column: number, node: NodeId | null, height: number): Place => {
    const made: Place = { node, height, before: [], after: [], y: 0 }
    ;(columns[column] ??= []).push(made)
    return made
  }
  const places = new Map(ids.map((id) => [id, place(columnOf.get(id) ?? 0, id, heightOf(id))]))
  const link = (from: Place, to: Place) => { from.after.push(to); to.before.push(from) }
  const lanes = new Map<string, Place>()
  const ways = edges.map((edge) => {
    const [from, to] = [places.get(sourceOf(edge)), places.get(targetOf(edge))]
    if (from === undefined || to === undefined) return []
    const way = [from]
    for (let column = (columnOf.get(sourceOf(edge)) ?? 0) + 1; column < (columnOf.get(targetOf(edge)) ?? 0); column++) {
      const key = `${sourceOf(edge)}/${outputOf(edge)}/${column}`
      const lane = lanes.get(key) ?? place(column, null, LANE_HEIGHT)
      lanes.set(key, lane)
      way.push(lane)
    }
    way.push(to)
    way.slice(1).forEach((next, index) => { const last = way[index]; if (last !== undefined && !last.after.includes(next)) link(last, next) })
    return way
  })

  const height = Math.max(...columns.map(heightOfColumn))
  for (const column of columns) stack(column, height)
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0
    for (const column of isForward ? columns : columns.toReversed()) {
      const wish = new Map(column.map((entry) => [entry, meanMiddle(isForward ? entry.before : entry.after) ?? middle(entry)]))
      column.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0))
      stack(column, height)
    }
  }

  const nodes = ids.map((id): PipelineNode => {
    const column = columnOf.get(id) ?? 0
    return { id, inputs: inputs.get(id) ?? [], outputs: outputs.get(id) ?? [], column, x: column * (NODE_WIDTH + COLUMN_GAP), y: places.get(id)?.y ?? 0, height: heightOf(id) }
  })
  const nodeOf = new Map(nodes.map((node) => [node.id, node]))
  const lines = edges.map((edge, index): PipelineLine => {
    const [from, to] = [nodeOf.get(sourceOf(edge)), nodeOf.get(targetOf(edge))]
    const start = from === undefined ? 0 : portY(from, 'outputs', outputOf(edge))
    const end = to === undefined ? 0 : portY(to, 'inputs', inputOf(edge))
    const stops = (ways[index] ?? []).slice(1, -1).map((lane, position) => ({ x: ((from?.column ?? 0) + 1 + position) * (NODE_WIDTH + COLUMN_GAP), y: middle(lane) }))
    return { edge, from: sourceOf(edge), to: targetOf(edge), path: pathThrough({ x: (from?.x ?? 0) + NODE_WIDTH, y: start }, stops, { x: to?.x ?? 0, y: end }) }
  })
  return { nodes, lines, width: columns.length * (NODE_WIDTH + COLUMN_GAP) - COLUMN_GAP, height }
}

function portsOf(edges: readonly EnsembleEdge[], nameOf: (edge: EnsembleEdge) => string): PipelinePort[] {
  return [...new Map(edges.map((edge) => [nameOf(edge), edge]))].map(([name, edge]) => ({ name, edge }))
}

/** Middle of a port's line, inputs above outputs. */
export function portY(node: PipelineNode, side: 'inputs' | 'outputs', name: string): number {
  const index = node[side].findIndex((port) => port.name === name)
  return node.y + NODE_HEAD + PORT_HEIGHT * ((side === 'outputs' ? node.inputs.length : 0) + index + 0.5)
}

function heightOfColumn(column: readonly Place[]): number {
  return column.reduce((sum, { height }) => sum + height, 0) + ROW_GAP * (column.length - 1)
}

/** One below the other, in the middle of the canvas. */
function stack(column: readonly Place[], height: number): void {
  let y = Math.round((height - heightOfColumn(column)) / 2)
  for (const entry of column) {
    entry.y = y
    y += entry.height + ROW_GAP
  }
}

function middle(place: Place): number { return place.y + place.height / 2 }

function meanMiddle(places: readonly Place[]): number | null {
  return places.length === 0 ? null : places.reduce((sum, place) => sum + middle(place), 0) / places.length
}

interface Point { readonly x: number; readonly y: number }

/** Straight through the lanes, bent between the columns. */
function pathThrough(start: Point, lanes: readonly Point[], end: Point): string {
  const bend = (from: Point, to: Point) => `C${(from.x + to.x) / 2} ${from.y} ${(from.x + to.x) / 2} ${to.y} ${to.x} ${to.y}`
  let path = `M${start.x} ${start.y}`
  let last = start
  for (const lane of lanes) {
    path += `${bend(last, lane)}H${lane.x + NODE_WIDTH}`
    last = { x: lane.x + NODE_WIDTH, y: lane.y }
  }
  return path + bend(last, end)
}
