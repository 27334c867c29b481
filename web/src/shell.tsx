// What stands around the views: the program, the tabs, the search, the theme, the help.
import { type ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks'
import { data, trouble } from './data'
import { Empty } from './parts/text'
import { helping, hovered, matches, pinned, query, searching, switchTheme, theme, view, VIEWS, type View } from './state'
import { GraphView, words as graphWords } from './views/graph'
import { words as ledgerWords, Ledger } from './views/ledger'
import { words as lifeWords, Life } from './views/life'
import { words as memoryWords, Memory } from './views/memory'
import { words as storyWords, Story } from './views/story'

const TITLES: Record<View, string> = { story: 'Story', life: 'Life', memory: 'Memory', graph: 'Graph', ledger: 'Ledger' }
const WORDS: Record<View, () => string[]> = { story: storyWords, life: lifeWords, memory: memoryWords, graph: graphWords, ledger: ledgerWords }

export function Shell() {
  useEffect(() => {
    addEventListener('keydown', shortcut)
    return () => removeEventListener('keydown', shortcut)
  }, [])
  if (trouble) {
    return (
      <main>
        <Empty title="Nothing to show">{trouble}</Empty>
      </main>
    )
  }
  const now = view.value
  return (
    <>
      <header class="top">
        <Program />
        <Tabs />
        <Search />
        <div class="switches">
          <button type="button" class="icon" onClick={switchTheme} aria-label={`Switch to ${theme.value === 'dark' ? 'light' : 'dark'}`} title="Light or dark (t)">
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
              <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
            </svg>
          </button>
          <button type="button" class="icon" onClick={() => (helping.value = true)} aria-label="Keys" title="Keys (?)">
            ?
          </button>
        </div>
      </header>
      {pinned.value && (
        <p class="pin">
          Lit everywhere: <code>{pinned.value}</code>
          <button type="button" class="quiet" onClick={() => (pinned.value = null)}>
            Clear <kbd>Esc</kbd>
          </button>
        </p>
      )}
      <main>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${now}`}>
          <Guarded key={now}>
            {now === 'story' && <Story />}
            {now === 'life' && <Life />}
            {now === 'memory' && <Memory />}
            {now === 'graph' && <GraphView />}
            {now === 'ledger' && <Ledger />}
          </Guarded>
        </div>
      </main>
      <Help />
    </>
  )
}

/** A view that fails says so, and leaves the others alone. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary()
  if (!error) return <>{children}</>
  return <Empty title="This view could not be drawn">{error instanceof Error ? error.message : String(error)}. The other views may be well.</Empty>
}

function Program() {
  const { file, args, status, error, rank, torch, device } = data.program
  const command = [file, ...(args ?? [])].join(' ')
  const facts = [torch && `torch ${torch}`, device, rank === null || rank === undefined ? null : `rank ${rank}`].filter(Boolean).join(' · ')
  return (
    <div class="program" title={`${command}${facts ? `\n${facts}` : ''}\nsecondpass ${data.tool.version}`}>
      <span class={`light ${error || status ? 'bad' : data.findings.length ? 'warned' : 'good'}`} aria-hidden="true" />
      <h1>{command || 'secondpass'}</h1>
      <span class="muted facts">{[error || status ? 'failed' : '', facts].filter(Boolean).join(' · ')}</span>
    </div>
  )
}

function Tabs() {
  const row = useRef<HTMLDivElement>(null)
  const key = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const end = { Home: 0, End: VIEWS.length - 1 }[event.key]
    if (by === undefined && end === undefined) return
    event.preventDefault()
    const index = end ?? (VIEWS.indexOf(view.value) + by! + VIEWS.length) % VIEWS.length
    view.value = VIEWS[index]
    ;(row.current?.children[index] as HTMLElement).focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label="Views" ref={row} onKeyDown={key}>
      {VIEWS.map((name) => {
        const hits = searching.value ? WORDS[name]().reduce((sum, words) => sum + (matches(words) ? 1 : 0), 0) : 0
        return (
          <button
            type="button"
            key={name}
            id={`tab-${name}`}
            role="tab"
            aria-selected={view.value === name}
            aria-controls="view"
            tabIndex={view.value === name ? 0 : -1}
            onClick={() => (view.value = name)}
          >
            {TITLES[name]}
            {searching.value && <span class={`hits${hits ? '' : ' none'}`}>{hits > 999 ? '999+' : hits}</span>}
          </button>
        )
      })}
    </div>
  )
}

function Search() {
  return (
    <div class="search" role="search">
      <input
        id="search"
        type="search"
        placeholder="Search"
        aria-label="Search names, places, modules and operations in every view"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => (query.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') focusView() // to what was found
          if (event.key !== 'Escape') return
          event.stopPropagation()
          if (query.value) query.value = ''
          else event.currentTarget.blur()
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </div>
  )
}

const KEYS: [string, string][] = [
  ['1 – 5', 'Story, Life, Memory, Graph, Ledger'],
  ['/', 'search in every view'],
  ['t', 'light or dark'],
  ['Esc', 'forget the search and what is lit'],
  ['← →', 'in Life and Memory: from one to the next; with Shift: pan'],
  ['+ − 0', 'zoom in, out, all (wheel and drag do the same)'],
  ['n', 'in Life: the next reuse'],
  ['p', 'in Memory: the peak'],
  ['arrows', 'in Graph: from box to box; in Ledger: from row to row'],
  ['Enter', 'in Graph: open the box; in Life: keep its place lit'],
  ['Backspace', 'in Graph: close the group again'],
  ['o', 'in Graph: back to the overview'],
  ['?', 'this list'],
]

function Help() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (helping.value) dialog.current?.showModal()
    else dialog.current?.close()
  }, [helping.value])
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={() => (helping.value = false)} onClick={(event) => event.target === dialog.current && (helping.value = false)}>
      <h2 id="keys">Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  )
}

function focusView(): void {
  document.querySelector<HTMLElement>('#view canvas, #view .table, #view .place')?.focus()
}

function shortcut(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || helping.value) return
  const target = event.target as HTMLElement
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return
  const number = Number(event.key)
  if (number >= 1 && number <= VIEWS.length) {
    view.value = VIEWS[number - 1]
    requestAnimationFrame(focusView) // its keys work at once
  } else if (event.key === '/') document.getElementById('search')?.focus()
  else if (event.key === '?') helping.value = true
  else if (event.key === 't') switchTheme()
  else if (event.key === 'Escape') {
    query.value = ''
    pinned.value = null
    hovered.value = null
  } else return
  event.preventDefault()
}
