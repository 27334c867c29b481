// A tree over the nodes of a pass (state, modules, statements, operations), of which a picture shows one cut.
// 20,000 nodes are a few dozen groups; any group opens into at most a few dozen more.
import { type GraphNode, type Picture } from '../data'
import { opText, placeText, shortFile } from '../format'

export type Kind = 'part' | 'module' | 'function' | 'statement' | 'run' | 'node'

export interface Group {
  id: number
  kind: Kind
  label: string
  parent: Group | null
  children: Group[]
  /** Operations inside; leaves (parameters, inputs) are counted apart. */
  size: number
  leaves: number
  bytes: number
  freed: boolean
  boundary: number
  /** Whether the pass failed on something inside. */
  failed: boolean
  carriers: string[]
  /** The one node, for `kind` node; its first node otherwise. */
  node: GraphNode
  first: number
}

export interface Tree {
  root: Group
  groups: Group[]
  /** For every drawn node (a leaf is drawn once in each part that uses it): its group. */
  instances: Group[]
  edges: [number, number][]
}

const MOST = 24

export function grow(picture: Picture): Tree {
  const byId = new Map(picture.nodes.map((node, index) => [node.id, index]))
  const groups: Group[] = []
  const make = (kind: Kind, label: string, parent: Group | null, node: GraphNode, first: number, freed: boolean): Group => {
    const group: Group = {
      id: groups.length,
      kind,
      label,
      parent,
      children: [],
      size: 0,
      leaves: 0,
      bytes: 0,
      freed,
      boundary: 0,
      failed: false,
      carriers: [],
      node,
      first,
    }
    groups.push(group)
    parent?.children.push(group)
    return group
  }
  const root = make('part', '', null, picture.nodes[0], 0, false)
  const named = new Map<string, Group>()
  const within = (parent: Group, key: string, kind: Kind, label: string, node: GraphNode, first: number): Group => {
    const full = `${parent.id}\0${kind}\0${key}`
    let group = named.get(full)
    if (!group) named.set(full, (group = make(kind, label, parent, node, first, parent === root ? key === 'freed' : parent.freed)))
    return group
  }
  const instances: Group[] = []
  const place = (node: GraphNode, index: number, part: string, module: string | null): number => {
    let group = within(root, part, 'part', part === 'freed' ? 'freed part' : 'living part', node, index)
    if (module) for (const word of module.split('.')) group = within(group, word, 'module', word, node, index)
    else if (node.place?.function) {
      const name = node.place.function === '<module>' ? shortFile(node.place.file) : node.place.function
      group = within(group, node.place.function, 'function', name, node, index)
    }
    if (node.state !== 'leaf' && (node.statement || node.place)) {
      const line = node.place ? placeText(node.place) : ''
      group = within(group, `${line}\0${node.statement ?? ''}`, 'statement', node.statement ?? line, node, index)
    }
    instances.push(make('node', node.name ?? opText(node.op), group, node, index, part === 'freed'))
    return instances.length - 1
  }

  // Operations first; then the leaves, beside those that use them.
  const at = new Map<number, number>() // node index -> instance
  picture.nodes.forEach((node, index) => {
    if (node.state !== 'leaf') at.set(index, place(node, index, node.state, node.module))
  })
  const edges: [number, number][] = []
  const leaves = new Map<string, number>()
  const placed = new Set<number>()
  for (const [from, to] of picture.edges) {
    const a = byId.get(from)
    const b = byId.get(to)
    if (a === undefined || b === undefined || !at.has(a)) continue
    const target = picture.nodes[b]
    if (target.state !== 'leaf') {
      edges.push([at.get(a)!, at.get(b)!])
      continue
    }
    const user = picture.nodes[a]
    const key = `${b}\0${user.state}`
    if (!leaves.has(key)) leaves.set(key, place(target, b, user.state, target.module ?? user.module))
    placed.add(b)
    edges.push([at.get(a)!, leaves.get(key)!])
  }
  picture.nodes.forEach((node, index) => {
    if (node.state === 'leaf' && !placed.has(index)) place(node, index, 'alive', node.module)
  })

  tidy(root)
  total(root)
  return { root, groups, instances, edges }

  /** A group of one is that one; a crowd is cut into runs. */
  function tidy(group: Group): void {
    group.children.forEach(tidy)
    group.children = group.children.map((child) => {
      if (child.kind === 'node' || child.children.length !== 1) return child
      const only = child.children[0]
      // The names of modules add up; a statement with one operation is that operation, under the statement's name.
      if (only.kind === 'module' && child.kind === 'module') only.label = `${child.label}.${only.label}`
      only.parent = group
      return only
    })
    if (group.children.length > MOST) {
      const sorted = [...group.children].sort((a, b) => a.first - b.first)
      const length = Math.ceil(sorted.length / Math.min(MOST, Math.ceil(Math.sqrt(sorted.length))))
      group.children = []
      for (let start = 0; start < sorted.length; start += length) {
        const members = sorted.slice(start, start + length)
        const run = make('run', '', group, members[0].node, members[0].first, group.freed)
        run.children = members
        for (const member of members) member.parent = run
        run.label = members.length > 1 ? `${members[0].label} … ${members.at(-1)!.label}` : members[0].label
        if (run.children.length > MOST) tidy(run)
      }
    }
  }

  function total(group: Group): void {
    if (group.kind === 'node') {
      const leaf = group.node.state === 'leaf'
      group.size = leaf ? 0 : 1
      group.leaves = leaf ? 1 : 0
      group.bytes = group.node.bytes ?? 0
      group.boundary = group.node.boundary ? 1 : 0
      group.failed = group.node.failed ?? false
      group.carriers = group.node.carrier ? [group.node.carrier] : []
      return
    }
    const carriers = new Set<string>()
    for (const child of group.children) {
      total(child)
      group.size += child.size
      group.leaves += child.leaves
      group.bytes += child.bytes
      group.boundary += child.boundary
      group.failed ||= child.failed
      for (const name of child.carriers) carriers.add(name)
    }
    group.carriers = [...carriers]
  }
}

