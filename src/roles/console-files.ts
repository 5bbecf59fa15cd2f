import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { ConsoleFile } from '../api/console/console-page.ts'
import { ConsolePage } from '../api/console/console-page.ts'

/** `build.ts` writes it. */
const FOLDER = new URL('../../dist/console/', import.meta.url)
const PAGE = 'page.html'
/** The package has the compressed files alone. */
const COMPRESSED = '.br'

const mediaTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

let kept: ConsolePage | null = null

/** The console's page and files, which both servers share; null in a checkout that is not built. */
export function readConsolePage(): ConsolePage | null {
  kept ??= readPage()
  return kept
}

function readPage(): ConsolePage | null {
  if (!existsSync(new URL(PAGE + COMPRESSED, FOLDER))) return null
  const names = readdirSync(FOLDER).map((name) => name.slice(0, -COMPRESSED.length))
  const read = (name: string): ConsoleFile => {
    const br = readFileSync(new URL(name + COMPRESSED, FOLDER))
    const mediaType = mediaTypes[name.split('.').at(-1) ?? '']
    if (mediaType === undefined) throw new TypeError(`${name} has no known type`)
    return { name, mediaType, bytes: () => brotliDecompressSync(br), coded: { br } }
  }
  return new ConsolePage({
    page: read(PAGE),
    others: names.filter((name) => name !== PAGE).map(read),
  })
}
