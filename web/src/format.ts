// Numbers and places as people read them.
import { bands, data, type Place } from './data'

export const UNITS = ['B', 'KiB', 'MiB', 'GiB']

/** 1234567 -> "1.2 MiB": as the terminal writes them. */
export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined || !Number.isFinite(count)) return '–'
  let unit = 0
  let value = Math.abs(count)
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${count < 0 ? '−' : ''}${value.toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toLocaleString('en-US')
}

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** "1 pass", "2 passes": the plural is given where it is not just an s. */
export function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`
}

export function keyOf(place: Place | null | undefined): string | null {
  if (!place) return null
  return `${place.cell === null || place.cell === undefined ? place.file : `Cell In[${place.cell}]`}:${place.line}`
}

export function placeText(place: Place): string {
  return place.cell === null || place.cell === undefined ? `${place.file}:${place.line}` : `Cell In[${place.cell}], line ${place.line}`
}

/** The end of a path that no other file of this page has. */
export const shortFile: (file: string) => string = (() => {
  const files = new Set<string>(Object.keys(data.sources))
  const see = (place: Place | null | undefined) => place && files.add(place.file)
  for (const item of [...data.passes, ...data.steps, ...data.graphs, ...(data.graph?.nodes ?? []), ...data.ledger]) see(item.place)
  for (const { built, freed, used, failed } of data.findings) [built, freed, used, failed].forEach(see)
  const ends = (file: string, words: number) => file.split('/').slice(-words).join('/')
  const short = new Map<string, string>()
  for (const file of files) {
    const most = file.split('/').length
    let words = 1
    while (words < most && [...files].some((other) => other !== file && ends(other, words) === ends(file, words))) words += 1
    short.set(file, ends(file, words))
  }
  return (file) => short.get(file) ?? file
})()

export function iterationText(iteration: number | number[] | null | undefined): string {
  if (iteration === null || iteration === undefined) return ''
  return Array.isArray(iteration) ? iteration.join(' › ') : String(iteration)
}

/** Moments in the order of events have no length: the pass or step next to them says when they are. */
const events = new Map<number, string>([
  ...data.steps.map((step) => [step.at, step.optimizer ? `${step.optimizer}.step()` : 'a step'] as const),
  ...data.passes.map((pass) => [pass.at, `pass ${count(pass.number)}`] as const),
])

export function moment(at: number, kind: 'order' | 'seconds'): string {
  if (kind === 'order') {
    const [near, far] = at % 1 > 0.5 ? [Math.ceil(at), Math.floor(at)] : [Math.floor(at), Math.ceil(at)]
    if (events.has(near)) return `${at < near ? 'before ' : at > near ? 'after ' : ''}${events.get(near)}`
    if (events.has(far)) return `${at < far ? 'before ' : 'after '}${events.get(far)}`
    return near <= 0 ? 'the beginning' : `event ${count(near)}`
  }
  const short = (value: number) => String(Number(value.toPrecision(value >= 100 ? 4 : 3)))
  return at === 0 || Math.abs(at) >= 1 ? `${short(at)} s` : `${short(at * 1000)} ms`
}

/** The iteration that a moment lies in, where iterations were seen. */
export function during(at: number): string {
  const band = bands.find((one) => at >= one.from && at < one.to)
  return band ? `iteration ${band.label}` : ''
}

export function shapeText(shape: number[]): string {
  return shape.length ? shape.join(' × ') : 'scalar'
}

/** AddmmBackward0 -> Addmm: the ending is the same everywhere and says nothing. */
export function opText(op: string): string {
  return op.replace(/Backward\d*$/, '') || op
}

/** Something that is worked out when it is first asked for. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => (made ??= { value: make() }).value
}
