import type { LogEntry } from '../domain/desk-reports.ts'

const ENTRIES_MAX = 100
const MESSAGE_CHARS_MAX = 300
const DETAILS_CHARS_MAX = 1_000

const LEVELS: ReadonlyMap<unknown, LogEntry['level']> = new Map([
  [40, 'warn'],
  [50, 'error'],
  [60, 'fatal'],
])
/** pino writes the level first. Other lines are not parsed. */
const IS_WARNING = /^\{"level":[456]0,/

/** The last warnings and errors of the log of this process, engine included, cut to bounds and without secrets. */
export class RecentWarnings {
  readonly #entries: LogEntry[] = []
  readonly #secrets: readonly string[]

  /** @param secrets the error of a library can contain the URL that it was given */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  /** Receives every line of the log. */
  readonly add = (line: string): void => {
    if (!isWarning(line)) return
    const { level, time, name, msg, pid: _pid, hostname: _host, ...rest } = JSON.parse(line)
    this.#entries.push({
      timeMs: Number(time),
      level: LEVELS.get(level) ?? 'error',
      part: String(name ?? ''),
      message: this.#cut(String(msg ?? ''), MESSAGE_CHARS_MAX),
      details:
        Object.keys(rest).length === 0 ? '' : this.#cut(JSON.stringify(rest), DETAILS_CHARS_MAX),
    })
    if (this.#entries.length > ENTRIES_MAX) this.#entries.shift()
  }

  newest(): readonly LogEntry[] {
    return this.#entries.toReversed()
  }

  #cut(text: string, charsMax: number): string {
    let shown = text
    for (const secret of this.#secrets) shown = shown.replaceAll(secret, '…')
    return shown.length <= charsMax ? shown : `${shown.slice(0, charsMax)}…`
  }
}

export function isWarning(line: string): boolean {
  return IS_WARNING.test(line)
}
