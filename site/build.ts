/** Writes the documentation as a site to `site/dist`. `npm run site`; a dead link fails it. */
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { deadLinks } from './links.ts'
import { renderSite } from './site.ts'

const ROOT = join(import.meta.dirname, '..')
const OUT = join(import.meta.dirname, 'dist')

const { pages, documents, pictures, searchIndex } = renderSite(ROOT)
const dead = deadLinks(pages, new Set(pictures))
if (dead.length > 0) throw new Error(`dead links:\n${dead.join('\n')}`)

rmSync(OUT, { recursive: true, force: true })
for (const [url, html] of documents) {
  mkdirSync(join(OUT, dirname(url)), { recursive: true })
  writeFileSync(join(OUT, url), html)
}
cpSync(join(ROOT, 'docs/pictures'), join(OUT, 'pictures'), { recursive: true })
copyFileSync(join(import.meta.dirname, 'style.css'), join(OUT, 'style.css'))
writeFileSync(join(OUT, 'search-index.js'), `globalThis.searchIndex=${searchIndex}`)
await build({
  entryPoints: [join(import.meta.dirname, 'browser/search.ts')],
  outfile: join(OUT, 'search.js'),
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  logLevel: 'warning',
})
process.stdout.write(`${documents.size} pages in site/dist\n`)
