// Life: a timeline. Each graph is a bar from built to freed; a reuse is an arrow from the pass back into the freed bar.
import { useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { bands, bridges, data, findingOf, graphById, moments, passById, stretches, type Graph, type Pass, type Step } from '../data'
import { bytes, count, iterationText, keyOf, many, moment, once, placeText } from '../format'
import { causeColour, causes, ink, SANS, type Ink } from '../palette'
import { fit, roundRect, useCanvas, type Size } from '../parts/canvas'
import { pack } from '../parts/lanes'
import { Empty, PlaceLink, Swatch } from '../parts/text'
import { moveTo, panBy, reveal, showAll, timeScale, useTimeZoom, whole, zoomBy } from '../parts/time'
import { chosen, hovered, lit, matches, pinned, searching, span, view } from '../state'

const SIDE = 16
const AXIS = 26 // the iterations and the axis
const MARKS = 30 // the row of passes and steps
const TOP = AXIS + MARKS
const TALL = 34 // a row, where there is room
const THIN = 4 // a row, where there is none
const MAP = 30 // the small picture of the whole at the bottom

type Item = { kind: 'graph' | 'pass' | 'step'; id: number }

const stepById = new Map(data.steps.map((step) => [step.id, step]))
const reuseOf = new Map<number, number>() // graph -> the last pass that came back into it
for (const reuse of data.reuses) reuseOf.set(reuse.graph, reuse.pass)
// A bar that was come back into is drawn on up to that pass: nothing else stands in between.
const { lane, brief, lasting } = pack(data.graphs, (graph) =>
  graph.freed === null ? Infinity : Math.max(graph.freed, passById.get(reuseOf.get(graph.id) ?? -1)?.at ?? graph.freed),
)

const text = (graph: Graph) =>
  [graph.name, graph.held_by ?? '', graph.cause ?? '', graph.place ? placeText(graph.place) : '', graph.place?.function ?? ''].join(' ').toLowerCase()
export const words = once(() => data.graphs.map(text))

/** Everything in the order of time, for the arrow keys. */
const inOrder: (Item & { at: number })[] = [
  ...data.graphs.map((graph) => ({ kind: 'graph' as const, id: graph.id, at: graph.built })),
  ...data.passes.map((pass) => ({ kind: 'pass' as const, id: pass.id, at: pass.at })),
  ...data.steps.map((step) => ({ kind: 'step' as const, id: step.id, at: step.at })),
].sort((a, b) => a.at - b.at)

/** A long timeline opens where something happened: at the first reuse. */
let opened = false
function open() {
  if (opened) return
  opened = true
  const reuse = data.reuses.map((item) => passById.get(item.pass)).find(Boolean)
  const size = whole[1] - whole[0]
  const wanted = (size * 24) / Math.max(24, data.passes.length)
  if (reuse && wanted < size) moveTo(reuse.at - wanted * 0.75, wanted)
  if (data.reuses.length && !chosen.value) chosen.value = { kind: 'pass', id: data.reuses[0].pass }
}

export function Life() {
  if (!data.graphs.length && !data.passes.length && !data.steps.length) {
    return <Empty title="Nothing lived">No graph, pass or step was seen in this run.</Empty>
  }
  return <Timeline />
}

function Timeline() {
  useMemo(() => {
    open()
    const when = chosen.value && momentOf(chosen.value)
    if (when !== null && when !== undefined) reveal(when) // chosen in another view
  }, [])
  const scroll = useRef(0)
  const [tip, setTip] = useState<{ x: number; y: number; item: Item } | null>(null)
  const { ref, redraw, size } = useCanvas((context, box) => {
    const rows = rowsOf(box.height)
    scroll.current = Math.max(0, Math.min(scroll.current, rows.total - rows.room))
    paint(context, box, rows, scroll.current, tip?.item ?? null)
  })
  useTimeZoom(ref, [SIDE, SIDE], (dy) => {
    scroll.current -= dy
    redraw()
  })
  useSignalEffect(() => {
    void [span.value, chosen.value]
    redraw()
  })
  useEffect(() => {
    const canvas = ref.current!
    // With shift the wheel goes through the rows, as it does in tables.
    const wheel = (event: WheelEvent) => {
      if (!event.shiftKey) return
      scroll.current += event.deltaY || event.deltaX
      event.stopImmediatePropagation()
      event.preventDefault()
      redraw()
    }
    canvas.addEventListener('wheel', wheel, { capture: true, passive: false })
    return () => canvas.removeEventListener('wheel', wheel, { capture: true })
  }, [])

  const at = (event: MouseEvent) => {
    const box = ref.current!.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    return { x, y, item: find(x, y, size.current!, rowsOf(size.current!.height), scroll.current) }
  }
  const choose = (item: Item | null) => {
    chosen.value = item
    const when = item && momentOf(item)
    if (when !== null && when !== undefined) reveal(when)
    if (item?.kind === 'graph') {
      const rows = rowsOf(size.current!.height)
      const [y, height] = rows.at(lane.get(item.id) ?? 0)
      scroll.current = Math.max(y + height - rows.room, Math.min(scroll.current, y))
    }
    redraw()
  }
  const step = (by: number) => {
    const now = chosen.value
    const index = inOrder.findIndex((item) => item.kind === now?.kind && item.id === now.id)
    choose(inOrder[Math.max(0, Math.min(inOrder.length - 1, index < 0 ? 0 : index + by))])
  }
  const key = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? panBy(0.25) : step(1)),
      ArrowLeft: () => (event.shiftKey ? panBy(-0.25) : step(-1)),
      ArrowDown: () => ((scroll.current += 40), redraw()),
      ArrowUp: () => ((scroll.current -= 40), redraw()),
      '+': () => zoomBy(1.5),
      '=': () => zoomBy(1.5),
      '-': () => zoomBy(1 / 1.5),
      '0': showAll,
      Home: () => choose(inOrder[0]),
      End: () => choose(inOrder.at(-1)!),
      n: nextReuse,
      Enter: () => {
        const place = placeOf(chosen.value)
        pinned.value = place === pinned.value ? null : place
      },
    }
    const action = actions[event.key]
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const nextReuse = () => {
    const passes = data.reuses.map((reuse) => reuse.pass)
    if (!passes.length) return
    const now = chosen.value?.kind === 'pass' ? passes.indexOf(chosen.value.id) : -1
    choose({ kind: 'pass', id: passes[(now + 1) % passes.length] })
  }

  return (
    <div class="pictured">
      <div class="tools">
        <Legend />
        <div class="buttons">
          {data.reuses.length > 0 && (
            <button type="button" onClick={nextReuse}>
              {data.reuses.length > 1 ? 'Next reuse' : 'The reuse'} <kbd>n</kbd>
            </button>
          )}
          <button type="button" aria-label="Zoom out" onClick={() => zoomBy(1 / 1.5)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => zoomBy(1.5)}>
            +
          </button>
          <button type="button" onClick={showAll}>
            All
          </button>
        </div>
      </div>
      <div class="stage">
        <canvas
          ref={ref}
          class="life"
          tabIndex={0}
          role="application"
          aria-label={`Timeline: ${many(data.graphs.length, 'graph')}, ${many(data.passes.length, 'pass', 'passes')}, ${many(data.reuses.length, 'reuse')}. Arrow keys go from one to the next.`}
          data-from={span.value[0]}
          data-to={span.value[1]}
          onKeyDown={key}
          onMouseMove={(event) => {
            if (event.buttons) return setTip(null)
            const { x, y, item } = at(event)
            setTip(item ? { x, y, item } : null)
            hovered.value = placeOf(item)
          }}
          onMouseLeave={() => {
            setTip(null)
            hovered.value = null
          }}
          onClick={(event) => {
            const { x, y, item } = at(event)
            const box = size.current!
            if (y > box.height - MAP) {
              const [from, to] = span.value
              const when = whole[0] + ((x - SIDE) / (box.width - 2 * SIDE)) * (whole[1] - whole[0])
              moveTo(when - (to - from) / 2, to - from)
            } else choose(item)
          }}
        />
        {tip && <Tip {...tip} width={size.current!.width} />}
      </div>
      <Details item={chosen.value} choose={choose} />
    </div>
  )
}

