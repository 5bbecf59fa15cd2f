import { Processor } from '../compute/processor.ts'
import type { Bar } from '../domain/bar.ts'
import type { Batch, MarketEvent } from '../domain/event.ts'
import type { Listing } from '../domain/listing.ts'
import { singleMarginTier } from '../domain/listing.ts'
import { barOpenTimeMs, timeframeMs } from '../domain/timeframe.ts'
import type { ResolvedClaim, RuleId } from '../domain/track-record.ts'
import type { CoinCandles } from '../store/candle-folder.ts'
import type { ArchivedLiquidations } from './archived-liquidations.ts'

const QUARTER_MS = timeframeMs['15m']
const HOUR_MS = timeframeMs['1h']
const DAY_MS = 24 * HOUR_MS

/** Bars of 15m before the first claim, as after a cold start. */
export const WARM_DAYS = 14

/** What the ladder waits after the end of a bar. */
const AFTER_BAR_MS = 4_000

/** Candles do not contain them. The map depends on the shape of traded volume alone while open interest stays the same. */
const ASSUMED_OPEN_INTEREST_BASE = 1e6
const ASSUMED_MAX_LEVERAGE = 20

/** Reads the state of one coin as the walk goes on. */
type Walk = CoinCandles & { nextQuarter: number; nextFunding: number; isListed: boolean }

/** Rules that grade an estimate which candles do not contain: the running estimate of the next funding. */
const UNGRADED: ReadonlySet<RuleId> = new Set(['funding.next@1'])

/** What reaches an engine by the end of a bar. */
type Step = { readonly batches: readonly Batch[]; readonly nowMs: number }

/**
 * Runs the engine's processor over recorded candles and settled funding.
 * @param liquidations of the same time, if they are recorded
 * @returns the claims in the order in which they are resolved
 */
export async function* candleBacktest(
  coins: readonly CoinCandles[],
  fromMs?: number,
  liquidations?: ArchivedLiquidations,
): AsyncGenerator<ResolvedClaim> {
  const processor = new Processor({ coin: [], market: [] }, 'backtest')
  for (const { batches, nowMs } of candleSteps(coins, fromMs)) {
    for (const batch of batches) processor.process(batch)
    for await (const batch of liquidations?.until(nowMs) ?? []) processor.process(batch)
    // Each advance handles the closed bars of some coins.
    for (const _ of coins) processor.advance(nowMs)
    processor.records.takeHistory()
    for (const claim of processor.records.takeClaims()) if (!UNGRADED.has(claim.rule)) yield claim
  }
}

/**
 * Recorded candles as the events of an engine that started after {@link WARM_DAYS} of them.
 * @param fromMs begins later: at this instant
 */
export function* candleSteps(
  coins: readonly CoinCandles[],
  fromMs = Number.NEGATIVE_INFINITY,
): Generator<Step> {
  const walks: readonly Walk[] = coins.map((candles) => ({
    ...{ ...candles, nextQuarter: 0, nextFunding: 0, isListed: false },
  }))
  const firstMs = Math.min(...coins.map(({ quarters }) => quarters[0]?.openTimeMs ?? Number.NaN))
  const lastMs = Math.max(...coins.map(({ quarters }) => quarters.at(-1)?.openTimeMs ?? 0))
  const startMs = barOpenTimeMs(Math.max(fromMs, firstMs + WARM_DAYS * DAY_MS), '4h')
  for (let atMs = startMs; atMs <= lastMs + QUARTER_MS + DAY_MS; atMs += QUARTER_MS) {
    const batches = [listingsAt(walks, atMs)]
    for (const walk of walks) {
      if (!walk.isListed) continue
      if (walk.nextQuarter > 0) batches.push(eventsOf(walk, atMs))
      else batches.push(pastOf(walk, atMs))
    }
    yield { batches, nowMs: atMs + AFTER_BAR_MS }
  }
}

/** A list of coins whenever one begins or has ended. */
function listingsAt(walks: readonly Walk[], atMs: number): readonly MarketEvent[] {
  let isChanged = false
  for (const walk of walks) {
    const [first, last] = [walk.quarters[0], walk.quarters.at(-1)]
    const isListed =
      first !== undefined && last !== undefined
        ? first.openTimeMs < atMs && atMs <= last.openTimeMs + QUARTER_MS
        : false
    if (isListed === walk.isListed) continue
    walk.isListed = isListed
    isChanged = true
  }
  if (!isChanged) return []
  const listings = walks.filter(({ isListed }) => isListed).map(({ coin }) => listingOf(coin))
  const at = { timeExchangeMs: atMs, timeReceivedMs: atMs }
  return [
    { kind: 'universe', listings, ...at },
    { kind: 'feed-status', feed: 'venue', state: 'up', reason: 'recorded', coins: [], ...at },
  ]
}

