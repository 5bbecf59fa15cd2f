import { expect } from 'vitest'
import type { MarketEvent } from '../../../domain/event.ts'
import type { FeedOptions } from '../backfill/feed-parts.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../backfill/weight-budget.ts'
import { hyperliquidFeed } from '../feed.ts'
import type { FeedEvent } from '../ingest/feed-event.ts'
import type { ScriptedVenue } from './scripted-venue.ts'

export type FeedRun = {
  readonly events: MarketEvent[]
  readonly notices: FeedEvent[]
  error: unknown
  /** The engine has lost the history of a coin. */
  forget(coin: string): void
  lacks(coin: string): boolean
  of<Kind extends MarketEvent['kind']>(kind: Kind): Extract<MarketEvent, { kind: Kind }>[]
  advance(byMs: number): void
  stop(): void
}

/** @param needs the history that the engine lacks of a coin at first, and again after a lost connection */
export function play(
  venue: ScriptedVenue,
  {
    needs = () => [],
    ...options
  }: Partial<FeedOptions> & { readonly needs?: FeedOptions['historyOf'] } = {},
): FeedRun {
  /** Coins whose 15m bars the engine has processed; the only effect of events that a feed asks for. */
  const whole = new Set<string>()
  const fold = (event: MarketEvent) => {
    if (event.kind === 'history' && event.timeframe === '15m' && event.bars.length > 0)
      whole.add(event.coin)
    if (event.kind === 'silence') whole.delete(event.coin)
    if (event.kind === 'feed-status') for (const coin of event.coins) whole.delete(coin)
  }
  const notices: FeedEvent[] = []
  const events: MarketEvent[] = []
  const run: FeedRun = {
    events,
    notices,
    error: undefined,
    forget: (coin) => whole.delete(coin),
    lacks: (coin) => !whole.has(coin),
    of: <Kind extends MarketEvent['kind']>(kind: Kind) =>
      events.filter((event): event is Extract<MarketEvent, { kind: Kind }> => event.kind === kind),
    advance: (byMs) => venue.advance(byMs),
    stop: () => subscription.unsubscribe(),
  }
  const feed = hyperliquidFeed(
    {
      wsUrl: 'ws://venue',
      infoUrl: 'http://venue/info',
      weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
      sockets: 1,
      historyOf: (coin, nowMs) => (whole.has(coin) ? [] : needs(coin, nowMs)),
      onFeedEvent: (notice) => notices.push(notice),
      ...options,
    },
    venue.runtime,
  )
  const subscription = feed.subscribe({
    next: (batch) => {
      expect(batch.length, 'no batch is empty').toBeGreaterThan(0)
      events.push(...batch)
      batch.forEach(fold)
    },
    error: (cause) => {
      run.error = cause
    },
    complete: () => expect.fail('a feed never completes'),
  })
  return run
}

export function mostInAMinute(timesMs: readonly number[]): number {
  return Math.max(
    ...timesMs.map(
      (untilMs) => timesMs.filter((atMs) => atMs > untilMs - 60_000 && atMs <= untilMs).length,
    ),
  )
}
