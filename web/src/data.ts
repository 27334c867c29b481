// What Python writes into the page, and what is derived from it once. The other side: secondpass/see.
import { bisectLeft } from 'd3-array'

export interface Place {
  file: string
  line: number
  function?: string
  cell?: number | string | null
}

export interface Proof {
  status: 'proven' | 'refuted' | 'not run'
  detail?: string
}

export interface Remedy {
  kind: string
  title: string
  safe: boolean
  why: string
  diff: string
  proof: Proof | null
}

export interface Evidence {
  what: string
  text: string
  place?: Place | null
  iteration?: number | number[] | null
  label?: string
  when?: number
}

export interface Finding {
  code: string
  cause: string
  severity: string
  message: string
  carrier: { name: string; kind: string } | null
  built: Place | null
  freed: Place | null
  used: Place | null
  failed: Place | null
  evidence: Evidence[]
  remedies: Remedy[]
  facts?: Record<string, unknown>
  label?: string
  /** What happened at the three places, by their role. */
  words?: Partial<Record<'built' | 'freed' | 'used', string>>
}

export interface Pass {
  id: number
  /** Which pass of the run, from 1. */
  number: number
  kind: string
  at: number
  place: Place | null
  iteration: number[]
  walked: number | null
  freed: number | null
  retain: boolean
  create: boolean
  outcome: string
  roots: string[]
}

export interface Step {
  id: number
  at: number
  place: Place | null
  optimizer: string
  moved: number | null
  /** The finding that it changed something for. */
  cause?: string | null
}

export interface Graph {
  id: number
  name: string
  built: number
  place: Place | null
  iteration: number[]
  nodes: number | null
  bytes: number | null
  freed: number | null
  freed_by: number | null
  /** Whether no pass freed it: the program itself had nothing left that leads to it. */
  dropped?: boolean
  held_by: string | null
  cause: string | null
}

export interface Reuse {
  pass: number
  graph: number
  cause: string | null
}

export type Split = 'module' | 'line' | 'op' | 'holder'

export interface Sample {
  at: number
  bytes: number
  module: Record<string, number>
  line: Record<string, number>
  op: Record<string, number>
  holder?: Record<string, number>
  useless: Record<string, number>
}

export interface GraphNode {
  id: number
  op: string
  place: Place | null
  module: string | null
  statement: string | null
  bytes: number | null
  state: string
  boundary: boolean
  /** Whether the pass failed on it. */
  failed?: boolean
  carrier: string | null
  /** Of a leaf: the parameter's name, where it is known. */
  name?: string | null
}

export interface Picture {
  pass: number | null
  nodes: GraphNode[]
  edges: [number, number][]
}

export interface Row {
  bytes: number
  kind: string
  dtype: string
  shape: number[]
  device: string
  op: string
  slot: string
  place: Place | null
  module: string | null
  iteration: number[] | null
  state: string
  freed_by: number | null
  holder: string | null
  region: string | null
  at: number
}

export interface Data {
  schema: string
  tool: { version: string }
  program: {
    file: string
    args: string[]
    status: number | null
    torch: string | null
    device: string | null
    error: string | null
    rank: number | null
  }
  /** What a reader must know beside the pictures. */
  notes: string[]
  /** How many there were; of a long run the page shows the first and the last. */
  counts: { passes: number; steps: number }
  sources: Record<string, string>
  findings: Finding[]
  passes: Pass[]
  steps: Step[]
  graphs: Graph[]
  reuses: Reuse[]
  at: 'order' | 'seconds'
  memory: Sample[]
  graph: Picture | null
  ledger: Row[]
}

const SCHEMA = 'secondpass-page/1'

/** The data of the page, with empty parts where nothing was seen; a sentence if there are none. */
function read(): Data | string {
  const element = document.getElementById('data')
  if (!element?.textContent) return 'There are no data in this page: it is the template that secondpass writes pages from.'
  let raw: Partial<Data>
  try {
    raw = JSON.parse(element.textContent) as Partial<Data>
  } catch (error) {
    return `The data of this page cannot be read (${error instanceof Error ? error.message : 'not JSON'}). Was the file cut short?`
  }
  if (raw.schema !== SCHEMA) return `This page reads ${SCHEMA}, and its data are ${String(raw.schema)}.`
  const order = <T extends { at: number }>(items: T[] | undefined) => [...(items ?? [])].sort((a, b) => a.at - b.at)
  return {
    schema: raw.schema,
    tool: raw.tool ?? { version: '' },
    program: {
      ...{ file: '', args: [], status: null, torch: null, device: null, error: null, rank: null },
      ...raw.program,
    },
    notes: (raw.notes ?? []).map(String),
    counts: {
      passes: Math.max(raw.counts?.passes ?? 0, raw.passes?.length ?? 0),
      steps: Math.max(raw.counts?.steps ?? 0, raw.steps?.length ?? 0),
    },
    sources: raw.sources ?? {},
    findings: (raw.findings ?? []).map((finding) => ({
      ...finding,
      message: finding.message ?? '',
      evidence: finding.evidence ?? [],
      remedies: (finding.remedies ?? []).map((remedy) => ({
        ...remedy,
        title: remedy.title ?? remedy.kind,
        why: remedy.why ?? '',
        diff: remedy.diff ?? '',
        proof: remedy.proof?.status ? remedy.proof : null,
      })),
    })),
    passes: order(raw.passes).map((pass) => ({ ...pass, number: pass.number ?? pass.id + 1, iteration: pass.iteration ?? [], roots: pass.roots ?? [] })),
    steps: order(raw.steps),
    graphs: [...(raw.graphs ?? [])]
      .map((graph) => ({ ...graph, name: graph.name ?? `graph ${graph.id}`, iteration: graph.iteration ?? [] }))
      .sort((a, b) => a.built - b.built),
    reuses: raw.reuses ?? [],
    at: raw.at ?? 'order',
    memory: order(raw.memory),
    graph: raw.graph?.nodes?.length ? raw.graph : null,
    ledger: (raw.ledger ?? []).map((row) => ({ ...row, bytes: row.bytes ?? 0, shape: row.shape ?? [] })),
  }
}

