// A canvas that is as large as its box, sharp on every screen, and drawn at most once per frame.
import { useSignalEffect } from '@preact/signals'
import { type RefObject } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { lit, query, theme } from '../state'

export interface Size {
  width: number
  height: number
}

export type Draw = (context: CanvasRenderingContext2D, size: Size) => void

export function useCanvas(draw: Draw): { ref: RefObject<HTMLCanvasElement | null>; redraw: () => void; size: RefObject<Size> } {
  const ref = useRef<HTMLCanvasElement>(null)
  const size = useRef<Size>({ width: 0, height: 0 })
  const latest = useRef(draw)
  const frame = useRef(0)
  latest.current = draw

  const paint = useCallback(() => {
    frame.current = 0
    const canvas = ref.current
    const context = canvas?.getContext('2d')
    if (!canvas || !context) return
    const { clientWidth: width, clientHeight: height } = canvas
    const ratio = Math.min(devicePixelRatio || 1, 3)
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio)
      canvas.height = Math.round(height * ratio)
    }
    size.current = { width, height }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    latest.current(context, { width, height })
  }, [])
  const redraw = useCallback(() => {
    if (!frame.current) frame.current = requestAnimationFrame(paint)
  }, [paint])

  useLayoutEffect(() => {
    const observer = new ResizeObserver(redraw)
    if (ref.current) observer.observe(ref.current)
    paint() // at once: the first picture is not one frame late
    document.fonts?.ready.then(redraw, () => {})
    const now = () => paint()
    addEventListener('beforeprint', now)
    return () => {
      observer.disconnect()
      removeEventListener('beforeprint', now)
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [])
  useEffect(redraw)
  useSignalEffect(() => {
    void [lit.value, theme.value, query.value]
    redraw()
  })
  return { ref, redraw, size }
}

export function roundRect(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
): void {
  const r = Math.max(0, Math.min(radius, width / 2, height / 2))
  context.beginPath()
  context.moveTo(x + r, y)
  context.arcTo(x + width, y, x + width, y + height, r)
  context.arcTo(x + width, y + height, x, y + height, r)
  context.arcTo(x, y + height, x, y, r)
  context.arcTo(x, y, x + width, y, r)
  context.closePath()
}

/** The text, cut in the middle or at its end so that it is no wider than asked. */
export function fit(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let low = 0
  let high = Math.min(text.length, 200)
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle
    else high = middle - 1
  }
  return low > 0 ? `${text.slice(0, low)}…` : ''
}
