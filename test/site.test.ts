import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { describe, expect, test } from 'vitest'
import { deadLinks } from '../site/links.ts'
import { renderPage } from '../site/markdown.ts'
import { searchOptions } from '../site/search-options.ts'
import { renderSite } from '../site/site.ts'

const ROOT = join(import.meta.dirname, '..')
const site = renderSite(ROOT)

describe('the site of the documentation', () => {
  test('has no dead link, to a page, a heading or a picture', () => {
    expect(site.pages.length).toBeGreaterThan(60)
    expect(deadLinks(site.pages, new Set(site.pictures))).toEqual([])
  })

  test('leads from every page to every other one', () => {
    for (const { url } of site.pages)
      expect(site.documents.get(url)?.match(/aria-current="page"/g), url).toHaveLength(1)
    const links = site.documents.get('index.html')?.matchAll(/<li><a href="([^"#]+)"/g) ?? []
    const reached = Array.from(links, ([, target = '']) => target)
    expect(reached.toSorted()).toEqual(site.pages.map(({ url }) => url).toSorted())
  })

  test('has every page in a group that names it', () => {
    expect(site.documents.get('index.html')).not.toContain('<summary>More<')
  })

  test('finds a section by its words', () => {
    const index = MiniSearch.loadJSON(site.searchIndex, searchOptions)
    expect(index.search('backup restore')[0]?.id).toBe('operating.html#backup-and-restore')
    expect(index.search('trusted proxy').length).toBeGreaterThan(0)
  })
})

/** Not a literal: a page that is cited anywhere has to exist. */
const ABSENT = ['absent', 'md'].join('.')

describe('a dead link', () => {
  const titles = new Map([
    ['README.md', 'Start'],
    ['docs/growth.md', 'Growth'],
  ])
  const found = (text: string) => {
    const pages = [
      renderPage('README.md', `# Start\n\n${text.replace('ABSENT', ABSENT)}`, titles),
      renderPage('docs/growth.md', '# Growth\n\n## Two words', titles),
    ]
    return deadLinks(pages, new Set())
  }

  test.each([
    '[a](docs/growth.md)',
    '[a](docs/growth.md#two-words)',
    '`docs/growth.md`',
    '`docs/ABSENT`',
    '[here](#start)',
    '[elsewhere](https://example.com/b.md)',
  ])('%s is none', (text) => expect(found(text)).toEqual([]))

  test.each([
    '[b](docs/ABSENT)',
    '[a](docs/growth.md#two)',
    '[here](#stop)',
    '![b](docs/pictures/b.png)',
  ])('%s is one', (text) => expect(found(text)).toHaveLength(1))
})

describe('workflows', () => {
  test.each(['ci', 'release'])('%s pins every action by its commit', (name) => {
    const text = readFileSync(join(ROOT, `.github/workflows/${name}.yml`), 'utf8')
    const uses = Array.from(text.matchAll(/uses: (.*)/g), ([, used = '']) => used)
    expect(uses.length).toBeGreaterThan(1)
    for (const used of uses) expect(used).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    expect(text).not.toMatch(/secrets\./)
  })
})
