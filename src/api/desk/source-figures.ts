import type { SourceFigures } from '../../domain/desk-reports.ts'
import { sourceIds } from '../../domain/external.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { DataHealth } from '../../link/message.ts'

const external: ReadonlySet<string> = new Set(sourceIds)

/** A lost connection, by the names of the notices of the feeds. */
const RECONNECTS = new Set(['reconnect', 'stream_ended'])
/** Missing or late data on a connection that works, or requests that failed. */
const GAPS = new Set([
  ...['coin-silent', 'channel-silent', 'request-failed', 'unacknowledged', 'paused'],
  ...['node_failed', 'request_failed', 'request_refused', 'catalogue_failed', 'discovery_failed'],
])

/** The venue feeds first, then the external sources, as the last heartbeat of the engine has them. */
export function sourceFigures(
  engine: Pick<EngineReader, 'feeds' | 'sources' | 'counts'>,
  nowMs: number,
): readonly SourceFigures[] {
  const counts = Object.entries(engine.counts())
  const sources = engine.sources()
  const figures = (
    source: string,
    health: DataHealth<string>,
    isOwn: (name: string) => boolean,
  ) => {
    const notices = counts.filter(([name]) => isOwn(name))
    return {
      source,
      state: health.state,
      reason: health.reason,
      sinceMs: health.sinceMs,
      lagMs: health.newestMs === undefined ? null : Math.max(0, nowMs - health.newestMs),
      reconnects: sumOf(notices, RECONNECTS),
      gaps: sumOf(notices, GAPS),
      notices: Object.fromEntries(notices),
    }
  }
  return [
    // A notice of the venue has no source in its name: `kind`, or `kind:reason`.
    ...engine
      .feeds()
      .map((feed) => figures(feed.feed, feed, (name) => !external.has(prefixOf(name)))),
    ...sources.map((one) => figures(one.source, one, (name) => prefixOf(name) === one.source)),
  ]
}

function prefixOf(name: string): string {
  return name.split(':')[0] ?? name
}

/** `<source>:<kind>` for a source, `<kind>` or `<kind>:<reason>` for the venue. */
function sumOf(
  notices: readonly (readonly [string, number])[],
  kinds: ReadonlySet<string>,
): number {
  return notices
    .filter(([name]) => name.split(':').some((part) => kinds.has(part)))
    .reduce((sum, [, count]) => sum + count, 0)
}
