// Ledger: every saved tensor in a table, to sort, group, filter and search. Only the rows on the screen exist.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { bridges, data, passById, type Row } from '../data'
import { bytes, iterationText, keyOf, many, once, opText, placeText, shapeText } from '../format'
import { Empty, lightOn, PlaceLink, Segments } from '../parts/text'
import { hovered, lit, matches, printing, query, searching } from '../state'

const ROW = 30
const PRINTED = 500

const rows = data.ledger
export const words = once(() =>
  rows.map((row) =>
  [
    row.op,
    row.slot,
    row.module ?? '',
    row.place ? placeText(row.place) : '',
    row.holder ?? '',
    row.kind,
    row.state,
    row.dtype,
    row.device,
    row.region ?? '',
    shapeText(row.shape),
  ]
    .join(' ')
    .toLowerCase(),
  ),
)
const sampled = bridges(data.memory).length > 0
const largest = rows.reduce((most, row) => Math.max(most, row.bytes), 1)

interface Column {
  id: string
  label: string
  /** Its part of the width, in units. */
  wide: number
  number?: boolean
  key: (row: Row) => string | number
  cell: (row: Row) => preact.ComponentChildren
}

const freedText = (row: Row) => {
  if (row.state !== 'freed') return row.state
  const pass = row.freed_by === null ? undefined : passById.get(row.freed_by)
  // What lives elsewhere is not freed: the graph no longer refers to it.
  const gone = row.kind === 'saved' ? 'freed' : 'released'
  return pass ? `${gone} by pass ${pass.number}` : 'dropped'
}

const COLUMNS: Column[] = [
  { id: 'bytes', label: 'Bytes', wide: 9, number: true, key: (row) => row.bytes, cell: (row) => <Amount value={row.bytes} most={largest} /> },
  { id: 'kind', label: 'Kind', wide: 7, key: (row) => row.kind, cell: (row) => row.kind },
  {
    id: 'op',
    label: 'Operation',
    wide: 14,
    key: (row) => `${row.op} ${row.slot}`,
    cell: (row) => (
      <>
        {opText(row.op)} <span class="muted">{row.slot?.replace(/^_saved_/, '')}</span>
      </>
    ),
  },
  {
    id: 'shape',
    label: 'Shape',
    wide: 16,
    key: (row) => row.shape.reduce((product, size) => product * size, 1),
    cell: (row) => (
      <>
        {shapeText(row.shape)} <span class="muted">{row.dtype}</span>
      </>
    ),
  },
  { id: 'module', label: 'Module', wide: 12, key: (row) => row.module ?? '', cell: (row) => row.module ?? <span class="muted">–</span> },
  {
    id: 'line',
    label: 'Line',
    wide: 14,
    key: (row) => (row.place ? `${row.place.file}:${String(row.place.line).padStart(7, '0')}` : ''),
    cell: (row) => <PlaceLink place={row.place} />,
  },
  {
    id: 'iteration',
    label: 'Iteration',
    wide: 7.5,
    number: true,
    key: (row) => row.iteration?.[0] ?? -1,
    cell: (row) => iterationText(row.iteration) || <span class="muted">–</span>,
  },
  {
    id: 'state',
    label: 'State',
    wide: 12,
    key: freedText,
    cell: (row) => (
      <>
        <span class={`state ${row.state}`}>{freedText(row)}</span>
        {row.region && <span class="muted"> {row.region}</span>}
      </>
    ),
  },
  {
    id: 'holder',
    label: 'Held by',
    wide: 16,
    key: (row) => row.holder ?? '',
    cell: (row) => (row.holder ? <code title={row.holder}>{row.holder}</code> : <span class="muted">–</span>),
  },
]

function Amount({ value, most }: { value: number; most: number }) {
  return (
    <span class="amount">
      <span class="bar" style={{ width: `${Math.max(1, (value / most) * 100)}%` }} />
      <span>{bytes(value)}</span>
    </span>
  )
}

type Grouping = 'none' | 'line' | 'module' | 'op' | 'iteration' | 'holder'
const GROUPINGS: Record<Exclude<Grouping, 'none'>, (row: Row) => string> = {
  line: (row) => (row.place ? placeText(row.place) : ''),
  module: (row) => row.module ?? '',
  op: (row) => row.op,
  iteration: (row) => iterationText(row.iteration),
  // What is collected in one place goes together.
  holder: (row) => row.holder?.replace(/\[(\d+|\.\.\.)\]$/, '') ?? '',
}
const UNKNOWN: Record<Exclude<Grouping, 'none'>, string> = {
  line: 'unknown line',
  module: 'outside of modules',
  op: 'unknown',
  iteration: 'no iteration',
  holder: 'held by nothing of yours',
}

