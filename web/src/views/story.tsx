// Story: what was found, in sentences, with the source, the three places, the passes and the remedy.
import { useState } from 'preact/hooks'
import { bridges, data, stretches, type Evidence, type Finding, type Place, type Remedy, type Sample } from '../data'
import { bytes, capital, count, iterationText, keyOf, many, once, placeText } from '../format'
import { causeColour } from '../palette'
import { Diff, Source, type Mark } from '../parts/source'
import { Empty, lightOn, PlaceLink, Prose } from '../parts/text'
import { chosen, lit, matches, searching, view } from '../state'

const ROLES = ['built', 'freed', 'used'] as const
const WORDS = { built: 'built', freed: 'freed', used: 'needed again' }
const wordOf = (finding: Finding, role: (typeof ROLES)[number]) => finding.words?.[role] ?? WORDS[role]

export const words = once(() =>
  data.findings.map((finding) =>
  [
    finding.code,
    finding.cause,
    finding.message,
    finding.carrier?.name ?? '',
    ...[finding.built, finding.freed, finding.used, finding.failed].map((place) => (place ? placeText(place) : '')),
    ...finding.remedies.map((remedy) => `${remedy.kind} ${remedy.title} ${remedy.diff}`),
  ]
    .join(' ')
    .toLowerCase(),
  ),
)

export function Story() {
  const shown = data.findings.map((finding, index) => [finding, index] as const).filter(([, index]) => matches(words()[index]))
  const left = leftAtEnd()
  return (
    <div class="story">
      <Summary />
      {data.passes.length > 0 && data.notes.map((note, index) => (
        <p key={index} class="remark">
          <Prose text={note} />
        </p>
      ))}
      {data.findings.length === 0 && <Exception />}
      {data.findings.length === 0 && (
        <Empty title="Nothing to report">
          {data.passes.length
            ? `Every pass that was seen had a graph of its own${left ? '.' : ', and every graph was freed in time.'}`
            : 'No backward pass was seen: the program ended before its first one, or nothing was watched.'}
          {left && (
            <>
              {' '}
              When last looked at, {bytes(left.bytes)} of saved tensors were still there after a pass
              {left.holder && (
                <>
                  , most of it held by <code>{left.holder}</code>
                </>
              )}
              :{' '}
              <button type="button" class="quiet" onClick={() => (view.value = 'memory')}>
                see Memory
              </button>
            </>
          )}
        </Empty>
      )}
      {searching.value && shown.length === 0 && data.findings.length > 0 && <Empty title="No finding has these words" />}
      {shown.length > 2 && <Index shown={shown} />}
      {shown.map(([finding, index]) => (
        <Card key={index} finding={finding} index={index} />
      ))}
      {data.findings.length > 0 && <Exception />}
    </div>
  )
}

/** What the program itself ended with: below the findings, for it names neither the cause nor the repair. */
function Exception() {
  if (!data.program.error) return null
  return (
    <section class="exception">
      <h3>The error that ended the program</h3>
      <p>{data.program.error}</p>
    </section>
  )
}

/** Many findings: one line each, to go there. */
function Index({ shown }: { shown: (readonly [Finding, number])[] }) {
  return (
    <ol class="index" aria-label="Findings">
      {shown.map(([finding, index]) => (
        <li key={index}>
          <span class="dot" style={{ background: causeColour(finding.code) ?? '' }} />
          <button type="button" class="quiet" onClick={() => document.getElementById(`finding-${index}`)?.scrollIntoView()}>
            <span class="code">{finding.code}</span> <Prose text={finding.message} />
          </button>
        </li>
      ))}
    </ol>
  )
}

/** In Life, what this finding is about: the pass that came back, or the graph that stayed. */
function showLife(code: string): void {
  const reuse = data.reuses.find((one) => one.cause === code)
  const graph = data.graphs.find((one) => one.cause === code)
  if (reuse) chosen.value = { kind: 'pass', id: reuse.pass }
  else if (graph) chosen.value = { kind: 'graph', id: graph.id }
  view.value = 'life'
}

function Summary() {
  const peak = data.memory.reduce((most, sample) => Math.max(most, sample.bytes), 0)
  const alive = data.graphs.filter((graph) => graph.freed === null && !graph.held_by).length
  const growing = data.graphs.filter((graph) => graph.held_by).length
  const failed = data.passes.filter((pass) => pass.outcome === 'failed').length
  const facts: [string, string][] = [
    [String(data.findings.length), data.findings.length === 1 ? 'finding' : 'findings'],
    [count(data.counts.passes), `${data.counts.passes === 1 ? 'pass' : 'passes'}${failed ? `, ${count(failed)} failed` : ''}`],
    [count(data.counts.steps), data.counts.steps === 1 ? 'optimizer step' : 'optimizer steps'],
  ]
  if (alive || !growing) facts.push([count(alive), alive === 1 ? 'graph alive at the end' : 'graphs alive at the end'])
  if (growing) facts.push([count(growing), growing === 1 ? 'container that collects history' : 'containers that collect history'])
  if (peak) facts.push([bytes(peak), 'saved at the peak'])
  return (
    <dl class="summary">
      {facts.map(([value, label]) => (
        <div key={label}>
          <dd>{value}</dd>
          <dt>{label}</dt>
        </div>
      ))}
      <Spark />
    </dl>
  )
}

