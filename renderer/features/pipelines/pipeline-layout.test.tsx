import { describe, expect, it } from 'vitest'
import { ensembleGraph, graphEdge, graphStep } from '../../testing/ensembles.ts'
import { layOut, NODE_WIDTH } from './pipeline-layout.ts'
import type { NodeId, PipelineLayout } from './pipeline-layout.ts'

const nodeOf = (layout: PipelineLayout, id: NodeId) => {
  const node = layout.nodes.find((entry) => entry.id === id)
  if (node === undefined) throw new Error(`no node ${id}`)
  return node
}
/** Every point of a path, its curves cut into short pieces. */
function pointsOf(path: string): { x: number; y: number }[] {
  const points: { x: number; y: number }[] = []
  let at = { x: 0, y: 0 }
  for (const [, letter, numbers = ''] of path.matchAll(/([MCH])([^MCH]*)/g)) {
    const values = numbers.trim().split(/\s+/).map(Number)
    const start = at
    const line = (to: { x: number; y: number }) => { for (let i = 1; i <= 40; i++) points.push({ x: start.x + ((to.x - start.x) * i) / 40, y: start.y + ((to.y - start.y) * i) / 40 }); at = to }
    if (letter === 'M') { at = { x: values[0] ?? 0, y: values[1] ?? 0 }; points.push(at) }
    else if (letter === 'H') line({ x: values[0] ?? 0, y: at.y })
    else {
      const [x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] = values
      for (let i = 1; i <= 40; i++) {
        const [t, u] = [i / 40, 1 - i / 40]
        points.push({ x: u ** 3 * start.x + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t ** 3 * x3, y: u ** 3 * start.y + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t ** 3 * y3 })
      }
      at = { x: x3, y: y3 }
    }
  }
  return points
}

describe('layOut', () => {
  it('puts steps that do not wait for each other in one column, one below the other', () => {
    const layout = layOut(ensembleGraph({ steps: [graphStep(0, 'cls'), graphStep(1, 'rec')], edges: [graphEdge('x', null, 0), graphEdge('x', null, 1), graphEdge('a', 0, null), graphEdge('b', 1, null)] }))
    const [first, second] = [nodeOf(layout, 0), nodeOf(layout, 1)]
    expect([first.column, second.column, nodeOf(layout, 'response').column]).toEqual([1, 1, 2])
    expect(second.y).toBeGreaterThanOrEqual(first.y + first.height)
    // One output of the request feeds both.
    expect(nodeOf(layout, 'request').outputs.map(({ name }) => name)).toEqual(['x'])
    expect(layout.lines).toHaveLength(4)
  })

  it('puts a step behind the last one it waits for, whatever order the config has', () => {
    const layout = layOut(ensembleGraph({ steps: [graphStep(0, 'last'), graphStep(1, 'first'), graphStep(2, 'middle')], edges: [graphEdge('x', null, 1), graphEdge('a', 1, 2), graphEdge('b', 2, 0), graphEdge('c', 0, null)] }))
    expect([1, 2, 0, 'response' as const].map((id) => nodeOf(layout, id).column)).toEqual([1, 2, 3, 4])
  })

  it('gives the response the last column, also when a step makes nothing that it needs', () => {
    const layout = layOut(ensembleGraph({ steps: [graphStep(0, 'a'), graphStep(1, 'sink')], edges: [graphEdge('x', null, 0), graphEdge('a', 0, null), graphEdge('a', 0, 1)] }))
    expect(nodeOf(layout, 'response').column).toBe(3)
  })

  it('runs an edge that skips columns around the nodes in between, and begins and ends each at its port', () => {
    const layout = layOut(ensembleGraph({ steps: [graphStep(0, 'a'), graphStep(1, 'b'), graphStep(2, 'c')], edges: [graphEdge('x', null, 0), graphEdge('a', 0, 1), graphEdge('b', 1, 2), graphEdge('x', null, 2), graphEdge('c', 2, null), graphEdge('a', 0, null)] }))
    for (const line of layout.lines) {
      const points = pointsOf(line.path)
      const [from, to] = [nodeOf(layout, line.from), nodeOf(layout, line.to)]
      expect(points[0]?.x).toBe(from.x + NODE_WIDTH)
      expect(points.at(-1)?.x).toBe(to.x)
      expect(points.at(-1)!.y).toBeGreaterThan(to.y)
      expect(points.at(-1)!.y).toBeLessThan(to.y + to.height)
      for (const node of layout.nodes) {
        const inside = points.filter(({ x, y }) => x > node.x + 1 && x < node.x + NODE_WIDTH - 1 && y > node.y - 1 && y < node.y + node.height + 1)
        expect(inside, `${line.edge.tensor} crosses ${node.id}`).toEqual([])
      }
    }
  })

  it('stays on the sheet, and no node lies on another, for any order of 200 graphs', () => {
    let seed = 7
    const random = (below: number) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % below }
    for (let turn = 0; turn < 200; turn++) {
      const count = 1 + random(9)
      const steps = Array.from({ length: count }, (_unused, step) => graphStep(step, `m${step}`))
      const edges = steps.flatMap(({ step }) => [graphEdge(`t${step}`, step === 0 || random(3) === 0 ? null : random(step), step), ...(random(3) === 0 ? [graphEdge(`r${step}`, step, null)] : [])])
      const layout = layOut({ steps, edges: [...edges, graphEdge('end', count - 1, null)] })
      for (const [index, node] of layout.nodes.entries()) {
        expect(node.y).toBeGreaterThanOrEqual(0)
        expect(node.y + node.height).toBeLessThanOrEqual(layout.height + 1)
        expect(node.x + NODE_WIDTH).toBeLessThanOrEqual(layout.width)
        for (const other of layout.nodes.slice(index + 1)) expect(node.x !== other.x || node.y + node.height <= other.y || other.y + other.height <= node.y).toBe(true)
      }
    }
  })
})
