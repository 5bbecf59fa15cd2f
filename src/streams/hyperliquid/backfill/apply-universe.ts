import type { Batch } from '../../../domain/event.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { dexOf } from '../wire/universe.ts'
import type { FeedParts } from './feed-parts.ts'
import { accepted } from './feed-parts.ts'

/** @returns the events to publish; none when the universe is the one that we have. */
export function applyUniverse(
  arrival: Parameters<Ingest['universeReply']>[0],
  feed: FeedParts,
): Batch {
  const { ingest, names, refresh, plan, runtime } = feed
  const nowMs = runtime.scheduler.now()
  const { dex } = arrival
  const { batch, isNew } = accepted(ingest.universeReply(arrival, nowMs))
  if (ingest.isContradicted(dex)) refresh.undecided(dex, nowMs)
  else refresh.answered(dex, isNew, nowMs)
  plan.note(batch)
  const told = ingest.universe.flatMap((listing) => listing?.coin ?? [])
  const isSurer = names.update(
    dex,
    told.filter((coin) => dexOf(coin) === dex),
  )
  if (names.hasUnconfirmed(dex)) refresh.demand(dex)
  if (!isNew && !isSurer) return batch
  followSure(feed)
  return batch
}

/** Ends everything about a dex that is not followed any more. @returns the events to publish */
export function dropDex(dex: string, feed: FeedParts): Batch {
  const { ingest, names, recalled, refresh, runtime } = feed
  refresh.drop(dex)
  names.drop(dex)
  for (const coin of recalled) if (dexOf(coin) === dex) recalled.delete(coin)
  const batch = ingest.dropDex(dex, runtime.scheduler.now())
  followSure(feed)
  return batch
}

function followSure(feed: FeedParts): void {
  const { ingest, names, onFeedEvent, plan } = feed
  const before = plan.leftOutCount
  plan.setUniverse(
    ingest.universe.map((listing) => (listing && names.isConfirmed(listing.coin) ? listing : null)),
  )
  const count = plan.leftOutCount
  if (count !== before) onFeedEvent({ kind: 'left-out', count })
  keepFollowed(feed)
  feed.reportDexes()
}

/** Forgets what was to be asked or tried of coins that are not followed any more. */
export function keepFollowed({ backfill, quarantine, plan, slow }: FeedParts): void {
  const isFollowed = (coin: string) => plan.follows(coin)
  for (const one of [backfill, quarantine, slow]) one.keep(isFollowed)
}
