// Memory: saved bytes over time, as areas on top of each other, with the peak and what a repair would take away.
import { useSignalEffect } from '@preact/signals'
import { bisector } from 'd3-array'
import { scaleLinear } from 'd3-scale'
import { area, line } from 'd3-shape'
import { useMemo, useState } from 'preact/hooks'
import { bands, bridges, data, findingOf, stretches, type Sample, type Split } from '../data'
import { bytes, capital, during, many, moment, once, opText, UNITS } from '../format'
import { causeColour, ink, OKABE, SANS, SERIES } from '../palette'
import { useCanvas } from '../parts/canvas'
import { Empty, Segments, Swatch } from '../parts/text'
import { panBy, showAll, timeScale, useTimeZoom, zoomBy } from '../parts/time'
import { hovered, lit, matches, searching, span } from '../state'

const LEFT = 64
const RIGHT = 16
const TOP = 30
const BOTTOM = 28

const SPLITS: Split[] = ['module', 'line', 'op', 'holder']

const OTHER = 'everything else'

interface Layer {
  name: string
  label: string
  colour: string
  most: number
  low: number[]
  high: number[]
}

/** Without the ledger there are still the graphs: what each saved, from built to freed. */
const coarse = data.memory.length === 0
const samples: Sample[] = coarse ? fromGraphs() : data.memory

function fromGraphs(): Sample[] {
  const known = data.graphs.filter((graph) => graph.bytes !== null)
  const changes = known.flatMap((graph) => [
    { at: graph.built, by: graph.bytes!, graph },
    ...(graph.freed === null ? [] : [{ at: graph.freed, by: -graph.bytes!, graph }]),
  ])
  changes.sort((a, b) => a.at - b.at)
  const lines: Record<string, number> = {}
  const useless: Record<string, number> = {}
  const holders: Record<string, number> = {}
  let total = 0
  const made: Sample[] = []
  for (const { at, by, graph } of changes) {
    const key = graph.place ? `${graph.place.file}:${graph.place.line}` : ''
    // A step, not a slope: the bytes are there at once.
    made.push({ at, bytes: total, module: {}, line: { ...lines }, op: {}, holder: { ...holders }, useless: { ...useless } })
    total += by
    lines[key] = (lines[key] ?? 0) + by
    if (graph.held_by) holders[graph.held_by] = (holders[graph.held_by] ?? 0) + by
    if (graph.cause) useless[graph.cause] = (useless[graph.cause] ?? 0) + by
    made.push({ at, bytes: total, module: {}, line: { ...lines }, op: {}, holder: { ...holders }, useless: { ...useless } })
  }
  return made.some((sample) => sample.bytes) ? made.slice(0, 20_000) : []
}

/** The names of modules, cut to the depth that shows most and still has a colour for each. */
function rolled(split: Split): (name: string) => string {
  if (split !== 'module') return (name) => name
  const all = [...names('module')]
  const cutTo = (depth: number) => (name: string) => name.split('.').slice(0, depth).join('.')
  const deepest = all.reduce((most, name) => Math.max(most, name.split('.').length), 1)
  let best = 1
  for (let depth = 1; depth <= deepest; depth++) {
    const number = new Set(all.map(cutTo(depth))).size
    const before = new Set(all.map(cutTo(best))).size
    if (number <= SERIES.length || before <= 2) best = depth
    else break
  }
  return cutTo(best)
}

