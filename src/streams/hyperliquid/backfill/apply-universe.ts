import type { Batch } from '../../../domain/event.ts'
import type { ArrivalOf } from '../ingest/arrival.ts'
import { dexOf } from '../wire/universe.ts'
import type { FeedParts } from './feed-parts.ts'
import { accepted } from './feed-parts.ts'

/** Applies a universe reply to ingest, confirmed symbols and subscriptions. @returns the events; none without a change */
export function applyUniverse(arrival: ArrivalOf<'universe'>, feed: FeedParts): Batch {
  const { ingest, names, refresh, plan, runtime } = feed
  const nowMs = runtime.scheduler.now()
  const { dex } = arrival
  const { batch, isNew } = accepted(ingest.process(arrival, nowMs))
  if (ingest.isContradicted(dex)) refresh.undecided(dex, nowMs)
  else refresh.answered(dex, isNew, nowMs)
  plan.note(batch)
  const listed = ingest.universe.flatMap((listing) => listing?.coin ?? [])
  const hasConfirmed = names.update(
    dex,
    listed.filter((coin) => dexOf(coin) === dex),
  )
  if (names.hasUnconfirmed(dex)) refresh.demand(dex)
  if (!isNew && !hasConfirmed) return batch
  followConfirmed(feed)
  return batch
}

/** Removes a dex that is no longer followed. @returns the events */
export function dropDex(dex: string, feed: FeedParts): Batch {
  const { ingest, names, loaded, refresh, runtime } = feed
  refresh.drop(dex)
  names.drop(dex)
  for (const coin of loaded) if (dexOf(coin) === dex) loaded.delete(coin)
  const { batch } = ingest.process({ kind: 'dex-dropped', dex }, runtime.scheduler.now())
  followConfirmed(feed)
  return batch
}

function followConfirmed(feed: FeedParts): void {
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

/** Removes pending work of coins that are no longer followed. */
export function keepFollowed({ backfill, quarantine, plan, background }: FeedParts): void {
  const isFollowed = (coin: string) => plan.follows(coin)
  for (const one of [backfill, quarantine, background]) one.keep(isFollowed)
}