/** What was still saved after the last pass that was looked at, where that is more than after the first, and its largest holder. */
function leftAtEnd(): { bytes: number; holder: string } | null {
  const after = data.memory.filter((sample) => sample.at % 1 < 0.5 && sample.at > 1)
  const last = after.at(-1)
  if (!last || last.bytes <= after[0].bytes) return null
  const holders = new Map<string, number>()
  for (const [name, value] of Object.entries(last.holder ?? {})) {
    const root = name.replace(/[[.].*$/, '')
    holders.set(root, (holders.get(root) ?? 0) + value)
  }
  const [holder, value] = [...holders].sort((a, b) => b[1] - a[1])[0] ?? ['', 0]
  return { bytes: last.bytes, holder: value * 2 > last.bytes && !holder.startsWith('(') ? holder : '' }
}

/** What a finding keeps that no pass can need, at the moment when most was saved. */
function uselessOf({ code, carrier }: Finding): { holder: string; value: number; of: number } | null {
  const most = data.memory.reduce<Sample | null>((top, sample) => (top && top.bytes >= sample.bytes ? top : sample), null)
  const value = most?.useless?.[code] ?? 0
  // What is collected in one place goes together, as Python counted it.
  const holder = code.startsWith('SP4') ? carrier?.name?.replace(/[[.].*$/, '') : carrier?.name
  return most && value && holder ? { holder, value, of: most.bytes } : null
}

/** Memory at a glance: does it grow? */
function Spark() {
  const samples = data.memory
  if (samples.length < 6) return null
  const from = samples[0].at
  const size = samples[samples.length - 1].at - from || 1
  const most = samples.reduce((top, sample) => Math.max(top, sample.bytes), 1)
  const every = Math.max(1, Math.floor(samples.length / 400))
  const x = (sample: Sample) => (((sample.at - from) / size) * 190).toFixed(1)
  const y = (sample: Sample) => (43 - (sample.bytes / most) * 41).toFixed(1)
  const pieces = stretches(samples).map(([first, last]) => samples.slice(first, last + 1).filter((_, index, piece) => index % every === 0 || index === piece.length - 1))
  return (
    <button type="button" class="spark" title="Saved bytes over time" aria-label="Saved bytes over time: open Memory" onClick={() => (view.value = 'memory')}>
      <svg viewBox="0 0 190 44" aria-hidden="true">
        {bridges(samples).map(([a, b], index) => (
          <line key={`-${index}`} x1={x(a)} y1={y(a)} x2={x(b)} y2={y(b)} stroke="currentColor" stroke-dasharray="2 3" opacity="0.7" />
        ))}
        {pieces.map((piece, index) => {
          const points = piece.map((sample) => `${x(sample)},${y(sample)}`).join(' ')
          return (
            <g key={index}>
              <polyline points={`${x(piece[0])},43 ${points} ${x(piece[piece.length - 1])},43`} fill="currentColor" opacity="0.14" />
              <polyline points={points} fill="none" stroke="currentColor" stroke-width="1.5" />
            </g>
          )
        })}
      </svg>
    </button>
  )
}

function Card({ finding, index }: { finding: Finding; index: number }) {
  const marks = marksOf(finding)
  const timeline = finding.evidence.filter((item) => item.what === 'pass' || item.what === 'step')
  const other = finding.evidence.filter((item) => !timeline.includes(item))
  const [first, ...rest] = finding.remedies
  const steps = ROLES.filter((role) => finding[role])
  const useless = uselessOf(finding)
  return (
    <article class="finding" id={`finding-${index}`} aria-labelledby={`title-${index}`}>
      <header>
        <p class="eyebrow">
          <span class="dot" style={{ background: causeColour(finding.code) ?? '' }} />
          <span class="code">{finding.code}</span> {finding.cause}
          <span class={`badge ${finding.severity}`}>{finding.severity}</span>
        </p>
        <h2 id={`title-${index}`}>
          <Prose text={finding.message} />
        </h2>
      </header>

      {steps.length > 0 && <ol class="places">
        {steps.map((role) => (
          <PlaceStep key={role} role={role} label={capital(wordOf(finding, role))} place={finding[role]!} finding={finding} />
        ))}
      </ol>}

      <div class="columns">
        <section>
          <h3>Where</h3>
          <Source marks={marks} />
          {timeline.length > 0 && <Passes items={timeline} />}
          {(other.length > 0 || useless) && (
            <ul class="evidence">
              {useless && (
                <li>
                  <code>{useless.holder}</code> holds <strong>{bytes(useless.value)}</strong>, of {bytes(useless.of)} saved at the peak, that no
                  pass can need any more:{' '}
                  <button type="button" class="quiet" onClick={() => (view.value = 'memory')}>
                    see Memory
                  </button>
                </li>
              )}
              {other.map((item, at) => (
                <li key={at} {...lightOn(item.place)}>
                  <Prose text={String(item.text)} /> {item.place && <PlaceLink place={item.place} />}
                </li>
              ))}
            </ul>
          )}
        </section>
        <section>
          <h3>What to change</h3>
          {first ? <RemedyCard remedy={first} /> : <p class="muted">No change is proposed: what to do depends on what was meant.</p>}
          {rest.length > 0 && (
            <details>
              <summary>{many(rest.length, 'other way', 'other ways')}</summary>
              {rest.map((remedy, at) => (
                <RemedyCard key={at} remedy={remedy} />
              ))}
            </details>
          )}
          {finding.label && (
            <details>
              <summary>As the terminal showed it</summary>
              <pre class="terminal" tabIndex={0}>
                {finding.label}
              </pre>
            </details>
          )}
        </section>
      </div>
      <p class="more">
        {data.graphs.length > 0 && (
          <button type="button" class="quiet" onClick={() => showLife(finding.code)}>
            See it in Life
          </button>
        )}
        {data.graph && (
          <button type="button" class="quiet" onClick={() => (view.value = 'graph')}>
            See the graph
          </button>
        )}
        <span class="muted">
          <code>secondpass explain {finding.cause}</code>
        </span>
      </p>
    </article>
  )
}

function iterationOf(finding: Finding, role: string): string {
  const value = finding.facts?.[`${role}_iteration`]
  const text = iterationText(value as number | number[] | null | undefined)
  return text ? `in iteration ${text}` : ''
}

function marksOf(finding: Finding): Mark[] {
  const marks: Mark[] = []
  for (const role of ROLES) {
    const place = finding[role]
    if (place) marks.push({ role, place, note: `${wordOf(finding, role)} ${iterationOf(finding, role)}`.trim() })
  }
  const failed = finding.failed
  if (failed && !marks.some((mark) => keyOf(mark.place) === keyOf(failed))) {
    marks.push({ role: 'failed', place: failed, note: marks.length || finding.severity === 'error' ? 'failed' : 'here' })
  }
  return marks
}

function PlaceStep(props: { role: string; label: string; place: Place; finding: Finding }) {
  const { role, label, place, finding } = props
  const whole = data.sources[place.file]?.split('\n')[place.line - 1]?.trim()
  // Of several statements on one line, the one that is meant.
  const outcome = role === 'freed' ? 'freed' : 'failed'
  const pass = finding.evidence.find((item) => item.what === 'pass' && item.label === outcome && item.place && keyOf(item.place) === keyOf(place))
  const line = role !== 'built' && pass && whole?.includes(pass.text) ? pass.text : whole
  return (
    <li class={`${role}${lit.value === keyOf(place) ? ' lit' : ''}`} {...lightOn(place)}>
      <span class="what">
        {label} <span class="muted">{iterationOf(finding, role)}</span>
      </span>
      {line && <code class="statement">{line}</code>}
      <PlaceLink place={place} />
    </li>
  )
}

function Passes({ items }: { items: Evidence[] }) {
  let before = ''
  return (
    <table class="passes">
      <caption>Passes and steps, in order</caption>
      <tbody>
        {items.map((item, index) => {
          const iteration = iterationText(item.iteration)
          const again = iteration === before || !iteration
          if (iteration) before = iteration
          return (
            <tr key={index} class={`${item.label ?? ''}${item.place && lit.value === keyOf(item.place) ? ' lit' : ''}`} {...lightOn(item.place)}>
              <td class="muted">{again ? '' : `iteration ${iteration}`}</td>
              <td>
                <code>{item.text}</code>
              </td>
              <td>{item.place && <PlaceLink place={item.place}>line {item.place.line}</PlaceLink>}</td>
              <td>{item.label && <span class={`outcome ${item.label}`}>{item.label}</span>}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function RemedyCard({ remedy }: { remedy: Remedy }) {
  return (
    <div class="remedy">
      <h4>
        <Prose text={capital(remedy.title)} />
      </h4>
      <p class="badges">
        <span class={`badge ${remedy.safe ? 'safe' : 'unsafe'}`} title={remedy.safe ? 'It cannot change what a right program computes' : 'Right only if it is what you mean'}>
          {remedy.safe ? 'safe' : 'your call'}
        </span>
        {remedy.proof && (
          <span class={`badge ${remedy.proof.status.replace(' ', '-')}`} title={remedy.proof.detail ?? ''}>
            {remedy.proof.status}
          </span>
        )}
        <span class="muted">{remedy.kind}</span>
      </p>
      {remedy.why && (
        <p>
          <Prose text={remedy.why} />
        </p>
      )}
      {remedy.diff && (
        <>
          <Diff text={remedy.diff} />
          <CopyButton text={remedy.diff} />
        </>
      )}
      {remedy.proof?.detail && <p class="muted small">{remedy.proof.detail}</p>}
    </div>
  )
}

function CopyButton({ text }: { text: string }) {
  const [done, setDone] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setDone('Copied')
    } catch {
      setDone('Your browser does not allow it here')
    }
    setTimeout(() => setDone(''), 2000)
  }
  return (
    <button type="button" class="quiet copy" onClick={copy}>
      {done || 'Copy the patch'}
    </button>
  )
}
