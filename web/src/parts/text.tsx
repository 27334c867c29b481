// Words, places and small marks. Everything that comes from the data becomes a text node: nothing is ever parsed as HTML.
import { type ComponentChildren } from 'preact'
import { type Place } from '../data'
import { keyOf, placeText, shortFile } from '../format'
import { hovered, lit, pinned } from '../state'

/** A sentence whose `names` are set as code. */
export function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>
}

export function lightOn(place: Place | null | undefined) {
  const key = keyOf(place)
  return {
    onMouseEnter: () => (hovered.value = key),
    onMouseLeave: () => (hovered.value = null),
    onFocus: () => (hovered.value = key),
    onBlur: () => (hovered.value = null),
  }
}

/** A place that lights up wherever it is shown; a click keeps it lit. */
export function PlaceLink({ place, children }: { place: Place | null; children?: ComponentChildren }) {
  if (!place) return <span class="muted">–</span>
  const key = keyOf(place)
  return (
    <button
      type="button"
      class={`place${lit.value === key ? ' lit' : ''}`}
      aria-pressed={pinned.value === key}
      title={place.function ? `${placeText(place)} in ${place.function}` : placeText(place)}
      onClick={() => (pinned.value = pinned.value === key ? null : key)}
      {...lightOn(place)}
    >
      {children ?? (
        <>
          <span class="file">{place.cell === null || place.cell === undefined ? shortFile(place.file) : `Cell In[${place.cell}]`}</span>
          <span>:{place.line}</span>
        </>
      )}
    </button>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  )
}

export interface Choice<T extends string> {
  value: T
  label: string
}

/** A row of buttons of which one is on. */
export function Segments<T extends string>(props: { label: string; choices: Choice<T>[]; value: T; onChange: (value: T) => void }) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.choices.map((choice) => (
        <button
          type="button"
          key={choice.value}
          aria-pressed={choice.value === props.value}
          onClick={() => props.onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  )
}

export function Swatch({ colour, hollow }: { colour: string; hollow?: boolean }) {
  return <span class="swatch" style={hollow ? { borderColor: colour } : { background: colour, borderColor: colour }} />
}
