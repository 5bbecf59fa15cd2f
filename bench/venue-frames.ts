import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import type { HttpReply } from '../src/streams/runtime.ts'
import { hyperliquidFeed } from '../src/streams/venues/hyperliquid/feed.ts'
import { VirtualVenue } from '../test/support/virtual-venue.ts'

/** What the venue says to one client of one socket, from its start on. */
export type VenueFrames = {
  readonly startMs: number
  /** Replies by request body, as JSON. */
  readonly replies: ReadonlyMap<string, HttpReply>
  /** In order. The first ones answer subscriptions. */
  readonly frames: readonly string[]
  /** When each of them arrived. */
  readonly timesMs: readonly number[]
}

const SEED = 7

/**
 * The simulated venue at the rate of the real one: all coins, books of all of them every 5.4 s, trades
 * and candles by block, contexts at their cadences; taken down in virtual time, so nobody waits.
 */
export function venueFrames(options: {
  readonly startMs: number
  readonly seconds: number
}): VenueFrames {
  const { startMs, seconds } = options
  const virtual = new VirtualVenue(seededMarket({ seed: SEED, startMs }), startMs)
  const frames: string[] = []
  const timesMs: number[] = []
  const replies = new Map<string, HttpReply>()
  const runtime = virtual.runtime()
  const feed = hyperliquidFeed(
    {
      wsUrl: 'ws://venue',
      infoUrl: 'http://venue',
      weightPerMinute: 1_000,
      sockets: 1,
      historyOf: () => [],
      onArrival: (arrival, nowMs) => {
        if (arrival.kind === 'frame')
          for (const text of thickened(arrival.text)) {
            frames.push(text)
            timesMs.push(nowMs)
          }
        if (arrival.kind === 'universe')
          replies.set(JSON.stringify({ type: arrival.request }), {
            status: 200,
            body: arrival.body,
          })
      },
    },
    runtime,
  )
  const subscription = feed.subscribe()
  virtual.runUntil(startMs + seconds * 1_000)
  subscription.unsubscribe()
  return { startMs, replies, frames, timesMs }
}

/** The model's coins are quiet: some 30 frames of trades and candles a second where the venue has 300. */
const TRADES_TIMES = 10
const TRADE_ID_STEP = 1e9

/** A frame of trades or a candle several times over, with trades of their own. */
function thickened(text: string): readonly string[] {
  if (!/^\{"channel":"(trades|candle)"/.test(text)) return [text]
  return Array.from({ length: TRADES_TIMES }, (_, copy) =>
    text.replace(
      /"tid":(\d+)/g,
      (_match, id) => `"tid":${(Number(id) % 1e12) + copy * TRADE_ID_STEP}`,
    ),
  )
}