function layersOf(split: Split): Layer[] {
  const nameOf = rolled(split)
  const partsOf = (sample: Sample) => {
    const parts = new Map<string, number>()
    for (const [name, value] of Object.entries(sample[split] ?? {})) parts.set(nameOf(name), (parts.get(nameOf(name)) ?? 0) + value)
    return parts
  }
  const most = new Map<string, number>()
  for (const sample of samples) {
    for (const [name, value] of partsOf(sample)) most.set(name, Math.max(most.get(name) ?? 0, value))
  }
  const ranked = [...most].sort((a, b) => b[1] - a[1])
  const shown = ranked.slice(0, ranked.length > SERIES.length ? SERIES.length - 1 : SERIES.length)
  const layers: Layer[] = shown.map(([name, top], index) => ({
    name,
    label: split === 'op' ? opText(name) : name || '(not known)',
    colour: SERIES[index],
    most: top,
    low: [],
    high: [],
  }))
  const rest: Layer = { name: '\0', label: OTHER, colour: 'grey', most: 0, low: [], high: [] }
  for (const sample of samples) {
    let total = 0
    const parts = partsOf(sample)
    for (const layer of layers) {
      layer.low.push(total)
      total += parts.get(layer.name) ?? 0
      layer.high.push(total)
    }
    rest.low.push(total)
    rest.high.push(Math.max(total, sample.bytes))
    rest.most = Math.max(rest.most, sample.bytes - total)
  }
  return rest.most > 0 ? [...layers, rest] : layers
}

/** The samples by their numbers, with nothing drawn from one piece to the next. */
const pieces: number[][] = (coarse ? (samples.length ? [[0, samples.length - 1]] : []) : stretches(samples)).map(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index),
)
const gaps = coarse ? [] : bridges(samples)
const tallest = (piece: number[]) => piece.reduce((best, index) => (samples[index].bytes > samples[best].bytes ? index : best), piece[0])
const peak = samples.reduce((best, sample, index) => (sample.bytes > samples[best].bytes ? index : best), 0)
const repairs = [...new Set(samples.flatMap((sample) => Object.keys(sample.useless ?? {})))]

function names(split: Split): Set<string> {
  return new Set(samples.flatMap((sample) => Object.keys(sample[split] ?? {})))
}
export const words = once(() => SPLITS.flatMap((split) => [...names(split)]).map((name) => name.toLowerCase()))

export function Memory() {
  if (data.memory.length && !samples[peak].bytes) {
    return (
      <Empty title="Nothing was saved">
        At the {many(samples.length, 'moment')} that were looked at, no graph kept a tensor of its own: what it would need was a parameter, an input, or nothing.
      </Empty>
    )
  }
  if (!samples.length) {
    return (
      <Empty title="No bytes were counted">
        Saved tensors are counted by <code>secondpass see {data.program.file || 'train.py'}</code>; a plain run leaves them alone, and is
        quicker.
      </Empty>
    )
  }
  return <Areas />
}

