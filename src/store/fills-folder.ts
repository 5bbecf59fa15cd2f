import { createReadStream, readdirSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { createGunzip } from 'node:zlib'
import { OperatingError } from '../domain/errors.ts'
import { dayStartMs } from '../domain/instant.ts'
import { shellWord } from '../domain/shell-word.ts'

/** The files with the fills of one hour: one, or several where two forms of the archive meet. */
export type FillsHour = { readonly startMs: number; readonly paths: readonly string[] }

const HOUR_MS = 3_600_000
/** `20260715/9.lz4`: day, hour of the day without a leading zero, ending. */
const PATH = /^(\d{4})(\d\d)(\d\d)$/
const NAME = /^(\d|[01]\d|2[0-3])((?:\.\w+)*)$/
const READABLE = /^(?:\.(?:json|jsonl|ndjson))?(?:\.gz)?$/
const CHUNK_BYTES = 1_024 ** 2
/** A block of the busiest hours has about a hundred fills, 50 kB. */
const LINE_CHARS_MAX = 64 * 1_024 ** 2

/**
 * The hourly files anywhere below a folder, by the names of the venue's archive: `<YYYYMMDD>/<hour>`, plain or gzipped.
 * Other files are ignored.
 * @returns ascending
 * @throws OperatingError without such files, and for a file that is compressed otherwise and nothing else of its hour
 */
export function fillsHours(dir: string): readonly FillsHour[] {
  const hours = new Map<number, string[]>()
  const unreadable = new Map<string, string>()
  const readable = new Set<string>()
  for (const path of filesBelow(resolve(dir))) {
    const [name = '', day = ''] = path.split(sep).reverse()
    const [, hour, ending = ''] = NAME.exec(name) ?? []
    const startMs = dayStartMs(day.replace(PATH, '$1-$2-$3'))
    if (hour === undefined || startMs === null) continue
    const place = join(path, '..', String(Number(hour)))
    if (!READABLE.test(ending)) {
      unreadable.set(place, path)
      continue
    }
    readable.add(place)
    const atMs = startMs + Number(hour) * HOUR_MS
    hours.set(atMs, [...(hours.get(atMs) ?? []), path])
  }
  // What was recompressed may lie next to its original.
  for (const [place, path] of unreadable) if (!readable.has(place)) throw compressed(path, dir)
  if (hours.size === 0)
    throw new OperatingError('fills_folder', `${dir} has no hourly fills such as 20260715/14.gz`)
  return Array.from(hours, ([startMs, paths]) => ({ startMs, paths: paths.sort() })).sort(
    (one, other) => one.startMs - other.startMs,
  )
}

/**
 * Lines of a file, plain or gzipped, as many at a time as a chunk of it holds.
 * @throws OperatingError `fills_damaged` after the last line before the damage, `fills_corrupt` if any line before may be
 * wrong, and `fills_file` if it cannot be read
 */
export async function* linesOf(path: string): AsyncGenerator<readonly string[]> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  const stream = path.endsWith('.gz') ? file.pipe(createGunzip({ chunkSize: CHUNK_BYTES })) : file
  file.on('error', (cause) => stream.destroy(cause))
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const bytes of stream as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LINE_CHARS_MAX)
        throw new OperatingError(
          'fills_damaged',
          `${path} has no end of a line in 64 Mi characters`,
        )
      yield lines
    }
  } catch (cause) {
    if (cause instanceof OperatingError) throw cause
    if (!isDamage(cause))
      throw new OperatingError('fills_file', `${path} cannot be read`, { cause })
    throw isTorn(cause)
      ? new OperatingError('fills_damaged', `${path} is a damaged gzip file`, { cause })
      : new OperatingError(
          'fills_corrupt',
          `${path} is a damaged gzip file, of which any line may be wrong`,
          { cause },
        )
  } finally {
    file.destroy()
  }
  if (rest !== '') yield [rest]
}

function filesBelow(dir: string): readonly string[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name))
  } catch (cause) {
    throw new OperatingError('fills_folder', `${dir} cannot be read`, { cause })
  }
}

function compressed(path: string, dir: string): OperatingError {
  const remedy = path.endsWith('.lz4')
    ? `LZ4 is not read: recompress the files with find ${shellWord(dir)} -name '*.lz4' ` +
      `-exec sh -c 'lz4 -dc "$1" | gzip -1 > "\${1%.lz4}.gz"' - {} ';'`
    : 'only plain and .gz files are read'
  return new OperatingError('fills_folder', `${path}: ${remedy}`)
}

/** The end is missing, or something else follows: the lines before it are as they were written. */
function isTorn({ code, message }: NodeJS.ErrnoException): boolean {
  return code === 'Z_BUF_ERROR' || message === 'incorrect header check'
}

/** An error of zlib. */
function isDamage(cause: unknown): cause is NodeJS.ErrnoException {
  return cause instanceof Error && 'code' in cause && String(cause.code).startsWith('Z_')
}