function momentOf(item: Item): number | undefined {
  if (item.kind === 'graph') return graphById.get(item.id)?.built
  return item.kind === 'pass' ? passById.get(item.id)?.at : stepById.get(item.id)?.at
}

function placeOf(item: Item | null): string | null {
  if (!item) return null
  const of = item.kind === 'graph' ? graphById : item.kind === 'pass' ? passById : stepById
  return keyOf(of.get(item.id)?.place)
}

// --- drawing ---------------------------------------------------------------------------------------------------------

interface Rows {
  /** What there is to see, and what can be seen at once. */
  total: number
  room: number
  /** Top and height of a row. */
  at: (lane: number) => [number, number]
}

/** Graphs that come and go have rows that can be read; those that pile up share what is left. */
function rowsOf(height: number): Rows {
  const room = Math.max(20, height - TOP - MAP - 12)
  const tall = Math.max(8, Math.min(TALL, (room * (lasting ? 0.6 : 1)) / Math.max(1, brief)))
  const thin = Math.max(THIN, Math.min(TALL, (room - tall * brief) / Math.max(1, lasting)))
  return {
    total: tall * brief + thin * lasting,
    room,
    at: (index) => (index < brief ? [index * tall, tall] : [brief * tall + (index - brief) * thin, thin]),
  }
}

