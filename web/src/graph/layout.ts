// Where the boxes of a cut stand: layers from the loss down to the leaves.
import { graphlib, layout as run } from '@dagrejs/dagre'
import { extent } from 'd3-array'
import { opText, shortFile } from '../format'
import { links, pathOf, visible, type Group, type Link, type Tree } from './collapse'

export interface Box {
  group: Group
  title: string
  detail: string
  x: number
  y: number
  width: number
  height: number
}

export interface Wire {
  link: Link
  points: { x: number; y: number }[]
}

export interface Drawing {
  boxes: Box[]
  wires: Wire[]
  left: number
  top: number
  width: number
  height: number
}

export const HEIGHT = 44
const WIDEST = 280
const MARGIN = 20

export function layout(tree: Tree, open: Set<Group>, measure: (text: string, font: 'title' | 'detail' | 'code') => number): Drawing {
  const graph = new graphlib.Graph()
  graph.setGraph({ rankdir: 'TB', nodesep: 22, ranksep: 46, edgesep: 12 })
  graph.setDefaultEdgeLabel(() => ({}))
  const boxes = new Map<Group, Box>()
  for (const group of visible(tree, open)) {
    const title = titleOf(group)
    const detail = detailOf(group)
    const first = measure(title, group.kind === 'statement' ? 'code' : 'title') + (group.children.length ? 60 : 36)
    const second = measure(detail, inCode(group) ? 'code' : 'detail') + 44
    const width = Math.min(WIDEST, Math.max(74, first, second))
    boxes.set(group, { group, title, detail, x: 0, y: 0, width, height: HEIGHT })
    graph.setNode(String(group.id), { width, height: HEIGHT })
  }
  const list = links(tree, open)
  for (const link of list) graph.setEdge(String(link.from.id), String(link.to.id), { weight: Math.min(link.weight, 20) })
  run(graph)
  for (const box of boxes.values()) {
    const { x, y } = graph.node(String(box.group.id)) as { x: number; y: number }
    box.x = x
    box.y = y
  }
  const wires = list.map((link) => ({
    link,
    points: (graph.edge(String(link.from.id), String(link.to.id)) as { points: { x: number; y: number }[] }).points,
  }))
  // Edges may swing out further than any box.
  const xs = [...boxes.values()].flatMap((box) => [box.x - box.width / 2, box.x + box.width / 2])
  const ys = [...boxes.values()].flatMap((box) => [box.y - HEIGHT / 2, box.y + HEIGHT / 2])
  for (const { points } of wires) for (const point of points) (xs.push(point.x), ys.push(point.y))
  const [left, right] = extent(xs) as [number, number]
  const [top, bottom] = extent(ys) as [number, number]
  return {
    boxes: [...boxes.values()],
    wires,
    left: left - MARGIN,
    top: top - MARGIN,
    width: right - left + 2 * MARGIN,
    height: bottom - top + 2 * MARGIN,
  }
}

/** Is a box best told apart by its statement? Inside of modules it is by the module. */
export function inCode(group: Group): boolean {
  return group.kind === 'node' && !group.node.module && Boolean(group.node.statement)
}

export function titleOf(group: Group): string {
  if (group.kind === 'node' && group.node.state === 'leaf') {
    const { name } = group.node
    if (!name) return 'leaf'
    // `self.model.rnn.weight` inside of `model.rnn` is `weight`.
    const path = pathOf(group)
    const at = path ? `.${name}`.indexOf(`.${path}.`) : -1
    return at < 0 ? name : name.slice(at + path.length + 1)
  }
  if (group.kind === 'node') return opText(group.node.op)
  if (group.kind !== 'module') return group.label
  // "0" says nothing alone; of a deep path, the end says most.
  const words = `${pathOf(group)}.${group.label}`.split('.').filter(Boolean)
  return words.length > 3 ? `…${words.slice(-3).join('.')}` : words.join('.')
}

export function detailOf(group: Group): string {
  if (group.kind === 'node') return group.node.state !== 'leaf' && inCode(group) ? group.node.statement! : pathOf(group) || (group.node.place ? `${shortFile(group.node.place.file)}:${group.node.place.line}` : '')
  const inside = group.size ? `${group.size.toLocaleString('en-US')} ops` : `${group.leaves} leaves`
  const above = pathOf(group)
  return above && group.kind !== 'module' ? `${above} · ${inside}` : inside
}
