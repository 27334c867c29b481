// Graph: the chosen pass, collapsed by module and statement to what fits a screen; every box opens.
import { useSignalEffect } from '@preact/signals'
import { select } from 'd3-selection'
import { curveBasis, line } from 'd3-shape'
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior, type ZoomTransform } from 'd3-zoom'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { data, passById } from '../data'
import { bytes, count, keyOf, many, once, opText, placeText } from '../format'
import { cut, grow, pathOf, visible, type Group, type Tree } from '../graph/collapse'
import { HEIGHT, inCode, layout, titleOf, type Box, type Drawing } from '../graph/layout'
import { ink, MONO, SANS, type Ink } from '../palette'
import { fit, roundRect, useCanvas } from '../parts/canvas'
import { Empty, PlaceLink, Swatch } from '../parts/text'
import { hovered, lit, matches, pinned, searching } from '../state'

const READABLE = 0.72 // boxes smaller than this cannot be read
const picture = data.graph

export const words = once(() =>
  (picture?.nodes ?? []).map((node) =>
  [node.op, node.name ?? '', node.module ?? '', node.statement ?? '', node.carrier ?? '', node.place ? placeText(node.place) : ''].join(' ').toLowerCase(),
  ),
)

const FONTS = { title: `600 12.5px ${SANS}`, detail: `11px ${SANS}`, code: `500 11px ${MONO}` }

let tree: Tree | null = null
const scratch = document.createElement('canvas').getContext('2d')
function measure(text: string, font: keyof typeof FONTS): number {
  if (!scratch) return text.length * 7
  scratch.font = FONTS[font]
  return scratch.measureText(text).width
}

/** The most detailed cut that can be read without zooming. */
function start(width: number, height: number): Set<Group> {
  let open = new Set<Group>()
  for (const budget of [36, 24, 16, 10, 7, 4]) {
    open = cut(tree!, budget)
    const drawing = layout(tree!, open, measure)
    if (Math.min(width / drawing.width, height / drawing.height) >= READABLE) break
  }
  return open
}

export function GraphView() {
  if (!picture) {
    return data.passes.some((pass) => pass.outcome === 'failed') ? (
      <Empty title="The failed pass has no graph">What it started from has no history: there is nothing behind it to draw.</Empty>
    ) : (
      <Empty title="No graph in this page">
        The graph of a pass is drawn when one failed, and of the last one by <code>secondpass see {data.program.file || 'train.py'}</code>.
      </Empty>
    )
  }
  return <Board />
}

const bounded = picture?.nodes.some((node) => node.boundary) ?? false
/** Where no freed history is met, the node that the pass failed on is what there is to see. */
const alone = !bounded && (picture?.nodes.some((node) => node.failed) ?? false)

