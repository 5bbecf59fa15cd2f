import type { Page, Titles } from './markdown.ts'
import { escaped, relativeUrl } from './markdown.ts'
import type { Group } from './navigation.ts'
import { urlOf } from './navigation.ts'

/** The whole document of one page: navigation, search and contents work from every folder and without a server. */
export function documentOf(page: Page, groups: readonly Group[], titles: Titles): string {
  const to = (url: string) => relativeUrl(page.url, url)
  const entry = (source: string) => {
    const current = source === page.source ? ' aria-current="page"' : ''
    const title = source === 'README.md' ? 'Overview' : (titles.get(source) ?? source)
    return `<li><a href="${to(urlOf(source))}"${current}>${escaped(title)}</a></li>`
  }
  const isOpen = ({ title, sources }: Group) =>
    !['Numbers', 'More', 'Decisions'].includes(title) || sources.includes(page.source)
  const menu = groups
    .map(
      (group) =>
        `<details${isOpen(group) ? ' open' : ''}><summary>${group.title}</summary>` +
        `<ul>${group.sources.map(entry).join('')}</ul></details>`,
    )
    .join('\n')
  const contents = page.headings
    .filter(({ depth }) => depth === 2)
    .map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`)
    .join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(page.source === 'README.md' ? page.title : `${page.title} · perpscope`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('style.css')}">
<script defer src="${to('search.js')}" data-root="${to('index.html').replace(/index\.html$/, '')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="brand" href="${to('index.html')}">perpscope</a>
<search><input type="search" id="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off">
<ol id="results" hidden></ol></search>
</header>
<div class="columns">
<nav aria-label="Pages"><details class="menu"><summary>Pages</summary></details>
<div class="groups">
${menu}
</div></nav>
<main id="content">
${page.html}</main>
${contents === '' ? '' : `<aside aria-label="On this page"><p>On this page</p><ul>${contents}</ul></aside>`}
</div>
</body>
</html>
`
}