const answer = read()
/** Why there is nothing to show; null when there is. */
export const trouble: string | null = typeof answer === 'string' ? answer : null
export const data: Data = typeof answer === 'string' ? EMPTY() : answer

function EMPTY(): Data {
  return {
    schema: SCHEMA,
    tool: { version: '' },
    program: { file: '', args: [], status: null, torch: null, device: null, error: null, rank: null },
    notes: [],
    counts: { passes: 0, steps: 0 },
    sources: {},
    findings: [],
    passes: [],
    steps: [],
    graphs: [],
    reuses: [],
    at: 'order',
    memory: [],
    graph: null,
    ledger: [],
  }
}

export const passById = new Map(data.passes.map((pass) => [pass.id, pass]))
export const graphById = new Map(data.graphs.map((graph) => [graph.id, graph]))

/** The first and the last moment of anything. */
export const moments: [number, number] = (() => {
  let low = Infinity
  let high = -Infinity
  const see = (at: number | null) => {
    if (at === null || !Number.isFinite(at)) return
    low = Math.min(low, at)
    high = Math.max(high, at)
  }
  for (const item of [...data.passes, ...data.steps, ...data.memory]) see(item.at)
  for (const graph of data.graphs) (see(graph.built), see(graph.freed))
  if (low > high) return [0, 1]
  return low === high ? [low - 0.5, high + 0.5] : [low, high]
})()

/**
 * Samples that follow each other with no pass between them that nobody looked at, as [first, last]: a line from one to the
 * next is right inside of these only.
 */
export function stretches(samples: Sample[]): [number, number][] {
  const passes = data.passes.map((pass) => pass.at).sort((a, b) => a - b)
  const distance = (at: number, pass: number) => Math.abs((passes[pass] ?? Infinity) - at)
  const found: [number, number][] = []
  let first = 0
  let before = -1
  samples.forEach((sample, index) => {
    const now = bisectLeft(passes, sample.at)
    if (index && now > before) {
      // Taken before and after the one pass between them, or after the pass ahead of it and before the next.
      const last = samples[index - 1].at
      const seen = now === before + 1 && distance(last, before) <= distance(last, before - 1) && distance(sample.at, before) <= distance(sample.at, now)
      if (!seen) {
        found.push([first, index - 1])
        first = index
      }
    }
    before = now
  })
  if (samples.length) found.push([first, samples.length - 1])
  return found
}

/**
 * Between two stretches nothing is known of the peaks, but what stays from one pass to the next shows in the lowest samples:
 * from the end of each stretch to the lowest sample of the next.
 */
export function bridges(samples: Sample[]): [Sample, Sample][] {
  const found: [Sample, Sample][] = []
  if (!samples.length) return found
  stretches(samples).reduce((before, now) => {
    const piece = samples.slice(now[0], now[1] + 1)
    found.push([samples[before[1]], piece.reduce((low, sample) => (sample.bytes < low.bytes ? sample : low))])
    return now
  })
  return found
}

/** The finding that tells of a cause, by its code. */
export function findingOf(code: string | null): number {
  return code === null ? -1 : data.findings.findIndex((finding) => finding.code === code)
}

export interface Band {
  label: string
  from: number
  to: number
}

/** The iterations along the axis: each from the first thing seen in it to the first of the next. */
export const bands: Band[] = (() => {
  const starts = new Map<number, number>()
  const see = (iteration: number[] | null, at: number) => {
    if (iteration?.length) starts.set(iteration[0], Math.min(starts.get(iteration[0]) ?? Infinity, at))
  }
  for (const graph of data.graphs) see(graph.iteration, graph.built)
  for (const pass of data.passes) see(pass.iteration, pass.at)
  const sorted = [...starts].sort((a, b) => a[1] - b[1])
  return sorted.map(([number, from], index) => ({
    label: String(number),
    from,
    to: index + 1 < sorted.length ? sorted[index + 1][1] : Infinity,
  }))
})()