function Board() {
  const whole = useMemo(() => (tree ??= grow(picture!)), [])
  const [open, setOpen] = useState<Set<Group> | null>(null)
  const [chosen, setChosen] = useState<Group | null>(null)
  const [under, setUnder] = useState<Group | null>(null)
  const transform = useRef<ZoomTransform>(zoomIdentity)
  const behaviour = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null)
  const wanted = useRef<Group | null>(null) // what must stay where it is when the layout changes
  const drawing = useMemo<Drawing | null>(() => (open ? layout(whole, open, measure) : null), [open])
  const found = useMemo(() => new Set<Group>(), [])

  const { ref, redraw, size } = useCanvas((context, box) => {
    if (!drawing) return
    found.clear()
    if (searching.value) {
      for (const group of whole.groups) {
        if (group.kind === 'node' && matches(words()[group.first])) for (let up: Group | null = group; up; up = up.parent) found.add(up)
      }
    }
    paint(context, drawing, transform.current, box, { chosen, under, found })
  })

  // The first picture: as much as can be read. Before the browser paints, so that nothing jumps.
  useLayoutEffect(() => {
    const canvas = ref.current!
    setOpen(start(canvas.clientWidth, canvas.clientHeight))
    const made = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.02, 4])
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        transform.current = event.transform
        redraw()
      })
    behaviour.current = made
    select(canvas).call(made).on('dblclick.zoom', null)
    return () => void select(canvas).on('.zoom', null)
  }, [])
  useSignalEffect(() => {
    void lit.value
    redraw()
  })

  const move = (next: ZoomTransform) => {
    if (ref.current && behaviour.current) select(ref.current).call(behaviour.current.transform, next)
  }
  const fitAll = () => {
    const canvas = ref.current
    if (!drawing || !canvas) return
    const { clientWidth: width, clientHeight: height } = canvas
    const k = Math.min(1.25, width / drawing.width, height / drawing.height)
    const x = (width - drawing.width * k) / 2 - drawing.left * k
    const y = Math.max(0, (height - drawing.height * k) / 2) - drawing.top * k
    move(zoomIdentity.translate(x, y).scale(k))
  }
  const first = useRef(true)
  const anchor = useRef<{ group: Group; x: number; y: number } | null>(null)
  useLayoutEffect(() => {
    if (!drawing) return
    if (first.current) {
      first.current = false
      fitAll()
      const top = drawing.boxes.reduce((a, b) => (b.y < a.y ? b : a))
      setChosen((drawing.boxes.find((box) => box.group.boundary || (alone && box.group.failed)) ?? top).group)
      return
    }
    // Opening a box must not throw the reader somewhere else: what was clicked stays under the pointer.
    const from = anchor.current
    if (!from) return fitAll()
    const box = drawing.boxes.find((one) => one.group === from.group || isInside(one.group, from.group) || isInside(from.group, one.group))
    if (box) {
      const { k } = transform.current
      let x = from.x - box.x * k
      let y = from.y - box.y * k
      // ... unless what came out of it would be outside the window.
      const inside = drawing.boxes.filter((one) => one.group === from.group || isInside(one.group, from.group))
      const { width, height } = size.current!
      x += shift(inside.map((one) => [(one.x - one.width / 2) * k + x, (one.x + one.width / 2) * k + x]), width)
      y += shift(inside.map((one) => [(one.y - HEIGHT / 2) * k + y, (one.y + HEIGHT / 2) * k + y]), height)
      move(zoomIdentity.translate(x, y).scale(k))
    }
    anchor.current = null
  }, [drawing])

  const hold = (group: Group) => {
    const box = drawing?.boxes.find((one) => one.group === group || isInside(one.group, group))
    if (box) {
      const [x, y] = transform.current.apply([box.x, box.y])
      anchor.current = { group, x, y }
    }
    wanted.current = group
  }
  const expand = (group: Group) => {
    if (!group.children.length || !open) return
    hold(group)
    setOpen(new Set([...open, group]))
    setChosen(group.children.find((child) => child.boundary || (alone && child.failed)) ?? group.children[0])
  }
  const collapse = (group: Group) => {
    const parent = group.parent
    if (!parent?.parent || !open) return // the whole stays open
    hold(parent)
    setOpen(new Set([...open].filter((one) => one !== parent && !isInside(one, parent))))
    setChosen(parent)
  }
  const overview = () => {
    first.current = true
    const canvas = ref.current!
    setOpen(start(canvas.clientWidth, canvas.clientHeight))
    setTimeout(fitAll)
  }
  const hit = (event: MouseEvent): Group | null => {
    const canvas = ref.current!.getBoundingClientRect()
    const [x, y] = transform.current.invert([event.clientX - canvas.left, event.clientY - canvas.top])
    return drawing?.boxes.find((box) => Math.abs(box.x - x) <= box.width / 2 && Math.abs(box.y - y) <= box.height / 2)?.group ?? null
  }
  const go = (dx: number, dy: number) => {
    if (!drawing?.boxes.length) return
    const now = drawing.boxes.find((box) => box.group === chosen)
    const next = now ? nearest(drawing.boxes, now, dx, dy) : drawing.boxes.reduce((a, b) => (b.y < a.y ? b : a))
    if (!next) return
    setChosen(next.group)
    // Follow the choice when it leaves the screen.
    const [x, y] = transform.current.apply([next.x, next.y])
    const { width, height } = size.current!
    if (x < 60 || y < 40 || x > width - 60 || y > height - 40) {
      const { k } = transform.current
      move(zoomIdentity.translate(width / 2 - next.x * k, height / 2 - next.y * k).scale(k))
    }
  }
  const zoomBy = (factor: number) => {
    if (ref.current && behaviour.current) select(ref.current).call(behaviour.current.scaleBy, factor)
  }
  const key = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(0, 1),
      ArrowUp: () => go(0, -1),
      ArrowLeft: () => go(-1, 0),
      ArrowRight: () => go(1, 0),
      Enter: () => chosen && expand(chosen),
      ' ': () => chosen && expand(chosen),
      Backspace: () => chosen && collapse(chosen),
      '+': () => zoomBy(1.4),
      '=': () => zoomBy(1.4),
      '-': () => zoomBy(1 / 1.4),
      '0': fitAll,
      o: overview,
    }
    const action = actions[event.key]
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const pass = picture!.pass === null ? undefined : passById.get(picture!.pass)
  const states = new Set(picture!.nodes.map((node) => node.state))
  const shown = open ? visible(whole, open).length : 0
  return (
    <div class="pictured">
      <div class="tools">
        <ul class="legend" aria-label="Legend">
          {pass && (
            <li class="strong">
              {pass.roots.join(', ') || 'loss'}.{pass.kind}() {pass.iteration?.length ? `in iteration ${pass.iteration.join(' › ')}` : ''}
              {pass.outcome === 'failed' && <span class="badge error">failed</span>}
            </li>
          )}
          {states.has('alive') && (
            <li>
              <Swatch colour="var(--accent)" hollow />
              alive
            </li>
          )}
          {states.has('freed') && (
            <li>
              <Swatch colour="var(--neutral)" />
              freed
            </li>
          )}
          {bounded && (
            <li>
              <Swatch colour="var(--used)" />
              where freed history begins, and the name that leads there
            </li>
          )}
          {alone && (
            <li>
              <Swatch colour="var(--used)" hollow />
              where the pass failed
            </li>
          )}
          <li class="muted">
            {count(picture!.nodes.length)} nodes in {many(shown, 'box', 'boxes')}
          </li>
        </ul>
        <div class="buttons">
          <button type="button" onClick={overview}>
            Overview <kbd>o</kbd>
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoomBy(1 / 1.4)}>
            −
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => zoomBy(1.4)}>
            +
          </button>
          <button type="button" onClick={fitAll}>
            Fit
          </button>
        </div>
      </div>
      <div class="stage">
        <canvas
          ref={ref}
          class="graph"
          tabIndex={0}
          role="application"
          aria-label={`Graph of ${many(picture!.nodes.length, 'node')}, shown as ${many(shown, 'box', 'boxes')}. Arrow keys move, Enter opens, Backspace closes.`}
          data-boxes={shown}
          onKeyDown={key}
          onMouseMove={(event) => {
            if (event.buttons) return
            const group = hit(event)
            setUnder(group)
            hovered.value = keyOf(group?.node.place)
            ref.current!.style.cursor = group ? 'pointer' : 'grab'
          }}
          onMouseLeave={() => {
            setUnder(null)
            hovered.value = null
          }}
          onClick={(event) => setChosen(hit(event))}
          onDblClick={(event) => {
            const group = hit(event)
            if (group) expand(group)
          }}
        />
      </div>
      <Inside group={chosen} expand={expand} collapse={collapse} />
    </div>
  )
}

