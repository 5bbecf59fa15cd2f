import { defer, delay, tap, throwError } from 'rxjs'
import { PulsePool } from '../../src/compute/indicators/pulse-series.ts'
import { MarketState } from '../../src/compute/market/market-state.ts'
import { MarketView } from '../../src/compute/market-view.ts'
import { sharedTrackers } from '../../src/compute/shared-trackers.ts'
import { OperatingError } from '../../src/domain/errors.ts'
import type {
  AccountPositionEvent,
  Batch,
  LiquidationEvent,
  MarketEvent,
} from '../../src/domain/event.ts'
import { Accounts } from '../../src/simulator/market/accounts.ts'
import type { EnforcedTrade } from '../../src/simulator/market/enforced-trades.ts'
import { distress } from '../../src/simulator/market/testing/distress.ts'
import { addressOf } from '../../src/simulator/venue/traders.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../../src/streams/hyperliquid/backfill/weight-budget.ts'
import { hyperliquidFeed } from '../../src/streams/hyperliquid/feed.ts'
import type { FeedEvent } from '../../src/streams/hyperliquid/ingest/feed-event.ts'
import { venueChannels } from '../../src/streams/hyperliquid/wire/channels.ts'
import type { Runtime } from '../../src/streams/runtime.ts'
import { Chance } from '../simulation/chance.ts'
import { VirtualVenue } from './virtual-venue.ts'
import { waveMarket } from './wave-market.ts'

const START_MS = Date.UTC(2026, 0, 1, 12, 0, 20)
const MINUTE_MS = 60_000
/** Time to request what is waiting at the end of the planting. */
const DRAIN_MINUTES = 80
/** Accounts wait so long for their request at most, behind all others. */
const REQUESTED_MS = 40 * MINUTE_MS
/** The engine is down in the middle, and trades are lost. */
const DOWN_MS = 45_000
const LOST_SHARE = 0.03
const LATE_SHARE = 0.05
const LATE_MS = 20_000
const REPEATED_SHARE = 0.1
/** A reply older than this no longer counts as a followed position. */
const POSITION_AGE_MS_MAX = 30 * MINUTE_MS
const cadences = {
  ...{ blockMs: 2_000, l2BookMs: 20_000, fastAssetCtxsMs: 3_000, activeAssetCtxMs: 60_000 },
  ...{ allMidsMs: 60_000, fastL2BookMs: 60_000, allDexsAssetCtxsMs: 60_000 },
}

export type PlantedRun = {
  /** Everything that the venue enforced: liquidations and what looks like them. */
  readonly ledger: readonly EnforcedTrade[]
  /** Those of the ledger that are liquidations, and that there was time to request. */
  readonly truth: readonly EnforcedTrade[]
  /** By coin and identifier of the trade. */
  readonly found: ReadonlyMap<string, LiquidationEvent>
  readonly isFollowed: (trade: EnforcedTrade) => boolean
  readonly notices: readonly FeedEvent[]
  /** Weight that the venue charged for fills and vaults, by minute. */
  readonly weights: ReadonlyMap<number, number>
  readonly market: MarketState
}

export function keyOf(trade: { readonly coin: string }, id: number): string {
  return `${trade.coin} ${id}`
}

/**
 * The feed and the state of the market at a simulated venue in virtual time that liquidates all the time: replies are late or lost or
 * arrive twice, and the engine restarts in between.
 */