function endOf(graph: Graph): number {
  return graph.freed ?? whole[1] + (whole[1] - whole[0]) * 0.05
}

function paint(context: CanvasRenderingContext2D, box: Size, rows: Rows, scroll: number, under: Item | null): void {
  const colours = ink()
  const x = timeScale(SIDE, box.width - SIDE)
  const bottom = box.height - MAP
  context.lineJoin = 'round'

  // Iterations: every other one is shaded.
  context.font = `500 11px ${SANS}`
  context.textBaseline = 'middle'
  let lastLabel = -Infinity
  const edges = bands.map((band) => [x(band.from), Number.isFinite(band.to) ? x(band.to) : box.width])
  context.fillStyle = colours.raised
  edges.forEach(([from, to], index) => {
    if (index % 2 === 0 && to - from > 8 && to > 0 && from < box.width) context.fillRect(from, 0, to - from, bottom)
  })
  bands.forEach((band, index) => {
    const [from, to] = edges[index]
    if (to < 0 || from > box.width) return
    const long = bands.length < 2 || to - from > 84 ? `iteration ${band.label}` : band.label
    const left = Math.max(from, 0) + 6
    const wide = context.measureText(long).width
    // Where the iterations are narrow, a number now and then.
    if (left > lastLabel && (to - left > wide + 4 || left > lastLabel + 40)) {
      context.fillStyle = colours.muted
      context.fillText(long, left, AXIS / 2 + 1)
      lastLabel = left + wide + 8
    }
  })

  // Passes and steps, with a thin line down where there is room for it.
  const roomy = data.passes.length === 0 || (x(moments[1]) - x(moments[0])) / data.passes.length > 10
  context.strokeStyle = colours.line
  context.lineWidth = 1
  if (roomy) {
    context.beginPath()
    for (const pass of data.passes) {
      const px = Math.round(x(pass.at)) + 0.5
      if (px < 0 || px > box.width) continue
      context.moveTo(px, AXIS + MARKS / 2 + 8)
      context.lineTo(px, bottom)
    }
    context.stroke()
  }

  const below = TOP + rows.total + 24
  if (bottom - below > 90) bytesBelow(context, colours, x, below, bottom - 8, box.width)

  // Bars.
  context.save()
  context.beginPath()
  context.rect(0, TOP - 4, box.width, bottom - TOP)
  context.clip()
  const texts = searching.value ? words() : null
  const lost = (index: number) => texts !== null && !matches(texts[index])
  const gap = (row: number) => (row > 12 ? 5 : row > 7 ? 2 : 1)
  for (let index = 0; index < data.graphs.length; index++) {
    const graph = data.graphs[index]
    const [above, row] = rows.at(lane.get(graph.id)!)
    const y = TOP + above - scroll
    if (y > bottom || y + row < TOP - 4) continue
    const from = x(graph.built)
    const to = x(endOf(graph))
    if (to < -20 || from > box.width + 20) continue
    bar(context, colours, graph, from, to, y, row - gap(row), box.width, lost(index), under)
  }
  context.restore()

  // Reuses: dense ones are thinned out, so that a thousand arrows do not become a wall.
  let drawn = -Infinity
  const picked = chosen.value?.kind === 'pass' ? chosen.value.id : null
  for (const reuse of data.reuses) {
    const pass = passById.get(reuse.pass)
    const graph = graphById.get(reuse.graph)
    if (!pass || !graph) continue
    const from = x(pass.at)
    const to = x(graph.freed ?? graph.built)
    if (Math.max(from, to) < 0 || Math.min(from, to) > box.width) continue
    if (Math.abs(from - drawn) < 4 && reuse.pass !== picked) continue
    drawn = from
    const [above, row] = rows.at(lane.get(graph.id)!)
    const y = TOP + above - scroll + (row - gap(row)) / 2
    if (y > TOP - 4 && y < bottom) arrow(context, colours, from, to, y)
  }

  if (!data.graphs.length) {
    context.fillStyle = colours.muted
    context.font = `13px ${SANS}`
    context.textAlign = 'center'
    context.fillText('No graph to show: what the pass started from has no history.', box.width / 2, (TOP + bottom) / 2)
    context.textAlign = 'left'
  }
  marks(context, colours, x, box)
  overview(context, colours, box)
}

