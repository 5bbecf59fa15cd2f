import { Buffer } from 'node:buffer'
import type { ConsoleFile } from '../console/console-page.ts'
import { ConsolePage } from '../console/console-page.ts'

/** A console with a page and one hashed file; its compressed forms are only marked as such. */
export function consolePage(): ConsolePage {
  return new ConsolePage({
    page: file('page.html', 'text/html; charset=utf-8', '<!doctype html><title>perpscope</title>'),
    others: [file('main-ABCDEFGH.js', 'text/javascript; charset=utf-8', 'export {}')],
  })
}

function file(name: string, mediaType: string, text: string): ConsoleFile {
  // Long enough to be sent compressed.
  const bytes = Buffer.from(text.padEnd(2_000))
  return {
    name,
    mediaType,
    bytes: () => bytes,
    coded: { br: Buffer.from('br'), gzip: Buffer.from('gzip') },
  }
}
