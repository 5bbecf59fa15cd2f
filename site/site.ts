import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import type { Page } from './markdown.ts'
import { renderPage, titleOf } from './markdown.ts'
import { navigation } from './navigation.ts'
import { searchOptions } from './search-options.ts'
import { documentOf } from './template.ts'

export type Site = {
  readonly pages: readonly Page[]
  /** Whole documents by their URL within the site. */
  readonly documents: ReadonlyMap<string, string>
  readonly pictures: readonly string[]
  /** JSON of the index over all sections. */
  readonly searchIndex: string
}

const OUTSIDE_DOCS = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  'bench/BENCHMARKS.md',
]

/** Reads the Markdown of the repository: the pages have no other source. */
export function renderSite(root: string): Site {
  const files = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const sources = [
    ...OUTSIDE_DOCS,
    ...files.filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`),
  ]
  const texts = new Map(sources.map((source) => [source, readFileSync(join(root, source), 'utf8')]))
  const titles = new Map(Array.from(texts, ([source, text]) => [source, titleOf(text)]))
  const pages = Array.from(texts, ([source, text]) => renderPage(source, text, titles))
  const groups = navigation(new Set(sources))
  const search = new MiniSearch(searchOptions)
  search.addAll(
    pages.flatMap(({ url, title: page, sections }) =>
      sections.map(({ id, title, text }) => {
        const address = id === '' ? url : `${url}#${id}`
        return { id: address, title, page, text }
      }),
    ),
  )
  return {
    pages,
    documents: new Map(pages.map((page) => [page.url, documentOf(page, groups, titles)])),
    pictures: files.filter((file) => file.startsWith('pictures/') && file.endsWith('.png')),
    searchIndex: JSON.stringify(search),
  }
}
