import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { OperatingError } from '../../domain/errors.ts'

/** Data rows of a gzipped CSV file whose header is known, as text cells. */
export function* csvRows(path: string, header: readonly string[]): Generator<readonly string[]> {
  const text = csvText(path)
  let start = text.indexOf('\n') + 1
  const found = text.slice(0, start).trim().split(',')
  if (header.some((name, i) => found[i] !== name)) {
    throw new OperatingError('csv_header', `${path}: expected columns ${header.join(',')}`)
  }
  while (start > 0 && start < text.length) {
    const end = text.indexOf('\n', start)
    const line = end === -1 ? text.slice(start) : text.slice(start, end)
    if (line !== '') yield line.split(',')
    start = end === -1 ? text.length : end + 1
  }
}

export function csvText(path: string): string {
  try {
    return gunzipSync(readFileSync(path)).toString('utf8')
  } catch (cause) {
    throw new OperatingError('csv_unreadable', `cannot read ${path}`, { cause })
  }
}