interface Bundle {
  name: string
  bytes: number
  alive: number
  count: number
}

export function Ledger() {
  if (!rows.length) {
    return (
      <Empty title="No saved tensors were listed">
        The ledger is kept by <code>secondpass see {data.program.file || 'train.py'}</code> and by <code>secondpass.ledger(loss)</code>.
      </Empty>
    )
  }
  return <Table />
}

function Table() {
  const [sort, setSort] = useState<{ id: string; down: boolean }>({ id: 'bytes', down: true })
  const [kind, setKind] = useState('')
  const [state, setState] = useState('')
  const [grouping, setGrouping] = useState<Grouping>('none')
  // Parameters and inputs live on without the graph: they are listed, and count only where they were asked for.
  const counted = (row: Row) => (kind || row.kind === 'saved' ? row.bytes : 0)
  const [only, setOnly] = useState<{ by: Exclude<Grouping, 'none'>; name: string } | null>(null)
  const kinds = useMemo(() => [...new Set(rows.map((row) => row.kind))].sort(), [])

  const shown = useMemo(() => {
    const list: Row[] = []
    const texts = searching.value ? words() : null
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index]
      if (kind && row.kind !== kind) continue
      if (state && row.state !== state) continue
      if (only && GROUPINGS[only.by](row) !== only.name) continue
      if (!texts || matches(texts[index])) list.push(row)
    }
    return list
  }, [kind, state, only, query.value])
  const sorted = useMemo(() => {
    const column = COLUMNS.find((one) => one.id === sort.id) ?? COLUMNS[0]
    return [...shown].sort((a, b) => compare(column.key(a), column.key(b)) * (sort.down ? -1 : 1))
  }, [shown, sort])
  const bundles = useMemo<Bundle[]>(() => {
    if (grouping === 'none') return []
    const made = new Map<string, Bundle>()
    for (const row of shown) {
      const name = GROUPINGS[grouping](row)
      const bundle = made.get(name) ?? { name, bytes: 0, alive: 0, count: 0 }
      bundle.bytes += counted(row)
      bundle.count += 1
      if (row.state === 'alive') bundle.alive += counted(row)
      made.set(name, bundle)
    }
    return [...made.values()].sort((a, b) => b.bytes - a.bytes)
  }, [shown, grouping, kind])
  const total = shown.reduce((sum, row) => sum + counted(row), 0)
  const alive = shown.reduce((sum, row) => sum + (row.state === 'alive' ? counted(row) : 0), 0)
  const turn = (id: string) => setSort(sort.id === id ? { id, down: !sort.down } : { id, down: COLUMNS.find((one) => one.id === id)?.number ?? false })

  return (
    <div class="ledger">
      <div class="tools">
        <Segments<Grouping>
          label="Group by"
          choices={[
            { value: 'none', label: 'Tensors' },
            { value: 'line', label: 'Lines' },
            { value: 'module', label: 'Modules' },
            { value: 'op', label: 'Operations' },
            { value: 'iteration', label: 'Iterations' },
            { value: 'holder', label: 'Holders' },
          ]}
          value={grouping}
          onChange={setGrouping}
        />
        <label class="choice">
          Kind
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="">all</option>
            {kinds.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label class="choice">
          State
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="">all</option>
            <option value="alive">alive</option>
            <option value="freed">freed</option>
          </select>
        </label>
        {only && (
          <button type="button" class="chip" onClick={() => setOnly(null)} aria-label={`Show all again, not only ${only.name || UNKNOWN[only.by]}`}>
            {only.name || UNKNOWN[only.by]} ×
          </button>
        )}
        <p class="total" role="status">
          {many(shown.length, 'tensor')} · <strong>{bytes(total)}</strong> {kind || 'saved'} {sampled ? 'where looked at' : 'in all'} · {bytes(alive)} alive {sampled ? 'when last seen' : 'at the end'}
        </p>
      </div>
      {grouping === 'none' ? (
        <Rows rows={sorted} sort={sort} turn={turn} />
      ) : (
        <Bundles
          bundles={bundles}
          grouping={grouping}
          choose={(name) => {
            setOnly({ by: grouping, name })
            setGrouping('none')
          }}
        />
      )}
    </div>
  )
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0
}