export function plantedRun(
  coins: number,
  minutes: number,
  drainMinutes = DRAIN_MINUTES,
): PlantedRun {
  const newFates = distress({ oneIn: 2, untilMs: START_MS + minutes * MINUTE_MS })
  const virtual = new VirtualVenue(waveMarket(coins), START_MS, { cadences, newFates })
  const positions: AccountPositionEvent[] = []
  const found = new Map<string, LiquidationEvent>()
  const notices: FeedEvent[] = []
  const weights = new Map<number, number>()
  const chance = new Chance(7, 'network')
  const keep = (event: MarketEvent) => {
    if (event.kind === 'account-position') positions.push(event)
    if (event.kind === 'liquidation') found.set(keyOf(event, event.tradeId), event)
  }
  const play = (market: MarketState): (() => void) => {
    const view = new MarketView(market)
    const apply = (batch: Batch) => {
      for (const event of batch) market.apply(event)
    }
    const feed = hyperliquidFeed(
      {
        ...{ wsUrl: 'ws://venue', infoUrl: 'http://venue', sockets: 2 },
        channels: venueChannels.filter(({ name }) => name === 'trades' || name === 'l2Book'),
        weightPerMinute: WEIGHT_PER_MINUTE_DEFAULT,
        historyOf: () => [],
        fillsToRead: (venueMs, isDeferred) => view.fillsToRead(venueMs, isDeferred),
        known: view.listings,
        knownTrades: (coin) => view.knownTrades(coin),
        onFeedEvent: (notice) => notices.push(notice),
      },
      unreliable(virtual, chance, weights),
    )
    const subscription = feed.subscribe((batch) => {
      apply(batch)
      batch.forEach(keep)
      if (batch[0]?.kind === 'fills-read' && chance.is(REPEATED_SHARE)) apply(batch)
    })
    return () => subscription.unsubscribe()
  }
  const first = newMarket(coins)
  const stop = play(first)
  virtual.runUntil(START_MS + (minutes / 2) * MINUTE_MS)
  stop()
  virtual.runUntil(virtual.nowMs + DOWN_MS)
  const market = restored(first, coins, virtual.nowMs)
  const stopAgain = play(market)
  virtual.runUntil(START_MS + (minutes + drainMinutes) * MINUTE_MS)
  stopAgain()
  // The model is a function of time: another instance of it is the venue's own ledger.
  const reference = new Accounts(waveMarket(coins), START_MS, newFates)
  const ledger = waveMarket(coins)
    .universe()
    .flatMap(({ coin }) => reference.enforcedTrades(coin, START_MS, virtual.nowMs))
  const isLiquidation = ({ enforcement }: EnforcedTrade) =>
    enforcement === 'market' || enforcement === 'backstop'
  return {
    ...{ ledger, found, notices, weights, market },
    truth: ledger.filter(
      (trade) => isLiquidation(trade) && trade.timeMs < virtual.nowMs - REQUESTED_MS,
    ),
    isFollowed: followedBy(positions),
  }
}

/** Without the analyses, which are not tested here. */
function newMarket(coins: number): MarketState {
  return new MarketState(new PulsePool(3 * coins), sharedTrackers)
}

/** What a restarted engine knows. */
function restored(before: MarketState, coins: number, nowMs: number): MarketState {
  const market = newMarket(coins)
  const times = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
  market.apply({ kind: 'universe', listings: before.listings, ...times })
  for (const coin of before.coins())
    market.coin(coin.listing.coin)?.restore(coin.save(nowMs), nowMs)
  market.restore(before.save())
  return market
}

/** Whether a position was known when a trade liquidated it. */
function followedBy(positions: readonly AccountPositionEvent[]): (trade: EnforcedTrade) => boolean {
  const byPosition = Map.groupBy(positions, ({ account, coin }) => `${account} ${coin}`)
  return ({ coin, taker, timeMs }) => {
    const known = byPosition
      .get(`${addressOf(taker)} ${coin}`)
      ?.findLast(({ timeExchangeMs }) => timeExchangeMs <= timeMs)
    if (known === undefined || known.sizeBase === 0) return false
    return timeMs - known.timeExchangeMs < POSITION_AGE_MS_MAX
  }
}

function unreliable(virtual: VirtualVenue, chance: Chance, weights: Map<number, number>): Runtime {
  const runtime = virtual.runtime()
  const charge = (weight: number) => {
    const minute = Math.floor(virtual.nowMs / MINUTE_MS)
    weights.set(minute, (weights.get(minute) ?? 0) + weight)
  }
  return {
    ...runtime,
    post: (url, body) =>
      defer(() => {
        const isCounted = /userFillsByTime|vaultDetails/.test(JSON.stringify(body))
        if (isCounted) charge(20)
        if (chance.is(LOST_SHARE)) return throwError(() => new OperatingError('lost', 'lost'))
        const reply = runtime.post(url, body).pipe(
          tap((one) => {
            if (isCounted) charge(Math.floor((one.body.split('"tid"').length - 1) / 20))
          }),
        )
        return chance.is(LATE_SHARE) ? reply.pipe(delay(LATE_MS, virtual.scheduler)) : reply
      }),
  }
}
