// Colours that people with any colour vision can tell apart (Okabe and Ito), and those of the theme.
import { data } from './data'

export const OKABE = {
  orange: '#e69f00',
  sky: '#56b4e9',
  green: '#009e73',
  yellow: '#f0e442',
  blue: '#0072b2',
  vermillion: '#d55e00',
  purple: '#cc79a7',
}

/** Parts of a whole: neighbours differ in lightness as well as in hue. */
export const SERIES = [OKABE.blue, OKABE.orange, OKABE.green, OKABE.purple, OKABE.sky, OKABE.vermillion, OKABE.yellow]

const CAUSES = [OKABE.vermillion, OKABE.purple, OKABE.orange, OKABE.green, OKABE.sky, OKABE.yellow, OKABE.blue]

/** The causes of this page, in the order of its findings. */
export const causes: string[] = [
  ...new Set([
    ...data.findings.map((finding) => finding.code),
    ...data.graphs.flatMap((graph) => (graph.cause ? [graph.cause] : [])),
    ...data.reuses.flatMap((reuse) => (reuse.cause ? [reuse.cause] : [])),
  ]),
]

const byCause = new Map(causes.map((code, index) => [code, CAUSES[index % CAUSES.length]]))

export function causeColour(code: string | null): string | null {
  return code === null ? null : (byCause.get(code) ?? OKABE.vermillion)
}

export interface Ink {
  paper: string
  raised: string
  text: string
  muted: string
  faint: string
  line: string
  accent: string
  neutral: string
  neutralLine: string
  failed: string
  built: string
  freed: string
  lit: string
}

/** The theme's colours for a canvas, read from the style sheet: they are named in one place. */
export function ink(): Ink {
  const style = getComputedStyle(document.documentElement)
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim()
  return {
    paper: get('paper'),
    raised: get('raised'),
    text: get('text'),
    muted: get('muted'),
    faint: get('faint'),
    line: get('line'),
    accent: get('accent'),
    neutral: get('neutral'),
    neutralLine: get('neutral-line'),
    failed: get('used'),
    built: get('built'),
    freed: get('freed'),
    lit: get('lit'),
  }
}

export const SANS = '"Inter Variable", system-ui, sans-serif'
export const MONO = '"JetBrains Mono Variable", ui-monospace, monospace'
