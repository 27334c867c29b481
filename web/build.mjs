// Builds ../src/secondpass/see/page.html: scripts, styles and fonts in one file that asks nobody for anything.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const target = resolve(here, '../src/secondpass/see/page.html')
const MARKER = '<!--data-->'
const LIMIT = 1_000_000

const result = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.tsx'],
  outdir: 'out', // nothing is written there: the two files are taken from memory
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  charset: 'ascii', // the page reads the same whatever encoding a host serves it with
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  legalComments: 'none', // the notices stand at the end of the page
  loader: { '.woff2': 'dataurl' },
  define: { 'process.env.NODE_ENV': '"production"' },
})
const output = (extension) => result.outputFiles.find((file) => file.path.endsWith(extension)).text
const script = output('.js').trim()
const style = output('.css').trim()
if (/<\/(script|style)/i.test(script + style)) throw new Error('the bundle would end its own tag')

// Only this very script runs, whatever else ends up in the page, and nothing can be loaded or sent.
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
const policy = [
  `default-src 'none'`,
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  `font-src data:`,
  `img-src data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
].join('; ')

const page = readFileSync(join(here, 'src/page.html'), 'utf8')
  .replace('%POLICY%', () => policy)
  .replace('%SOURCES%', () => sources())
  .replace('%STYLE%', () => style)
  .replace('%SCRIPT%', () => script)
  .replace('%NOTICES%', () => notices(result.metafile))
if (page.split(MARKER).length !== 2) throw new Error(`${MARKER} must stand in the page exactly once`)
if (Buffer.byteLength(page) >= LIMIT) throw new Error(`the page has ${Buffer.byteLength(page)} bytes: more than ${LIMIT}`)
writeFileSync(target, page)
console.log(`${relative(process.cwd(), target)}: ${(Buffer.byteLength(page) / 1000).toFixed(0)} kB`)

// What the page was made from: a test compares it with the files, so that a built page cannot be forgotten.
function sources() {
  const digest = createHash('sha256')
  const files = ['package-lock.json', 'build.mjs', ...readdirSync(join(here, 'src'), { recursive: true }).map((name) => `src/${name}`)]
  for (const name of files.map((file) => file.replaceAll('\\', '/')).sort()) {
    const path = join(here, name)
    if (!/\.\w+$/.test(name)) continue // a folder
    digest.update(name).update('\0').update(readFileSync(path)).update('\0')
  }
  return digest.digest('hex')
}

// The licences of what is inside, as they ask for.
function notices(metafile) {
  const packages = new Set()
  for (const input of Object.keys(metafile.inputs)) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
    if (found) packages.add(found[1])
  }
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join(here, 'node_modules', name)
      const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((leaf) => join(folder, leaf)).find(existsSync)
      if (!file) throw new Error(`${name} has no licence file`)
      return `${name} ${about.version} (${about.license})\n\n${readFileSync(file, 'utf8').trim()}\n`
    })
    .join('\n----\n\n')
    .replaceAll('--', '- -') // the end of a comment
}