/** The groups of a picture of at most `budget` boxes: what is largest is opened first, and the living before the freed. */
export function cut(tree: Tree, budget: number): Set<Group> {
  const open = new Set<Group>([tree.root])
  let shown = [...tree.root.children]
  for (;;) {
    let best: Group | null = null
    let weight = 0
    for (const group of shown) {
      if (!group.children.length || shown.length - 1 + group.children.length > budget) continue
      const own = (group.size + 1) * (group.kind === 'part' ? 1e6 : 1) * (group.boundary || group.failed ? 1.5 : 1) * (group.freed ? 1 : 2)
      if (own > weight) ((weight = own), (best = group))
    }
    if (!best) return open
    open.add(best)
    shown = [...shown.filter((group) => group !== best), ...best.children]
  }
}

export function visible(tree: Tree, open: Set<Group>): Group[] {
  const shown: Group[] = []
  const walk = (group: Group) => {
    if (open.has(group) && group.children.length) group.children.forEach(walk)
    else shown.push(group)
  }
  walk(tree.root)
  return shown
}

export interface Link {
  from: Group
  to: Group
  weight: number
}

/** The edges between what is shown. */
export function links(tree: Tree, open: Set<Group>): Link[] {
  const top = new Int32Array(tree.groups.length).fill(-1)
  for (const group of visible(tree, open)) {
    const stack = [group]
    for (let next = stack.pop(); next; next = stack.pop()) {
      top[next.id] = group.id
      for (const child of next.children) stack.push(child)
    }
  }
  const weights = new Map<number, number>()
  for (const [a, b] of tree.edges) {
    const from = top[tree.instances[a].id]
    const to = top[tree.instances[b].id]
    if (from < 0 || to < 0 || from === to) continue
    const key = from * tree.groups.length + to
    weights.set(key, (weights.get(key) ?? 0) + 1)
  }
  return [...weights].map(([key, weight]) => ({
    from: tree.groups[Math.floor(key / tree.groups.length)],
    to: tree.groups[key % tree.groups.length],
    weight,
  }))
}

/** Where a group belongs: the names above it. */
export function pathOf(group: Group): string {
  const names: string[] = []
  for (let up = group.parent; up?.parent; up = up.parent) if (up.kind === 'module' || up.kind === 'function') names.unshift(up.label)
  return names.join('.')
}