function Rows({ rows, sort, turn }: { rows: Row[]; sort: { id: string; down: boolean }; turn: (id: string) => void }) {
  const scroller = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [cursor, setCursor] = useState(0)
  useEffect(() => {
    const box = scroller.current!
    const observer = new ResizeObserver(() => setHeight(box.clientHeight))
    observer.observe(box)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    setCursor(0)
    scroller.current!.scrollTop = 0
  }, [rows])
  const from = printing.value ? 0 : Math.max(0, Math.floor(top / ROW) - 6)
  const to = printing.value ? Math.min(rows.length, PRINTED) : Math.min(rows.length, from + Math.ceil(Math.min(height, innerHeight) / ROW) + 14)

  const go = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setCursor(next)
    const box = scroller.current!
    const y = next * ROW
    if (y < box.scrollTop) box.scrollTop = y
    else if (y + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * ROW - box.clientHeight
    hovered.value = keyOf(rows[next]?.place)
  }
  const key = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return
    const page = Math.max(1, Math.floor(height / ROW) - 2)
    const jumps: Record<string, number> = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + page,
      PageUp: cursor - page,
      Home: 0,
      End: rows.length - 1,
    }
    if (!(event.key in jumps) || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    go(jumps[event.key])
  }
  // Paper does not scroll.
  const template = COLUMNS.map((column) => `minmax(${printing.value ? 0 : column.wide * 0.5}rem, ${column.wide}fr)`).join(' ')
  return (
    <div
      class="table"
      ref={scroller}
      tabIndex={0}
      role="grid"
      aria-label="Saved tensors"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={`row-${cursor}`}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={key}
      onBlur={() => (hovered.value = null)}
    >
      <div class="head" role="row" style={{ gridTemplateColumns: template }}>
        {COLUMNS.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            class={column.number ? 'right' : ''}
            aria-sort={sort.id === column.id ? (sort.down ? 'descending' : 'ascending') : 'none'}
          >
            <button type="button" onClick={() => turn(column.id)}>
              {column.label}
              <span class="arrow" aria-hidden="true">
                {sort.id === column.id ? (sort.down ? ' ↓' : ' ↑') : ''}
              </span>
            </button>
          </div>
        ))}
      </div>
      <div class="body" style={{ height: printing.value ? 'auto' : `${rows.length * ROW}px`, paddingTop: `${from * ROW}px` }}>
        {rows.slice(from, to).map((row, offset) => {
          const index = from + offset
          const bright = lit.value !== null && keyOf(row.place) === lit.value
          return (
            <div
              key={index}
              id={`row-${index}`}
              role="row"
              aria-rowindex={index + 2}
              class={`row ${row.state}${index === cursor ? ' cursor' : ''}${bright ? ' lit' : ''}`}
              style={{ gridTemplateColumns: template }}
              onClick={() => go(index)}
              {...lightOn(row.place)}
            >
              {COLUMNS.map((column) => (
                <span key={column.id} role="gridcell" class={column.number ? 'right' : ''}>
                  {column.cell(row)}
                </span>
              ))}
            </div>
          )
        })}
      </div>
      {rows.length === 0 && <p class="muted pad">No saved tensor fits.</p>}
      {printing.value && rows.length > PRINTED && <p>… and {many(rows.length - PRINTED, 'row')} more, which are not printed.</p>}
    </div>
  )
}

function Bundles(props: { bundles: Bundle[]; grouping: Exclude<Grouping, 'none'>; choose: (name: string) => void }) {
  const most = props.bundles[0]?.bytes ?? 1
  const list = props.bundles.slice(0, 1000)
  return (
    <div class="table bundles" tabIndex={0} role="region" aria-label={`Saved bytes by ${props.grouping}`}>
      <table>
        <thead>
          <tr>
            <th class="right">Bytes</th>
            <th class="right">Alive</th>
            <th class="right">Tensors</th>
            <th>{{ line: 'Line', module: 'Module', op: 'Operation', iteration: 'Iteration', holder: 'Held by' }[props.grouping]}</th>
          </tr>
        </thead>
        <tbody>
          {list.map((bundle) => (
            <tr
              key={bundle.name}
              class={props.grouping === 'line' && lit.value === bundle.name ? 'lit' : ''}
              onMouseEnter={() => props.grouping === 'line' && (hovered.value = bundle.name)}
              onMouseLeave={() => (hovered.value = null)}
            >
              <td class="right">
                <Amount value={bundle.bytes} most={most} />
              </td>
              <td class="right">{bytes(bundle.alive)}</td>
              <td class="right">{bundle.count.toLocaleString('en-US')}</td>
              <td>
                <button type="button" class="quiet" onClick={() => props.choose(bundle.name)}>
                  {bundle.name || UNKNOWN[props.grouping]}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {props.bundles.length > list.length && <p class="muted pad">… and {many(props.bundles.length - list.length, 'more')}: search to narrow them down.</p>}
    </div>
  )
}
