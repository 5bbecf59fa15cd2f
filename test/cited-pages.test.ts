import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const texts = globSync(
  ['*.{md,ts}', '.ci/*', '{src,test,bench,examples,docs,tools}/**/*.{md,ts,mjs,sh}'],
  { cwd: ROOT, exclude: (name) => name.includes('node_modules') },
)
const pages = globSync(['*.md', '{src,test,bench,docs,tools}/**/*.md'], {
  cwd: ROOT,
  exclude: (name) => name.includes('node_modules'),
})

test('a page that is cited is one that the reader has', () => {
  const [paths, names] = [new Set(pages), new Set(pages.map((page) => basename(page)))]
  const lacking = texts.flatMap((text) =>
    // Addresses on the web are not ours to check.
    Array.from(readFileSync(join(ROOT, text), 'utf8').matchAll(/(?<![\w/.:-])[\w./-]+\.md\b/g))
      .map(([cited]) => cited)
      .filter((cited) => {
        if (!cited.includes('/')) return !names.has(cited)
        return !paths.has(cited) && !paths.has(join(dirname(text), cited))
      })
      .map((cited) => `${text}: ${cited}`),
  )
  expect(texts.length, 'texts were read').toBeGreaterThan(1_000)
  expect(lacking).toEqual([])
})