function bar(
  context: CanvasRenderingContext2D,
  colours: Ink,
  graph: Graph,
  from: number,
  to: number,
  y: number,
  height: number,
  width: number,
  dim: boolean,
  under: Item | null,
): void {
  const left = Math.max(from, -10)
  const right = Math.max(Math.min(to, width + 10), left + 2)
  const colour = causeColour(graph.cause)
  const key = keyOf(graph.place)
  const bright = (lit.value !== null && key === lit.value) || (under?.kind === 'graph' && under.id === graph.id)
  const selected = chosen.value?.kind === 'graph' && chosen.value.id === graph.id
  context.globalAlpha = dim ? 0.15 : lit.value !== null && !bright ? 0.55 : 1

  // What was freed and yet came back is drawn on, dashed, up to the pass that needed it.
  const back = reuseOf.get(graph.id)
  const pass = back === undefined ? undefined : passById.get(back)
  if (pass && graph.freed !== null) {
    const until = timeScale(SIDE, width - SIDE)(pass.at)
    context.setLineDash([3, 3])
    context.strokeStyle = colour ?? colours.muted
    context.lineWidth = 1
    roundRect(context, to - 2, y + 0.5, Math.max(0, until - to + 2), height - 1, 2)
    context.stroke()
    context.setLineDash([])
  }

  if (graph.freed === null && right > left + 40) {
    const fade = context.createLinearGradient(right - 60, 0, right, 0)
    fade.addColorStop(0, colour ?? colours.neutral)
    fade.addColorStop(1, `${colour ?? colours.neutral}00`) // the same colour, gone: `transparent` is black
    context.fillStyle = fade
  } else context.fillStyle = colour ?? colours.neutral
  roundRect(context, left, y, right - left, height, 3)
  context.fill()
  if (graph.freed !== null && !graph.dropped && right - left > 6) {
    context.fillStyle = colours.text
    context.globalAlpha *= 0.55
    context.fillRect(right - 2, y, 2, height)
    context.globalAlpha = dim ? 0.15 : lit.value !== null && !bright ? 0.55 : 1
  }
  if (bright || selected) {
    context.strokeStyle = selected ? colours.text : colours.lit
    context.lineWidth = 2
    roundRect(context, left, y, right - left, height, 3)
    context.stroke()
  }
  if (height >= 12 && right - Math.max(left, 0) > 34) {
    context.font = `500 ${Math.min(12, height - 3)}px ${SANS}`
    context.fillStyle = colour ? '#000' : colours.text
    const start = Math.max(left, 0) + 7
    const held = graph.freed === null && graph.held_by && !graph.name.includes(graph.held_by) ? ` · held by ${graph.held_by}` : ''
    const room = right - start - (pass ? 16 : 8)
    // Where there is no room for "loss, iteration 8", the number says it.
    const name = context.measureText(graph.name).width > room ? graph.name.replace(/^.*\biteration (?=\S+$)/, '') : graph.name
    context.fillText(fit(context, name + held, room), start, y + height / 2 + 0.5)
  }
  context.globalAlpha = 1
}