function Areas() {
  const splits = SPLITS.filter((split) => samples.some((sample) => Object.keys(sample[split] ?? {}).length))
  const [split, setSplit] = useState<Split>(splits[0] ?? 'module')
  const [repaired, setRepaired] = useState<string>('')
  const [cursor, setCursor] = useState<number | null>(null)
  const [off, setOff] = useState<string | null>(null)
  const layers = useMemo(() => layersOf(split), [split])

  const { ref, redraw, size } = useCanvas((context, box) => {
    const colours = ink()
    const x = timeScale(LEFT, box.width - RIGHT)
    const [from, to] = span.value
    let top = 1
    for (const sample of samples) if (sample.at >= from && sample.at <= to) top = Math.max(top, sample.bytes)
    const y = scaleLinear()
      .domain([0, top * 1.08])
      .range([box.height - BOTTOM, TOP])
    context.font = `11px ${SANS}`
    context.textBaseline = 'middle'

    // The axes.
    context.textAlign = 'right'
    const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(top) / 10)))
    const unit = 1024 ** power
    const ticks = scaleLinear()
      .domain([0, (top * 1.08) / unit])
      .ticks(Math.max(2, Math.floor(box.height / 80)))
    for (const tick of ticks.map((value) => value * unit)) {
      context.strokeStyle = colours.line
      context.lineWidth = 1
      context.beginPath()
      context.moveTo(LEFT, Math.round(y(tick)) + 0.5)
      context.lineTo(box.width - RIGHT, Math.round(y(tick)) + 0.5)
      context.stroke()
      context.fillStyle = colours.muted
      context.fillText(`${Number((tick / unit).toPrecision(3))} ${UNITS[power]}`, LEFT - 8, y(tick))
    }
    context.fillStyle = colours.muted
    if (data.at === 'order' && bands.length > 1) {
      // Events in their order mean little to a reader; iterations do.
      context.textAlign = 'left'
      let last = -Infinity
      for (const band of bands) {
        const px = x(band.from)
        if (px < LEFT - 1 || px > box.width - RIGHT - 40 || px < last) continue
        const label = `iteration ${band.label}`
        context.fillRect(Math.round(px), box.height - BOTTOM, 1, 5)
        context.fillText(label, px + 3, box.height - BOTTOM + 14)
        last = px + context.measureText(label).width + 16
      }
    } else {
      context.textAlign = 'center'
      const ticks = data.at === 'order' ? data.passes.map((pass) => pass.at) : x.ticks(Math.max(2, Math.floor(box.width / 110)))
      let last = -Infinity
      for (const tick of ticks) {
        const px = x(tick)
        if (px < Math.max(LEFT, last + 80) || px > box.width - RIGHT) continue
        context.fillText(moment(tick, data.at), px, box.height - BOTTOM + 14)
        last = px
      }
    }

    context.save()
    context.beginPath()
    context.rect(LEFT, 0, box.width - LEFT - RIGHT, box.height - BOTTOM)
    context.clip()
    // One pass that was counted among many that were not would be a hair: a bar instead.
    const thin = (piece: number[]) => pieces.length > 1 && x(samples[piece[piece.length - 1]].at) - x(samples[piece[0]].at) < 4
    for (const layer of layers) {
      const lost = searching.value && !matches(layer.label.toLowerCase())
      const bright = off === layer.name || (split === 'line' && lit.value === layer.name)
      const other = off !== null || (split === 'line' && lit.value !== null && layers.some((one) => one.name === lit.value))
      context.globalAlpha = lost ? 0.12 : repaired ? 0.25 : other && !bright ? 0.3 : 0.9
      context.fillStyle = layer.colour === 'grey' ? colours.neutral : layer.colour
      context.beginPath()
      for (const piece of pieces) {
        if (thin(piece)) {
          const tall = tallest(piece)
          context.rect(x(samples[tall].at) - 3, y(layer.high[tall]), 6, y(layer.low[tall]) - y(layer.high[tall]))
          continue
        }
        area<number>()
          .x((index) => x(samples[index].at))
          .y0((index) => y(layer.low[index]))
          .y1((index) => y(layer.high[index]))
          .context(context)(piece)
      }
      context.fill()
      context.globalAlpha = 1
      context.strokeStyle = colours.paper
      context.lineWidth = 1
      context.beginPath()
      for (const piece of pieces) {
        if (thin(piece)) continue
        line<number>()
          .x((index) => x(samples[index].at))
          .y((index) => y(layer.high[index]))
          .context(context)(piece)
      }
      context.stroke()
    }

    context.strokeStyle = colours.muted
    context.lineWidth = 1
    context.setLineDash([3, 4])
    context.beginPath()
    for (const [a, b] of gaps) {
      context.moveTo(x(a.at), y(a.bytes))
      context.lineTo(x(b.at), y(b.bytes))
    }
    context.stroke()
    context.setLineDash([])

    // What was not looked at is said; and where samples are few, each is marked.
    context.fillStyle = colours.muted
    context.textAlign = 'center'
    pieces.slice(1).forEach((piece, index) => {
      const low = x(samples[pieces[index][pieces[index].length - 1]].at)
      const high = x(samples[piece[0]].at)
      if (high - low > 80) context.fillText('not counted', (low + high) / 2, box.height - BOTTOM - 12)
    })
    const seen = samples.filter((sample) => sample.at >= from && sample.at <= to)
    if (seen.length && (box.width - LEFT) / seen.length > 9) {
      context.fillStyle = colours.text
      for (const sample of seen) {
        context.beginPath()
        context.arc(x(sample.at), y(sample.bytes), 2, 0, 7)
        context.fill()
      }
    }

    if (repaired) {
      const left = (sample: Sample) => sample.bytes - goneOf(sample, repaired)
      // What would be left; and hatched, what would be gone. Which layers it comes from is not known: they step back.
      context.beginPath()
      for (const piece of pieces) {
        if (thin(piece)) {
          const tall = samples[tallest(piece)]
          context.rect(x(tall.at) - 3, y(left(tall)), 6, y(0) - y(left(tall)))
          continue
        }
        area<number>()
          .x((index) => x(samples[index].at))
          .y0(y(0))
          .y1((index) => y(left(samples[index])))
          .context(context)(piece)
      }
      context.fillStyle = colours.accent
      context.fill()
      context.save()
      context.beginPath()
      for (const piece of pieces) {
        area<number>()
          .x((index) => x(samples[index].at))
          .y0((index) => y(left(samples[index])))
          .y1((index) => y(samples[index].bytes))
          .context(context)(piece)
      }
      context.clip()
      context.strokeStyle = colours.muted
      context.lineWidth = 1
      context.beginPath()
      for (let at = -box.height; at < box.width; at += 7) {
        context.moveTo(at, box.height)
        context.lineTo(at + box.height, 0)
      }
      context.stroke()
      context.restore()
    }
    context.restore()

    // The peak.
    const best = samples[peak]
    if (best.at >= from && best.at <= to) {
      const px = x(best.at)
      const py = y(best.bytes)
      context.strokeStyle = colours.text
      context.setLineDash([2, 3])
      context.lineWidth = 1
      context.beginPath()
      context.moveTo(px, py)
      context.lineTo(px, box.height - BOTTOM)
      context.stroke()
      context.setLineDash([])
      context.fillStyle = colours.text
      context.beginPath()
      context.arc(px, py, 3.5, 0, 7)
      context.fill()
      context.font = `600 12px ${SANS}`
      context.textAlign = px > box.width / 2 ? 'right' : 'left'
      context.fillText(`peak ${bytes(best.bytes)}`, px + (px > box.width / 2 ? -9 : 9), Math.max(12, py - 11))
    }
    if (cursor !== null && samples[cursor]) {
      const px = x(samples[cursor].at)
      context.strokeStyle = colours.accent
      context.lineWidth = 1
      context.beginPath()
      context.moveTo(px, TOP - 10)
      context.lineTo(px, box.height - BOTTOM)
      context.stroke()
    }
    context.textAlign = 'left'
  })
  useTimeZoom(ref, [LEFT, RIGHT])
  useSignalEffect(() => {
    void span.value
    redraw()
  })

  const near = (event: MouseEvent) => {
    const box = ref.current!.getBoundingClientRect()
    const when = timeScale(LEFT, size.current!.width - RIGHT).invert(event.clientX - box.left)
    setCursor(bisector((sample: Sample) => sample.at).center(samples, when))
  }
  const key = (event: KeyboardEvent) => {
    const go = (by: number) => setCursor(Math.max(0, Math.min(samples.length - 1, (cursor ?? (by > 0 ? -1 : samples.length)) + by)))
    const actions: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? panBy(0.25) : go(1)),
      ArrowLeft: () => (event.shiftKey ? panBy(-0.25) : go(-1)),
      '+': () => zoomBy(1.5),
      '=': () => zoomBy(1.5),
      '-': () => zoomBy(1 / 1.5),
      '0': showAll,
      Home: () => setCursor(0),
      End: () => setCursor(samples.length - 1),
      p: () => setCursor(peak),
    }
    const action = actions[event.key]
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    action()
  }
  const shown = samples[cursor ?? peak]
  return (
    <div class="pictured">
      <div class="tools">
        <Segments
          label="Split by"
          choices={splits.map((value) => ({ value, label: { module: 'Module', line: 'Line', op: 'Operation', holder: 'Holder' }[value] }))}
          value={split}
          onChange={setSplit}
        />
        {repairs.length > 0 && (
          <label class="choice">
            Show
            <select value={repaired} onChange={(event) => setRepaired(event.currentTarget.value)}>
              <option value="">the run as it was</option>
              {repairs.map((code) => (
                <option key={code} value={code}>
                  with {code} {data.findings[findingOf(code)]?.cause} repaired
                </option>
              ))}
              {repairs.length > 1 && <option value="all">with all of them repaired</option>}
            </select>
          </label>
        )}
        {repaired && <Saving code={repaired} />}
        <div class="buttons">
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
      <div class="beside">
        <div class="stage">
          <canvas
            ref={ref}
            class="memory"
            tabIndex={0}
            role="application"
            aria-label={`Saved bytes over time: the peak is ${bytes(samples[peak].bytes)}. Arrow keys go from one sample to the next.`}
            onKeyDown={key}
            onMouseMove={near}
            onMouseLeave={() => setCursor(null)}
          />
        </div>
        <aside class="parts" aria-live="polite">
          <h3>
            {cursor === null ? 'At the peak' : data.at === 'order' ? capital(moment(shown.at, data.at)) : `At ${moment(shown.at, data.at)}`}{' '}
            <span class="muted">{during(shown.at)}</span>{' '}
            <span class="number">{bytes(shown.bytes)}</span>
          </h3>
          <ul>
            {[...layers].reverse().map((layer) => {
              const value = layer.high[cursor ?? peak] - layer.low[cursor ?? peak]
              return (
                <li
                  key={layer.name}
                  class={value > 0 ? '' : 'none'}
                  onMouseEnter={() => (setOff(layer.name), split === 'line' && (hovered.value = layer.name))}
                  onMouseLeave={() => (setOff(null), (hovered.value = null))}
                >
                  <Swatch colour={layer.colour === 'grey' ? 'var(--neutral)' : layer.colour} />
                  <span class="name" title={layer.label}>
                    {layer.label}
                  </span>
                  <span class="number">{bytes(value)}</span>
                </li>
              )
            })}
          </ul>
          {Object.keys(shown.useless ?? {}).length > 0 && (
            <>
              <h3>Of it, no pass can need</h3>
              <ul>
                {Object.entries(shown.useless).map(([code, value]) => (
                  <li key={code}>
                    <Swatch colour={causeColour(code) ?? OKABE.vermillion} hollow />
                    <span class="name">
                      {code} {data.findings[findingOf(code)]?.cause}
                    </span>
                    <span class="number">{bytes(value)}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
          {gaps.length > 0 && <p class="muted small">Dashed: what stayed after a pass, across those that were not counted.</p>}
          {coarse && <p class="muted small">Counted from the graphs that were seen: without the ledger, what was not kept by a graph is not known.</p>}
        </aside>
      </div>
    </div>
  )
}

function goneOf(sample: Sample, code: string): number {
  const gone = sample.useless ?? {}
  const value = code === 'all' ? Object.values(gone).reduce((sum, one) => sum + one, 0) : (gone[code] ?? 0)
  return Math.min(sample.bytes, value)
}

function Saving({ code }: { code: string }) {
  const after = samples.reduce((most, sample) => Math.max(most, sample.bytes - goneOf(sample, code)), 0)
  const before = samples[peak].bytes
  return (
    <p class="saving" role="status">
      peak {bytes(before)} → <strong>{bytes(after)}</strong>
      {before > 0 && <span class="muted"> ({Math.round((after / before - 1) * 100).toString().replace('-', '−')}%)</span>}
    </p>
  )
}
