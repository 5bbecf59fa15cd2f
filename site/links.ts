import { posix } from 'node:path'
import type { Page } from './markdown.ts'

/** Links of the site that lead nowhere: to a page, a file or a heading that does not exist. */
export function deadLinks(pages: readonly Page[], files: ReadonlySet<string>): readonly string[] {
  const anchors = new Map(
    pages.map(({ url, headings }) => [url, new Set(headings.map(({ id }) => id))]),
  )
  return pages.flatMap(({ source, url, html }) =>
    Array.from(html.matchAll(/ (?:href|src|srcset)="([^"]*)"/g), ([, target = '']) => target)
      .filter((target) => !/^https?:\/\//.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#')
        const file = path === '' ? url : posix.join(posix.dirname(url), path)
        if (anchor === undefined) return !anchors.has(file) && !files.has(file)
        return !anchors.get(file)?.has(anchor)
      })
      .map((target) => `${source}: ${target}`),
  )
}
