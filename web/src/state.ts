// What the reader has chosen. Every view reads it, so that a place or a word lights up everywhere.
import { computed, effect, signal } from '@preact/signals'
import { moments } from './data'

export const VIEWS = ['story', 'life', 'memory', 'graph', 'ledger'] as const
export type View = (typeof VIEWS)[number]

const asked = location.hash.slice(1) as View
export const view = signal<View>(VIEWS.includes(asked) ? asked : 'story')

/** The place under the pointer or the focus, and the one that was clicked: `file:line`. */
export const hovered = signal<string | null>(null)
export const pinned = signal<string | null>(null)
export const lit = computed(() => hovered.value ?? pinned.value)

export const query = signal('')
const words = computed(() => query.value.toLowerCase().split(/\s+/).filter(Boolean))
/** Does the text hold every word of the search? */
export function matches(lowered: string): boolean {
  return words.value.every((word) => lowered.includes(word))
}
export const searching = computed(() => words.value.length > 0)

/** The part of the time axis that Life and Memory show. */
export const span = signal<[number, number]>(moments)

/** What Life has selected. */
export const chosen = signal<{ kind: 'graph' | 'pass' | 'step'; id: number } | null>(null)

export const helping = signal(false)

export type Theme = 'light' | 'dark'
const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const system = signal<Theme>(prefersDark.matches ? 'dark' : 'light')
prefersDark.addEventListener('change', (event) => (system.value = event.matches ? 'dark' : 'light'))
const wished = signal<Theme | null>(null)
const paper = signal(false)
addEventListener('beforeprint', () => (paper.value = true))
addEventListener('afterprint', () => (paper.value = false))
export const printing = paper
/** Paper is white, whatever the screen is. */
export const theme = computed<Theme>(() => (paper.value ? 'light' : (wished.value ?? system.value)))
export function switchTheme(): void {
  wished.value = theme.value === 'dark' ? 'light' : 'dark'
}
effect(() => {
  document.documentElement.dataset.theme = theme.value
})

effect(() => {
  document.documentElement.dataset.view = view.value
  const hash = `#${view.value}`
  // Not in the history: the way back leads out of the page, not through its tabs.
  if (location.hash !== hash) history.replaceState(null, '', hash)
})
addEventListener('hashchange', () => {
  const wanted = location.hash.slice(1) as View
  if (VIEWS.includes(wanted)) view.value = wanted
})