/** How far to move so that these spans lie within the room; if they are too long for it, from their beginning. */
function shift(spans: [number, number][], room: number): number {
  const margin = 24
  const low = Math.min(...spans.map(([from]) => from))
  const high = Math.max(...spans.map(([, to]) => to))
  if (low < margin || high - low > room - 2 * margin) return margin - low
  return high > room - margin ? room - margin - high : 0
}

function isInside(group: Group, holder: Group): boolean {
  for (let up = group.parent; up; up = up.parent) if (up === holder) return true
  return false
}

/** The next box in a direction: close by, and more in that direction than beside it. */
function nearest(boxes: Box[], now: Box, dx: number, dy: number): Box | null {
  let best: Box | null = null
  let least = Infinity
  for (const box of boxes) {
    if (box === now) continue
    const ahead = (box.x - now.x) * dx + (box.y - now.y) * dy
    if (ahead < 4) continue
    const aside = Math.abs((box.x - now.x) * dy) + Math.abs((box.y - now.y) * dx)
    const cost = ahead + aside * 2.5
    if (cost < least) ((least = cost), (best = box))
  }
  return best
}

// --- drawing ---------------------------------------------------------------------------------------------------------

const spline = line<{ x: number; y: number }>()
  .x((point) => point.x)
  .y((point) => point.y)
  .curve(curveBasis)

