// Which row each bar of Life is drawn in.
import { type Graph } from '../data'

export interface Lanes {
  lane: Map<number, number>
  /** Rows of graphs that come and go, on top; below them, rows of those that stay. */
  brief: number
  lasting: number
}

/**
 * Rows such that no two bars of one row overlap; `until` says where a bar ends.
 *
 * What lives much longer than usual stands below, the youngest first: the work of every iteration stays next to its passes,
 * and what piles up is seen to pile up.
 */
export function pack(graphs: Graph[], until: (graph: Graph) => number): Lanes {
  const lengths = graphs.map((graph) => until(graph) - graph.built).sort((a, b) => a - b)
  const usual = lengths[Math.floor(lengths.length / 2)] ?? 0
  const most = Math.max(0, ...[...lengths].reverse().filter(Number.isFinite).slice(0, 1))
  const stays = (graph: Graph) => until(graph) - graph.built > (Number.isFinite(usual) ? usual * 8 : most)
  const brief = rows(graphs.filter((graph) => !stays(graph)), until)
  const lasting = rows(graphs.filter(stays), until)
  const lane = new Map<number, number>(brief.lane)
  for (const [id, index] of lasting.lane) lane.set(id, brief.count + lasting.count - 1 - index)
  return { lane, brief: brief.count, lasting: lasting.count }
}

function rows(graphs: Graph[], until: (graph: Graph) => number): { lane: Map<number, number>; count: number } {
  const lane = new Map<number, number>()
  const ends: number[] = []
  for (const graph of graphs) {
    // At equal moments the older bar has ended: it is freed before the next is built.
    let index = ends.findIndex((end) => end <= graph.built)
    if (index < 0) index = ends.push(0) - 1
    ends[index] = until(graph)
    lane.set(graph.id, index)
  }
  return { lane, count: ends.length }
}
