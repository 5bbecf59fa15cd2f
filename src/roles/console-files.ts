import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { ConsoleFile } from '../api/console/console-page.ts'
import { ConsolePage } from '../api/console/console-page.ts'

/** `build.ts` writes it. */
const FOLDER = new URL('../../dist/console/', import.meta.url)
const PAGE = 'page.html'
const CODINGS = { br: '.br', gzip: '.gz' } as const

const mediaTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The console's page and files; null in a checkout that is not built. */
export function readConsolePage(): ConsolePage | null {
  if (!existsSync(new URL(PAGE, FOLDER))) return null
  const names = readdirSync(FOLDER).filter((name) => !/\.(br|gz|map)$/.test(name))
  const read = (name: string): ConsoleFile => ({
    name,
    mediaType: mediaTypes[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    bytes: readFileSync(new URL(name, FOLDER)),
    coded: {
      br: readFileSync(new URL(name + CODINGS.br, FOLDER)),
      gzip: readFileSync(new URL(name + CODINGS.gzip, FOLDER)),
    },
  })
  return new ConsolePage({
    page: read(PAGE),
    others: names.filter((name) => name !== PAGE).map(read),
  })
}