interface Light {
  chosen: Group | null
  under: Group | null
  found: Set<Group>
}

function paint(
  context: CanvasRenderingContext2D,
  drawing: Drawing,
  transform: ZoomTransform,
  size: { width: number; height: number },
  light: Light,
): void {
  const colours = ink()
  context.save()
  context.translate(transform.x, transform.y)
  context.scale(transform.k, transform.k)
  const [left, top] = transform.invert([0, 0])
  const [right, bottom] = transform.invert([size.width, size.height])

  for (const { link, points } of drawing.wires) {
    const crossing = link.to.freed && !link.from.freed
    const near = light.chosen !== null && (link.from === light.chosen || link.to === light.chosen)
    context.strokeStyle = crossing ? colours.failed : near ? colours.accent : colours.faint
    context.lineWidth = crossing ? 2.5 : near ? 1.75 : 1.25
    context.beginPath()
    spline.context(context)(points)
    context.stroke()
    const end = points.at(-1)!
    const before = points.at(-2) ?? points[0]
    const turn = Math.atan2(end.y - before.y, end.x - before.x)
    context.fillStyle = context.strokeStyle
    context.save()
    context.translate(end.x, end.y)
    context.rotate(turn)
    context.beginPath()
    context.moveTo(0, 0)
    context.lineTo(-7, -3.5)
    context.lineTo(-7, 3.5)
    context.fill()
    context.restore()
  }
  for (const box of drawing.boxes) {
    if (box.x + box.width < left || box.x - box.width > right || box.y + HEIGHT < top || box.y - HEIGHT > bottom) continue
    paintBox(context, colours, box, light, transform.k)
  }
  context.restore()
}

function paintBox(context: CanvasRenderingContext2D, colours: Ink, box: Box, light: Light, scale: number): void {
  const { group } = box
  const x = box.x - box.width / 2
  const y = box.y - HEIGHT / 2
  const leaf = group.node.state === 'leaf' && group.kind === 'node'
  const key = keyOf(group.node.place)
  const bright = lit.value !== null && key === lit.value && (group.kind === 'node' || group.kind === 'statement')
  context.globalAlpha = searching.value && !light.found.has(group) ? 0.25 : 1
  // A box with more inside stands on another.
  if (group.children.length) {
    context.fillStyle = group.freed ? colours.neutral : colours.paper
    context.strokeStyle = group.freed ? colours.neutralLine : colours.faint
    context.lineWidth = 1
    roundRect(context, x + 4, y + 4, box.width, HEIGHT, 7)
    context.fill()
    context.stroke()
  }
  context.fillStyle = group.freed ? colours.neutral : colours.paper
  context.strokeStyle = group.freed ? colours.neutralLine : colours.accent
  context.lineWidth = 1.25
  roundRect(context, x, y, box.width, HEIGHT, leaf ? HEIGHT / 2 : 7)
  context.fill()
  context.stroke()
  if (group.boundary || (alone && group.failed)) {
    context.strokeStyle = colours.failed
    context.lineWidth = 2.5
    roundRect(context, x, y, box.width, HEIGHT, 7)
    context.stroke()
  }
  if (group === light.chosen || bright || group === light.under) {
    context.strokeStyle = group === light.chosen ? colours.text : colours.lit
    context.lineWidth = 2
    roundRect(context, x - 4, y - 4, box.width + 8, HEIGHT + 8, 10)
    context.stroke()
  }
  if (scale < 0.28) {
    context.globalAlpha = 1
    return // words that nobody can read
  }
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  const room = box.width - 28
  context.fillStyle = colours.text
  context.font = group.kind === 'statement' ? FONTS.code : FONTS.title
  context.fillText(fit(context, box.title, room - (group.children.length ? 18 : 0)), x + 14, box.detail ? y + 15 : y + HEIGHT / 2)
  context.font = inCode(group) ? FONTS.code : FONTS.detail
  context.fillStyle = colours.muted
  context.fillText(fit(context, box.detail, room - 4), x + 14, y + 31)
  if (group.children.length) {
    const cx = x + box.width - 16
    context.strokeStyle = colours.muted
    context.lineWidth = 1.5
    context.beginPath()
    context.moveTo(cx - 4, y + 15)
    context.lineTo(cx + 4, y + 15)
    context.moveTo(cx, y + 11)
    context.lineTo(cx, y + 19)
    context.stroke()
  }
  if (group.carriers.length && group.boundary) {
    context.font = `600 11px ${MONO}`
    const name = fit(context, group.carriers.join(', '), 180)
    const wide = context.measureText(name).width + 14
    context.fillStyle = colours.failed
    roundRect(context, x - 6, y - 13, wide, 19, 5)
    context.fill()
    context.fillStyle = '#fff'
    context.fillText(name, x + 1, y - 3)
  }
  context.globalAlpha = 1
}