function arrow(context: CanvasRenderingContext2D, colours: Ink, from: number, to: number, y: number): void {
  const start = AXIS + MARKS / 2 + 7
  const tip = to - 3
  const bend = Math.min(70, Math.max(24, Math.abs(from - tip) / 2))
  const curve = (stroke: string, width: number) => {
    context.strokeStyle = stroke
    context.lineWidth = width
    context.beginPath()
    context.moveTo(from, start)
    context.bezierCurveTo(from, start + (y - start) * 0.8, tip + bend, y, tip + 5, y)
    context.stroke()
  }
  curve(colours.paper, 4.5)
  curve(colours.failed, 2)
  context.fillStyle = colours.failed
  context.strokeStyle = colours.paper
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(tip - 5, y)
  context.lineTo(tip + 6, y - 5.5)
  context.lineTo(tip + 6, y + 5.5)
  context.closePath()
  context.stroke()
  context.fill()
}

function marks(context: CanvasRenderingContext2D, colours: Ink, x: (at: number) => number, box: Size): void {
  const y = AXIS + MARKS / 2
  context.fillStyle = colours.paper
  context.strokeStyle = colours.line
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(0, AXIS + 0.5)
  context.lineTo(box.width, AXIS + 0.5)
  context.stroke()
  const chosenIs = (kind: string, id: number) => chosen.value?.kind === kind && chosen.value.id === id
  const brightIs = (item: Pass | Step) => lit.value !== null && keyOf(item.place) === lit.value

  let last = -Infinity
  const dense = (x(moments[1]) - x(moments[0])) / Math.max(1, data.passes.length) < 9
  for (const step of data.steps) {
    const px = x(step.at)
    const loud = chosenIs('step', step.id) || brightIs(step)
    if (px < 0 || px > box.width || ((dense || px - last < 9) && !loud && !step.cause)) continue
    last = px
    const reach = step.cause ? 6 : 4
    context.strokeStyle = loud ? colours.lit : colours.muted
    context.lineWidth = loud ? 2 : 1.25
    context.beginPath()
    context.moveTo(px, y - reach)
    context.lineTo(px + reach, y)
    context.lineTo(px, y + reach)
    context.lineTo(px - reach, y)
    context.closePath()
    context.fillStyle = causeColour(step.cause ?? null) ?? colours.paper
    context.fill()
    if (loud || !step.cause) context.stroke()
  }
  last = -Infinity
  for (const pass of data.passes) {
    const px = x(pass.at)
    const failed = pass.outcome === 'failed'
    const loud = chosenIs('pass', pass.id) || brightIs(pass)
    if (px < -8 || px > box.width + 8 || (px - last < 4 && !failed && !loud)) continue
    last = px
    if (loud) {
      context.fillStyle = colours.lit
      context.globalAlpha = 0.35
      context.beginPath()
      context.arc(px, y, 11, 0, 7)
      context.fill()
      context.globalAlpha = 1
    }
    if (failed) {
      context.strokeStyle = colours.failed
      context.lineWidth = 3
      context.lineCap = 'round'
      context.beginPath()
      context.moveTo(px - 5, y - 5)
      context.lineTo(px + 5, y + 5)
      context.moveTo(px + 5, y - 5)
      context.lineTo(px - 5, y + 5)
      context.stroke()
      context.lineCap = 'butt'
    } else if (dense && !loud) {
      context.fillStyle = colours.muted
      context.fillRect(px - 0.5, y - 5, 1, 10)
    } else {
      context.fillStyle = colours.text
      context.beginPath()
      context.moveTo(px + 4, y - 6)
      context.lineTo(px - 5, y)
      context.lineTo(px + 4, y + 6)
      context.closePath()
      context.fill()
    }
  }
}

