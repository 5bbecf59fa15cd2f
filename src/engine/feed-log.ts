import type { Logger } from 'pino'
import type { SourceNotice } from '../streams/external/source.ts'
import type { FeedEvent } from '../streams/hyperliquid/ingest/feed-event.ts'

/** A notice of the same name is logged at most once per period, with the number of its occurrences. */
const LOG_PERIOD_MS = 60_000

type Entry = { count: number; loggedCount: number; loggedMs: number }

/** Of the venue, or of an external source. */
type Notice = FeedEvent | (SourceNotice & { readonly feed: 'outside' })

/** Counts the notices of all feeds by kind and reason, and bounds how often each is logged. */
export class FeedLog {
  readonly #log: Logger
  readonly #entries = new Map<string, Entry>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Since the start, by `kind` or `kind:reason`. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#entries].map(([name, { count }]) => [name, count]))
  }

  add(notice: Notice, nowMs: number): void {
    const name = nameOf(notice)
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = { count: 0, loggedCount: 0, loggedMs: Number.NEGATIVE_INFINITY }
      this.#entries.set(name, entry)
    }
    entry.count += 1
    // The absolute difference, because a clock that was set back must not suppress the log.
    if (Math.abs(nowMs - entry.loggedMs) < LOG_PERIOD_MS) return
    const isDetail = usual.has(notice.kind) || (entry.loggedCount > 0 && leftOut.has(notice.kind))
    const times = entry.count - entry.loggedCount
    entry.loggedCount = entry.count
    entry.loggedMs = nowMs
    this.#log[isDetail ? 'debug' : 'warn']({ ...notice, times }, 'feed')
  }
}

/** Reasons of the venue or of a library are free text, so they are not part of a name. */
function nameOf(notice: Notice): string {
  if ('source' in notice) return `${notice.source}:${notice.kind}`
  switch (notice.kind) {
    case 'value-dropped':
    case 'liquidation-dropped':
    case 'frame-rejected':
    case 'reconnect':
      return `${notice.kind}:${notice.reason}`
    case 'request-failed':
      return `${notice.kind}:${notice.request}`
    case 'coin-silent':
    case 'channel-silent':
      return `${notice.kind}:${notice.channel}`
    default:
      return notice.kind
  }
}

/** Normal operation: a repaired gap, a coin that an exchange does not list, a source without a key. Logged as detail. */
const usual: ReadonlySet<string> = new Set(['trades-bridged', 'product_refused', 'needs_key'])
/** Input that was left out without effect on an answer. Logged as a warning once, then as detail. */
const leftOut: ReadonlySet<string> = new Set([
  'value-dropped',
  'liquidation-dropped',
  'frame-rejected',
])
