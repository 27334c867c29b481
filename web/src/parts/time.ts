// The time axis of Life and Memory: one window on it, which both show, moved by wheel, pinch, drag and keys.
import { scaleLinear, type ScaleLinear } from 'd3-scale'
import { select } from 'd3-selection'
import { zoom, zoomIdentity, type D3ZoomEvent } from 'd3-zoom'
import { type RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { moments } from '../data'
import { span } from '../state'

const width = moments[1] - moments[0]
/** The whole axis, with some room at both ends. */
export const whole: [number, number] = [moments[0] - width * 0.02, moments[1] + width * 0.06]
span.value = whole

export function timeScale(from: number, to: number): ScaleLinear<number, number> {
  return scaleLinear().domain(span.value).range([from, to])
}

/** Makes a canvas zoom and pan the axis; `margins` are what is left of its width at both sides. */
export function useTimeZoom(
  ref: RefObject<HTMLCanvasElement | null>,
  margins: [number, number],
  onDrag?: (dy: number) => void,
): void {
  useEffect(() => {
    const canvas = ref.current
    if (!canvas) return
    const selection = select(canvas)
    const base = () => scaleLinear().domain(whole).range([margins[0], Math.max(margins[0] + 1, canvas.clientWidth - margins[1])])
    let lastY: number | null = null
    let own = false // the window was moved by this canvas, which knows it already
    const made = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([1, 5000])
      .on('start', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        lastY = (event.sourceEvent as MouseEvent | undefined)?.clientY ?? null
      })
      .on('zoom', (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
        if (!event.sourceEvent) return // set by us, from `span`
        const scale = event.transform.rescaleX(base())
        const [from, to] = scale.domain()
        own = true
        span.value = [from, to]
        own = false
        const source = event.sourceEvent as MouseEvent
        if (source.type === 'mousemove' && lastY !== null) onDrag?.(source.clientY - lastY)
        lastY = source.clientY ?? null
      })
    const resize = () => {
      const full = base()
      made.extent([
        [margins[0], 0],
        [canvas.clientWidth - margins[1], canvas.clientHeight],
      ])
      made.translateExtent([
        [full(whole[0]), -Infinity],
        [full(whole[1]), Infinity],
      ])
      sync()
    }
    const sync = () => {
      const full = base()
      const [from, to] = span.peek()
      const k = (whole[1] - whole[0]) / (to - from)
      const x = margins[0] - full(from) * k
      selection.call(made.transform, zoomIdentity.translate(x, 0).scale(k))
    }
    selection.call(made).on('dblclick.zoom', null)
    const observer = new ResizeObserver(resize)
    observer.observe(canvas)
    const stop = span.subscribe(() => {
      if (!own) sync()
    })
    return () => {
      stop()
      observer.disconnect()
      selection.on('.zoom', null)
    }
  }, [])
}

export function zoomBy(factor: number, centre?: number): void {
  const [from, to] = span.value
  const middle = centre ?? (from + to) / 2
  const size = Math.min(whole[1] - whole[0], Math.max((to - from) / factor, (whole[1] - whole[0]) / 5000))
  moveTo(middle - ((middle - from) / (to - from)) * size, size)
}

export function panBy(part: number): void {
  const [from, to] = span.value
  moveTo(from + (to - from) * part, to - from)
}

export function showAll(): void {
  span.value = whole
}

/** Brings a moment into the window, without a jump when it is there already. */
export function reveal(at: number): void {
  const [from, to] = span.value
  if (at < from || at > to) moveTo(at - (to - from) / 2, to - from)
}

export function moveTo(from: number, size: number): void {
  const start = Math.max(whole[0], Math.min(from, whole[1] - size))
  span.value = [start, start + size]
}
