// The reader's own code: highlighted, with marks on the lines that a finding is about.
import { classHighlighter, highlightCode } from '@lezer/highlight'
import { parser } from '@lezer/python'
import { useState } from 'preact/hooks'
import { data, type Place } from '../data'
import { keyOf } from '../format'
import { hovered, lit, pinned } from '../state'

type Token = [text: string, classes: string]

const seen = new Map<string, Token[][]>()

/** The lines of a file as coloured words. Read once; a file that is no Python is text. */
export function highlighted(text: string): Token[][] {
  let lines = seen.get(text)
  if (!lines) {
    lines = [[]]
    try {
      highlightCode(
        text,
        parser.parse(text),
        classHighlighter,
        (word, classes) => lines!.at(-1)!.push([word, classes]),
        () => lines!.push([]),
      )
    } catch {
      lines = text.split('\n').map((line) => [[line, ''] as Token])
    }
    seen.set(text, lines)
  }
  return lines
}

export function Code({ line }: { line: Token[] }) {
  return <>{line.map(([text, classes], index) => (classes ? <span key={index} class={classes}>{text}</span> : text))}</>
}

export interface Mark {
  role: 'built' | 'freed' | 'used' | 'failed'
  place: Place
  note: string
}

const AROUND = 2
/** As many characters as an excerpt shows without scrolling. */
const WIDE = 84

/** Excerpts of the files that have marks: the marked lines and what stands around them. */
export function Source({ marks }: { marks: Mark[] }) {
  const files = new Map<string, Mark[]>()
  for (const mark of marks) {
    const key = keyOf(mark.place)!.replace(/:\d+$/, '')
    files.set(key, [...(files.get(key) ?? []), mark])
  }
  return (
    <>
      {[...files].map(([name, list]) => (
        <File key={name} name={name} marks={list} />
      ))}
    </>
  )
}

function File({ name, marks }: { name: string; marks: Mark[] }) {
  const [all, setAll] = useState(false)
  const text = data.sources[name] ?? data.sources[marks[0].place.file]
  if (text === undefined) {
    return (
      <figure class="source">
        <figcaption>{name}</figcaption>
        <p class="muted pad">Its source is not in this page. Lines: {[...new Set(marks.map((mark) => mark.place.line))].join(', ')}.</p>
      </figure>
    )
  }
  const lines = highlighted(text)
  const wanted = new Set<number>()
  for (const mark of marks) {
    for (let n = mark.place.line - AROUND; n <= mark.place.line + AROUND; n++) if (n >= 1 && n <= lines.length) wanted.add(n)
  }
  const shown = all ? lines.map((_, index) => index + 1) : [...wanted].sort((a, b) => a - b)
  const rows = []
  let before = shown[0] - 1
  for (const number of shown) {
    if (number === before + 2) rows.push(<Line key={number - 1} name={name} number={number - 1} tokens={lines[number - 2]} marks={[]} />)
    else if (number !== before + 1) rows.push(<div key={`gap${number}`} class="gap" aria-hidden="true" />)
    rows.push(
      <Line
        key={number}
        name={name}
        number={number}
        tokens={lines[number - 1]}
        marks={marks.filter((mark) => mark.place.line === number)}
      />,
    )
    before = number
  }
  return (
    <figure class="source">
      <figcaption>
        <span>{name}</span>
        {lines.length > wanted.size && (
          <button type="button" class="quiet" onClick={() => setAll(!all)}>
            {all ? 'Excerpt' : 'Whole file'}
          </button>
        )}
      </figcaption>
      <div class="lines" tabIndex={0} role="region" aria-label={`Source of ${name}`}>
        <div class="sheet">{rows}</div>
      </div>
    </figure>
  )
}

function Line({ name, number, tokens, marks }: { name: string; number: number; tokens: Token[]; marks: Mark[] }) {
  const key = `${name}:${number}`
  const role = marks.at(-1)?.role
  // Notes beside a long line would lie on top of it.
  const size = tokens.reduce((sum, [text]) => sum + text.length, 0) + marks.reduce((sum, mark) => sum + mark.note.length + 4, 0)
  return (
    <div
      class={`line${role ? ` ${role}` : ''}${size > WIDE ? ' long' : ''}${lit.value === key ? ' lit' : ''}`}
      data-line={number}
      onMouseEnter={() => (hovered.value = key)}
      onMouseLeave={() => (hovered.value = null)}
      onClick={() => {
        if (getSelection()?.isCollapsed !== false) pinned.value = pinned.value === key ? null : key
      }}
    >
      <span class="number">{number}</span>
      <code>
        <Code line={tokens} />
        {'\n'}
      </code>
      {marks.length > 0 && (
        <span class="notes">
          {marks.map((mark, index) => (
            <span key={index} class={`note ${mark.role}`}>
              {mark.note}
            </span>
          ))}
        </span>
      )}
    </div>
  )
}

/** A unified diff, coloured as the code around it. */
export function Diff({ text }: { text: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  const rows = []
  let oldLine = 0
  let newLine = 0
  let file = ''
  let inside = false
  for (const [index, line] of lines.entries()) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line)
    if (hunk) {
      oldLine = Number(hunk[1])
      newLine = Number(hunk[2])
      if (inside) rows.push(<div key={index} class="gap" aria-hidden="true" />)
      inside = true
      continue
    }
    if (!inside || line.startsWith('--- ') || line.startsWith('+++ ')) {
      const named = /^\+\+\+ (?:b\/)?(.*)$/.exec(line)
      if (named) {
        file = named[1]
        inside = false
        rows.push(
          <div key={index} class="filename">
            {file}
          </div>,
        )
      }
      continue
    }
    const sign = line[0] ?? ' '
    const kind = sign === '+' ? 'added' : sign === '-' ? 'removed' : ''
    const number = sign === '-' ? oldLine++ : newLine++
    if (sign === ' ') oldLine++
    const tokens = highlighted(line.slice(1))[0]
    rows.push(
      <div key={index} class={`line ${kind}`}>
        <span class="number">{number}</span>
        <span class="sign" aria-label={kind}>
          {sign}
        </span>
        <code>
          <Code line={tokens} />
          {'\n'}
        </code>
      </div>,
    )
  }
  if (!rows.length) return <pre class="terminal">{text}</pre>
  return (
    <figure class="source diff">
      <div class="lines" tabIndex={0} role="region" aria-label="The change as a diff">
        <div class="sheet">{rows}</div>
      </div>
    </figure>
  )
}
