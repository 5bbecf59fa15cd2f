import { posix } from 'node:path'
import GithubSlugger from 'github-slugger'
import { Marked } from 'marked'
import { urlOf } from './navigation.ts'

/** A heading with the text below it, down to the next heading. `id` is empty for the title of a page. */
type Section = { readonly id: string; readonly title: string; readonly text: string }

export type Page = {
  /** Path in the repository. */
  readonly source: string
  readonly url: string
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
  readonly headings: readonly {
    readonly id: string
    readonly title: string
    readonly depth: number
  }[]
}

/** Titles of all pages by their source. */
export type Titles = ReadonlyMap<string, string>

export function titleOf(markdown: string): string {
  return /^# (.*)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? ''
}

/**
 * Renders one page. A link to a Markdown file becomes a link to its page. A page that is cited by its path in code marks,
 * because the same text is read in an editor, becomes a link with its title.
 */
export function renderPage(source: string, markdown: string, titles: Titles): Page {
  const slugger = new GithubSlugger()
  const url = urlOf(source)
  const headings: { id: string; title: string; depth: number }[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        const title = plain(html)
        const id = slugger.slug(title)
        headings.push({ id, title, depth })
        if (depth === 1) return `<h1 id="${id}">${html}</h1>\n`
        return `<h${depth} id="${id}"><a href="#${id}">${html}</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escaped(linked(href, source, titles))}">${this.parser.parseInline(tokens)}</a>`
      },
      codespan({ text }) {
        const cited = citedPage(text, source, titles)
        if (cited === null) return `<code>${escaped(text)}</code>`
        return `<a href="${relativeUrl(url, urlOf(cited))}">${escaped(titles.get(cited) ?? text)}</a>`
      },
      code({ text, lang }) {
        return `<pre tabindex="0"><code data-language="${escaped(lang ?? 'text')}">${escaped(text)}\n</code></pre>\n`
      },
      table(token) {
        const cells = (row: typeof token.header, tag: string) =>
          row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>\n`).join('')
        return (
          `<div class="table" tabindex="0"><table>\n<thead><tr>${cells(token.header, 'th')}</tr></thead>\n` +
          `<tbody>\n${rows}</tbody>\n</table></div>\n`
        )
      },
      html({ text }) {
        return text.replace(/(src|srcset)="docs\//g, '$1="')
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  return {
    source,
    url,
    title: titleOf(markdown),
    html,
    headings,
    sections: sectionsOf(html),
  }
}

export function relativeUrl(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to)
}

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function linked(href: string, source: string, titles: Titles): string {
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(source), path)
  if (!titles.has(target) || path === '') return href
  return relativeUrl(urlOf(source), urlOf(target)) + (anchor === undefined ? '' : `#${anchor}`)
}

function citedPage(text: string, source: string, titles: Titles): string | null {
  if (!/^[\w./-]+\.md$/.test(text)) return null
  const candidates = [text, posix.join(posix.dirname(source), text), `docs/${text}`]
  const cited = candidates.find((candidate) => titles.has(candidate)) ?? null
  return cited === source ? null : cited
}

function sectionsOf(html: string): readonly Section[] {
  return html.split(/(?=<h[1-6] id=")/).flatMap((part) => {
    const heading = /^<h(\d) id="([^"]*)">(.*?)<\/h\d>/.exec(part)
    if (heading === null) return []
    const [whole, depth = '', id = '', title = ''] = heading
    return {
      id: depth === '1' ? '' : id,
      title: plain(title),
      text: plain(part.slice(whole.length)),
    }
  })
}

function plain(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
}