// --- what is inside --------------------------------------------------------------------------------------------------

function Inside({ group, expand, collapse }: { group: Group | null; expand: (group: Group) => void; collapse: (group: Group) => void }) {
  if (!group) {
    return (
      <aside class="details" aria-live="polite">
        <p class="muted">Click a box to see what is inside; a double click or Enter opens it, Backspace closes it.</p>
      </aside>
    )
  }
  const ops = new Map<string, number>()
  const stack = [group]
  for (let next = stack.pop(); next; next = stack.pop()) {
    if (next.kind === 'node' && next.node.state !== 'leaf') ops.set(opText(next.node.op), (ops.get(opText(next.node.op)) ?? 0) + 1)
    stack.push(...next.children)
  }
  const most = [...ops].sort((a, b) => b[1] - a[1]).slice(0, 5)
  const one = group.kind === 'node'
  const path = [pathOf(group), group.kind === 'module' ? group.label : ''].filter(Boolean).join('.')
  return (
    <aside class="details" aria-live="polite">
      <h3 class={group.kind === 'statement' ? 'verbatim' : ''}>{one ? (group.node.name ?? group.node.op) : titleOf(group)}</h3>
      <p class="buttons">
        {group.children.length > 0 && (
          <button type="button" onClick={() => expand(group)}>
            Open <kbd>Enter</kbd>
          </button>
        )}
        {group.parent?.parent && (
          <button type="button" onClick={() => collapse(group)}>
            Close {group.parent.kind === 'module' ? titleOf(group.parent) : 'the group'} <kbd>Backspace</kbd>
          </button>
        )}
        {one && group.node.place && (
          <button type="button" onClick={() => (pinned.value = keyOf(group.node.place))}>
            Keep lit
          </button>
        )}
      </p>
      <dl>
        {path && (
          <div>
            <dt>{group.kind === 'function' ? 'function' : 'module'}</dt>
            <dd>{path}</dd>
          </div>
        )}
        {(one || group.kind === 'statement') && group.node.place && (
          <div>
            <dt>built</dt>
            <dd>
              <PlaceLink place={group.node.place} />
            </dd>
          </div>
        )}
        {one && group.node.statement && (
          <div>
            <dt>statement</dt>
            <dd>
              <code>{group.node.statement}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>state</dt>
          <dd>{one && group.node.state === 'leaf' ? 'leaf' : group.freed ? 'freed' : 'alive'}</dd>
        </div>
        {!one && (
          <div>
            <dt>operations</dt>
            <dd>{count(group.size)}</dd>
          </div>
        )}
        {!one && most.length > 0 && (
          <div>
            <dt>mostly</dt>
            <dd>{most.map(([op, times]) => `${op} × ${count(times)}`).join(', ')}</dd>
          </div>
        )}
        {group.bytes > 0 && (
          <div>
            <dt>saved</dt>
            <dd>{bytes(group.bytes)}</dd>
          </div>
        )}
        {group.boundary > 0 && (
          <div>
            <dt>boundary</dt>
            <dd>{one ? 'the new graph enters freed history here' : many(group.boundary, 'node')}</dd>
          </div>
        )}
        {group.failed && (
          <div>
            <dt>failed</dt>
            <dd>{one ? 'the pass failed here' : 'the pass failed inside'}</dd>
          </div>
        )}
        {group.carriers.length > 0 && (
          <div>
            <dt>carried by</dt>
            <dd>
              <code>{group.carriers.slice(0, 6).join(', ')}</code>
            </dd>
          </div>
        )}
      </dl>
    </aside>
  )
}