/** Where the bars leave room: what they cost, on the same axis. With nothing between what was not looked at. */
const costs: [number, number][][] = (() => {
  if (data.memory.length) {
    const all = data.memory.map((sample): [number, number] => [sample.at, sample.bytes])
    return stretches(data.memory).map(([first, last]) => all.slice(first, last + 1))
  }
  let now = 0
  const known = data.graphs
    .filter((graph) => graph.bytes !== null)
    .flatMap((graph) => [[graph.built, graph.bytes!] as const, ...(graph.freed === null ? [] : [[graph.freed, -graph.bytes!] as const])])
    .sort((a, b) => a[0] - b[0])
    .flatMap(([at, by]) => [[at, now] as [number, number], [at, (now += by)] as [number, number]])
  return known.length ? [known] : []
})()

const gaps = bridges(data.memory)

function bytesBelow(context: CanvasRenderingContext2D, colours: Ink, x: (at: number) => number, top: number, bottom: number, width: number): void {
  const highest = costs.flat().reduce((most, [, value]) => Math.max(most, value), 0)
  if (!highest) return
  const start = Math.max(top, bottom - 300)
  const y = (value: number) => bottom - (value / highest) * (bottom - start - 26)
  for (const piece of costs) {
    context.beginPath()
    context.moveTo(x(piece[0][0]), bottom)
    for (const [at, value] of piece) context.lineTo(x(at), y(value))
    context.lineTo(x(piece[piece.length - 1][0]), bottom)
    context.closePath()
    context.fillStyle = colours.accent
    context.globalAlpha = 0.16
    context.fill()
    context.globalAlpha = 1
    context.beginPath()
    for (const [at, value] of piece) context.lineTo(x(at), y(value))
    context.strokeStyle = colours.accent
    context.lineWidth = 1.5
    context.stroke()
  }
  context.fillStyle = colours.muted
  context.font = `11px ${SANS}`
  context.strokeStyle = colours.accent
  context.lineWidth = 1
  context.setLineDash([3, 4])
  context.beginPath()
  for (const [a, b] of gaps) {
    context.moveTo(x(a.at), y(a.bytes))
    context.lineTo(x(b.at), y(b.bytes))
  }
  context.stroke()
  context.setLineDash([])
  context.fillText(`saved bytes, at most ${bytes(highest)}${gaps.length ? '; dashed where they were not counted' : ''}`, Math.max(SIDE, x(moments[0])) + 6, start + 6)
  context.strokeStyle = colours.line
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(0, bottom + 0.5)
  context.lineTo(width, bottom + 0.5)
  context.stroke()
}

/** How many graphs are alive, over the whole run, with the window on it. */
const living: [number, number][] = (() => {
  const changes = data.graphs.flatMap((graph) => [
    [graph.built, 1] as const,
    ...(graph.freed === null ? [] : [[graph.freed, -1] as const]),
  ])
  changes.sort((a, b) => a[0] - b[0])
  let now = 0
  return changes.map(([at, by]) => [at, (now += by)])
})()
const most = living.reduce((top, [, value]) => Math.max(top, value), 1)

function overview(context: CanvasRenderingContext2D, colours: Ink, box: Size): void {
  const top = box.height - MAP
  const x = (at: number) => SIDE + ((at - whole[0]) / (whole[1] - whole[0])) * (box.width - 2 * SIDE)
  context.fillStyle = colours.paper
  context.fillRect(0, top, box.width, MAP)
  context.strokeStyle = colours.line
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(0, top + 0.5)
  context.lineTo(box.width, top + 0.5)
  context.stroke()
  const y = (value: number) => box.height - 4 - (value / most) * (MAP - 10)
  context.fillStyle = colours.neutral
  context.beginPath()
  context.moveTo(x(whole[0]), y(0))
  let before = 0
  for (const [at, value] of living) {
    context.lineTo(x(at), y(before))
    context.lineTo(x(at), y(value))
    before = value
  }
  context.lineTo(x(whole[1]), y(before))
  context.lineTo(x(whole[1]), y(0))
  context.fill()
  context.fillStyle = colours.failed
  for (const pass of data.passes) if (pass.outcome === 'failed') context.fillRect(x(pass.at) - 1, top + 3, 2, MAP - 6)
  const [from, to] = span.value
  context.strokeStyle = colours.accent
  context.lineWidth = 1.5
  roundRect(context, x(from), top + 3, Math.max(4, x(to) - x(from)), MAP - 6, 3)
  context.stroke()
}

