import './style.css'
import { render } from 'preact'
import { data } from './data'
import { Shell } from './shell'

document.title = `${data.program.file || 'secondpass'} · secondpass`

// Pictures measure their words: the fonts, which are in the page, come first; but nobody waits for them.
const fonts = ['500 12px "Inter Variable"', '500 12px "JetBrains Mono Variable"'].map((font) => document.fonts.load(font))
const patience = new Promise((resolve) => setTimeout(resolve, 300))
void Promise.race([Promise.all(fonts), patience])
  .catch(() => {})
  .then(() => {
    const app = document.getElementById('app')!
    app.replaceChildren()
    render(<Shell />, app)
  })
