import type { Logger } from 'pino'
import type { SourceNotice } from '../streams/external/source.ts'
import type { FeedEvent } from '../streams/hyperliquid/ingest/feed-event.ts'

/** A kind that goes on and on is logged again after so long, with how often it came meanwhile. */
const LOG_PERIOD_MS = 60_000

type Entry = { count: number; loggedCount: number; loggedMs: number }

/**
 * Counts what the feed has to say, by kind and reason, and logs each of these once and then at most
 * every minute: a venue that sends rubbish must not fill the disk. What does no harm is a warning once.
 */
export class NoticeBook {
  readonly #log: Logger
  readonly #entries = new Map<string, Entry>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Since the start, by `kind` or `kind:reason`. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#entries].map(([name, { count }]) => [name, count]))
  }

  take(notice: Notice, nowMs: number): void {
    const name = nameOf(notice)
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = { count: 0, loggedCount: 0, loggedMs: Number.NEGATIVE_INFINITY }
      this.#entries.set(name, entry)
    }
    entry.count += 1
    // A clock that was put back must not silence it.
    if (Math.abs(nowMs - entry.loggedMs) < LOG_PERIOD_MS) return
    const isQuiet = entry.loggedCount > 0 ? isDetail(notice) : isUsual(notice)
    const times = entry.count - entry.loggedCount
    entry.loggedCount = entry.count
    entry.loggedMs = nowMs
    this.#log[isQuiet ? 'debug' : 'warn']({ ...notice, times }, 'feed')
  }
}

/** Of the venue, or of a source beyond it. */
type Notice = FeedEvent | (SourceNotice & { readonly feed: 'outside' })

/** Reasons that come from the venue or from a library are free text: they do not make names. */
function nameOf(notice: Notice): string {
  if ('source' in notice) return `${notice.source}:${notice.kind}`
  switch (notice.kind) {
    case 'value-dropped':
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

/**
 * What the feed heals by itself, a coin that an exchange does not list, a source whose key was not given: they belong
 * to an ordinary day.
 */
const usual: ReadonlySet<string> = new Set(['trades-bridged', 'product_refused', 'needs_key'])
/** What the feed left out: no effect on an answer. */
const leftOut: ReadonlySet<string> = new Set(['value-dropped', 'frame-rejected'])

function isUsual({ kind }: Notice): boolean {
  return usual.has(kind)
}

function isDetail(notice: Notice): boolean {
  return isUsual(notice) || leftOut.has(notice.kind)
}