/** What lies under a point: marks first, then bars. */
function find(px: number, py: number, box: Size, rows: Rows, scroll: number): Item | null {
  const x = timeScale(SIDE, box.width - SIDE)
  if (py > AXIS && py < TOP) {
    let best: Item | null = null
    let nearest = 9
    for (const [kind, items] of [
      ['step', data.steps],
      ['pass', data.passes],
    ] as const) {
      for (const item of items) {
        const away = Math.abs(x(item.at) - px)
        if (away <= nearest) ((nearest = away), (best = { kind, id: item.id }))
      }
    }
    return best
  }
  if (py < TOP || py > box.height - MAP) return null
  for (const graph of data.graphs) {
    const [above, row] = rows.at(lane.get(graph.id)!)
    if (py - TOP + scroll < above || py - TOP + scroll >= above + row) continue
    if (px >= x(graph.built) - 2 && px <= Math.max(x(endOf(graph)), x(graph.built) + 4) + 2) return { kind: 'graph', id: graph.id }
  }
  return null
}

// --- around the picture ----------------------------------------------------------------------------------------------

function Legend() {
  const used = causes.filter((code) => data.graphs.some((graph) => graph.cause === code))
  return (
    <ul class="legend" aria-label="Legend">
      {used.map((code) => (
        <li key={code}>
          <Swatch colour={causeColour(code)!} />
          {code} {data.findings[findingOf(code)]?.cause}
        </li>
      ))}
      <li>
        <Swatch colour="var(--neutral)" />
        graph, built → freed
      </li>
      <li>
        <svg class="glyph" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M10 1 2 6l8 5z" fill="currentColor" />
        </svg>
        pass
      </li>
      {data.passes.some((pass) => pass.outcome === 'failed') && (
        <li>
          <svg class="glyph failed" viewBox="0 0 12 12" aria-hidden="true">
            <path d="m2 2 8 8M10 2l-8 8" stroke="currentColor" stroke-width="2.5" />
          </svg>
          failed pass
        </li>
      )}
      {data.steps.length > 0 && (
        <li>
          <svg class="glyph" viewBox="0 0 12 12" aria-hidden="true">
            <path d="m6 2 4 4-4 4-4-4z" fill="none" stroke="currentColor" stroke-width="1.3" />
          </svg>
          step
        </li>
      )}
      {data.steps.some((step) => step.cause) && (
        <li>
          <svg class="glyph failed" viewBox="0 0 12 12" aria-hidden="true">
            <path d="m6 0 6 6-6 6-6-6z" fill="currentColor" />
          </svg>
          step that changed what was still needed
        </li>
      )}
      {data.reuses.length > 0 && (
        <li>
          <svg class="glyph failed wide" viewBox="0 0 22 12" aria-hidden="true">
            <path d="M20 1C20 7 16 8 8 8" fill="none" stroke="currentColor" stroke-width="2" />
            <path d="M1 8 9 4v8z" fill="currentColor" />
          </svg>
          reuse of what was freed
        </li>
      )}
    </ul>
  )
}

function title(item: Item): string {
  if (item.kind === 'graph') return `Graph of ${graphById.get(item.id)?.name ?? item.id}`
  if (item.kind === 'step') return `Step of ${stepById.get(item.id)?.optimizer ?? 'an optimizer'}`
  const pass = passById.get(item.id)
  if (!pass) return `Pass ${item.id}`
  const roots = pass.roots.join(', ')
  const call = pass.kind === 'grad' ? `grad(${roots})` : `${roots || 'loss'}.backward()`
  return `${pass.outcome === 'failed' ? 'Failed pass' : 'Pass'} ${call}`
}

