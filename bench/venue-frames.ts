import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import { hyperliquidFeed } from '../src/streams/hyperliquid/feed.ts'
import type { HttpReply } from '../src/streams/runtime.ts'
import { VirtualVenue } from '../test/support/virtual-venue.ts'

/** Frames and replies that the venue sends to a client with one socket, from its start on. */
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
 * The simulated venue at the rate of the real one: books of all coins every 5.4 s, trades and candles by
 * block, contexts at their cadences. Recorded in virtual time.
 */
export function venueFrames(options: {
  readonly startMs: number
  readonly seconds: number
}): VenueFrames {
  const { startMs, seconds } = options
  const virtual = new VirtualVenue(seededMarket({ seed: SEED, startMs }), startMs)
  const arrivals: { readonly text: string; readonly nowMs: number }[] = []
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
        if (arrival.kind === 'frame') arrivals.push({ text: arrival.text, nowMs })
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
  const traded = arrivals.filter(({ text }) => isTraded(text)).length
  const times = Math.max(1, Math.round((TRADED_PER_SECOND * seconds) / traded))
  const all = arrivals.flatMap(({ text, nowMs }) =>
    thickened(text, times).map((copy) => ({ text: copy, nowMs })),
  )
  return {
    startMs,
    replies,
    frames: all.map(({ text }) => text),
    timesMs: all.map(({ nowMs }) => nowMs),
  }
}

/** Rate of trade and candle frames on the real venue; the model's coins trade less. */
const TRADED_PER_SECOND = 300
const TRADE_ID_STEP = 1e9

/** Whether a frame is of trades or a candle. */
export function isTraded(text: string): boolean {
  return /^\{"channel":"(trades|candle)"/.test(text)
}

/** Copies of a trade or candle frame, with distinct trades. */
function thickened(text: string, times: number): readonly string[] {
  if (!isTraded(text)) return [text]
  return Array.from({ length: times }, (_, copy) =>
    text.replace(
      /"tid":(\d+)/g,
      (_match, id) => `"tid":${(Number(id) % 1e12) + copy * TRADE_ID_STEP}`,
    ),
  )
}