function listingOf(coin: string): Listing {
  return {
    coin,
    sizeDecimals: 2,
    maxLeverage: ASSUMED_MAX_LEVERAGE,
    marginTiers: singleMarginTier(ASSUMED_MAX_LEVERAGE),
    isDelisted: false,
  }
}

/** What a cold start requests. */
function pastOf(walk: Walk, atMs: number): readonly MarketEvent[] {
  const { coin, quarters, hours, fourHours, fundings } = walk
  const at = { timeExchangeMs: atMs, timeReceivedMs: atMs }
  const asked = { timeExchangeMs: atMs + AFTER_BAR_MS, timeReceivedMs: atMs + AFTER_BAR_MS }
  const past = endedBy(quarters, QUARTER_MS, atMs)
  const longer = endedBy(fourHours, timeframeMs['4h'], atMs)
  walk.nextQuarter = past.length
  walk.nextFunding = fundings.filter(({ timeMs }) => timeMs <= atMs).length
  const last = past.at(-1) as Bar
  const recent = past.slice(-WARM_DAYS * 96)
  const rows = fundings.slice(0, walk.nextFunding).map((row) => settled(coin, row))
  const history = { kind: 'history', coin } as const
  return [
    contextOf(walk, last, at),
    ...(longer.length === 0
      ? []
      : [{ ...history, timeframe: '4h', bars: longer.slice(-1_200), ...asked } as const]),
    { ...history, timeframe: '15m', bars: recent, ...asked },
    { kind: 'hourly-history', coin, bars: endedBy(hours, HOUR_MS, atMs).slice(-2_000), ...asked },
    { kind: 'funding-history', coin, rows, ...asked },
    { kind: 'mark', coin, markPrice: last.close, ...asked },
  ]
}

/** The bar that has ended, and the settlement of the hour. */
function eventsOf(walk: Walk, atMs: number): readonly MarketEvent[] {
  const { coin, quarters, fundings } = walk
  const bar = quarters[walk.nextQuarter]
  if (bar === undefined || bar.openTimeMs + QUARTER_MS > atMs) return []
  walk.nextQuarter += 1
  const at = { timeExchangeMs: atMs, timeReceivedMs: atMs }
  const asked = { timeExchangeMs: atMs + AFTER_BAR_MS, timeReceivedMs: atMs + AFTER_BAR_MS }
  const rows = []
  for (
    let row = fundings[walk.nextFunding];
    row !== undefined && row.timeMs <= atMs;
    row = fundings[walk.nextFunding]
  ) {
    rows.push(settled(coin, row))
    walk.nextFunding += 1
  }
  return [
    contextOf(walk, bar, at),
    { kind: 'history', coin, timeframe: '15m', bars: [bar], ...asked },
    ...(rows.length === 0 ? [] : [{ kind: 'funding-history', coin, rows, ...asked } as const]),
    { kind: 'mark', coin, markPrice: bar.close, ...asked },
  ]
}

function contextOf(
  { coin, quarters, fundings, nextQuarter, nextFunding }: Walk,
  { close }: Bar,
  at: { readonly timeExchangeMs: number; readonly timeReceivedMs: number },
): MarketEvent {
  return {
    kind: 'context',
    coin,
    markPrice: close,
    oraclePrice: close,
    midPrice: close,
    premium: null,
    impactBid: null,
    impactAsk: null,
    fundingRateHourly: fundings[nextFunding - 1]?.rateHourly ?? 0,
    openInterestBase: ASSUMED_OPEN_INTEREST_BASE,
    dayNotional: 0,
    prevDayPrice: quarters[nextQuarter - 97]?.close ?? null,
    ...at,
  }
}

function settled(
  coin: string,
  { timeMs, rateHourly }: { readonly timeMs: number; readonly rateHourly: number },
) {
  return { coin, timeMs, rateHourly, premium: null, isSettled: true }
}

function endedBy(bars: readonly Bar[], stepMs: number, atMs: number): readonly Bar[] {
  return bars.filter(({ openTimeMs }) => openTimeMs + stepMs <= atMs)
}