function Tip({ x, y, item, width }: { x: number; y: number; item: Item; width: number }) {
  const graph = item.kind === 'graph' ? graphById.get(item.id) : undefined
  const place = (item.kind === 'graph' ? graphById : item.kind === 'pass' ? passById : stepById).get(item.id)?.place
  return (
    <div class="tip" style={x > width / 2 ? { right: `${width - x + 14}px`, top: `${y + 10}px` } : { left: `${x + 14}px`, top: `${y + 10}px` }}>
      <strong>{title(item)}</strong>
      {place && <span>{placeText(place)}</span>}
      {graph && (
        <span class="muted">
          {[graph.nodes === null ? '' : many(graph.nodes, 'node'), graph.bytes === null ? '' : bytes(graph.bytes), graph.freed === null ? 'alive at the end' : 'freed']
            .filter(Boolean)
            .join(' · ')}
        </span>
      )}
    </div>
  )
}

function Details({ item, choose }: { item: Item | null; choose: (item: Item) => void }) {
  const rows: [string, preact.ComponentChildren][] = []
  if (item?.kind === 'graph') {
    const graph = graphById.get(item.id)
    if (graph) {
      rows.push(['built', <PlaceLink place={graph.place} />], ['at', moment(graph.built, data.at)])
      if (graph.iteration?.length) rows.push(['iteration', iterationText(graph.iteration)])
      const by = graph.freed_by === null ? undefined : passById.get(graph.freed_by)
      rows.push([
        'freed',
        graph.freed === null ? (
          'alive at the end'
        ) : by ? (
          <button type="button" class="quiet" onClick={() => choose({ kind: 'pass', id: by.id })}>
            by {title({ kind: 'pass', id: by.id }).replace(/^Pass /, '')}, {moment(graph.freed, data.at)}
          </button>
        ) : (
          `${graph.dropped ? 'by no pass; nothing led to it any more ' : ''}${moment(graph.freed, data.at)}`
        ),
      ])
      if (graph.nodes !== null) rows.push(['nodes', count(graph.nodes)])
      if (graph.bytes !== null) rows.push(['saved', bytes(graph.bytes)])
      if (graph.held_by) rows.push(['held by', <code>{graph.held_by}</code>])
      if (graph.cause) rows.push(['finding', <CauseLink code={graph.cause} />])
    }
  } else if (item?.kind === 'pass') {
    const pass = passById.get(item.id)
    if (pass) {
      rows.push(['from', <PlaceLink place={pass.place} />], ['at', moment(pass.at, data.at)])
      if (pass.iteration?.length) rows.push(['iteration', iterationText(pass.iteration)])
      if (pass.walked !== null) rows.push(['walked', many(pass.walked, 'node')])
      if (pass.freed !== null) rows.push(['freed', many(pass.freed, 'node')])
      const flags = [pass.retain && 'retain_graph', pass.create && 'create_graph'].filter(Boolean).join(', ')
      if (flags) rows.push(['with', <code>{flags}</code>])
      for (const reuse of data.reuses.filter((one) => one.pass === pass.id).slice(0, 4)) {
        const graph = graphById.get(reuse.graph)
        if (graph) {
          rows.push([
            'came back into',
            <button type="button" class="quiet" onClick={() => choose({ kind: 'graph', id: graph.id })}>
              graph of {graph.name}
            </button>,
          ])
        }
      }
    }
  } else if (item?.kind === 'step') {
    const step = stepById.get(item.id)
    if (step) {
      rows.push(['from', <PlaceLink place={step.place} />], ['at', moment(step.at, data.at)])
      if (step.moved !== null) rows.push(['moved', many(step.moved, 'parameter')])
      if (step.cause) rows.push(['finding', <CauseLink code={step.cause} />])
    }
  }
  return (
    <aside class="details" aria-live="polite">
      {item && rows.length ? (
        <>
          <h3>{title(item)}</h3>
          <dl>
            {rows.map(([term, value], index) => (
              <div key={index}>
                <dt>{term}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      ) : (
        <p class="muted">Click a bar or a pass, or walk through them with ← and →. The wheel zooms, dragging pans.</p>
      )}
    </aside>
  )
}

export function CauseLink({ code }: { code: string }) {
  const index = findingOf(code)
  if (index < 0) return <span>{code}</span>
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => {
        view.value = 'story'
        requestAnimationFrame(() => document.getElementById(`finding-${index}`)?.scrollIntoView())
      }}
    >
      <Swatch colour={causeColour(code)!} /> {code} {data.findings[index].cause}
    </button>
  )
}
