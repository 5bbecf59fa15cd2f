import type { MarketEvent } from '../../src/domain/event.ts'
import type { ExchangeQuoteEvent, OraclePriceEvent, PoolEvent } from '../../src/domain/external.ts'

/**
 * Reference of `/basis` and `/cex-dex`, written from their pages alone: every figure is searched in the whole tape.
 * It shares only the event types with the engine.
 */

const RANK = ['pyth-hermes', 'pyth-solana', 'pyth-evm', 'redstone', 'chainlink']

type Tape = readonly MarketEvent[]

export function naiveBasis(tape: Tape, coin: string, asset: string, scale: number, nowMs: number) {
  const venue = lastContext(tape, coin)
  const feed = naiveOracle(tape, asset, nowMs, expected(tape, coin, scale, nowMs))
  if (venue === undefined || feed === undefined) return null
  const spot = feed.priceUsd * scale
  const usdt = naiveRate(tape, 'USDT', nowMs)
  const confidenceBps =
    feed.confidenceUsd === null ? 0 : (feed.confidenceUsd / feed.priceUsd) * 10_000
  const published = Math.min(feed.timeExchangeMs, feed.timeReceivedMs)
  const skewSeconds = Math.abs(venue.timeReceivedMs - published) / 1_000
  const bandBps = confidenceBps + naiveMove(feed, venue.timeReceivedMs, 'bound')
  const basisBps = (venue.oraclePrice / spot - 1) * 10_000
  return {
    source: feed.network,
    basisBps,
    totalBps: (venue.markPrice / spot - 1) * 10_000,
    premiumBps: (venue.markPrice / venue.oraclePrice - 1) * 10_000,
    adjustedBps: usdt === undefined ? null : ((venue.oraclePrice * usdt) / spot - 1) * 10_000,
    bandBps,
    isSignificant: Math.abs(basisBps) > bandBps && Math.abs(basisBps) > 1,
    skewSeconds,
  }
}

export function naiveDivergence(
  tape: Tape,
  coin: string,
  asset: string,
  scale: number,
  nowMs: number,
) {
  const expectedUsd = expected(tape, coin, scale, nowMs)
  const used = naiveReference(tape, asset, nowMs, expectedUsd)
  if (expectedUsd === undefined || used.length < 2) return null
  const cex = middle(used.map(({ mid }) => mid))
  const cexAtMs = Math.min(...used.map(({ quote }) => quote.timeReceivedMs))
  const pool = naivePool(tape, asset, nowMs, expectedUsd)
  const feed = naiveOracle(tape, asset, nowMs, expectedUsd)
  if (pool === undefined && feed === undefined) return null
  const price = pool?.price ?? feed?.priceUsd ?? Number.NaN
  const stamped = pool?.event ?? feed
  const atMs = Math.min(stamped?.timeExchangeMs ?? 0, stamped?.timeReceivedMs ?? 0)
  const own =
    pool !== undefined
      ? pool.event.feeBps
      : ((feed?.confidenceUsd ?? 0) / (feed?.priceUsd ?? 1)) * 10_000
  const spread = middle(used.map(({ spreadBps }) => spreadBps))
  const moved =
    pool === undefined && feed !== undefined
      ? naiveMove(feed, cexAtMs, 'bound')
      : 3 * Math.sqrt(Math.abs(cexAtMs - atMs) / 1_000)
  return {
    source: pool === undefined ? 'oracle_network' : 'dex_pool',
    usedN: used.length,
    cexPrice: cex * scale,
    dexPrice: price * scale,
    divergenceBps: (cex / price - 1) * 10_000,
    noiseBps: spread / 2 + own + moved,
  }
}

/** USD value of a stablecoin: median of the fast sources; of all sources if those disagree; undefined if all disagree. */
export function naiveRate(tape: Tape, stablecoin: string, nowMs: number): number | undefined {
  const watching: number[] = []
  for (const quote of quotesOf(tape, stablecoin)) {
    if (quote.quote !== 'USD' || nowMs - quote.timeReceivedMs > 60_000) continue
    if (quote.bid > 0 && quote.ask >= quote.bid && Math.log(quote.ask / quote.bid) <= 0.02)
      watching.push((quote.bid + quote.ask) / 2)
  }
  const slow: number[] = []
  for (const network of RANK) {
    const alive = feedsOf(tape, stablecoin)
      .filter((feed) => feed.network === network && ageOf(feed, nowMs) <= uselessMs(feed))
      .sort((a, b) => a.resolutionBps - b.resolutionBps || ageOf(a, nowMs) - ageOf(b, nowMs))
    const [best] = alive
    if (best === undefined) continue
    const isWatching = best.resolutionBps <= 5 && ageOf(best, nowMs) <= 60_000
    if (isWatching) watching.push(best.priceUsd)
    else slow.push(best.priceUsd)
  }
  // Fast sources need a majority of two, all sources a majority of one.
  if (isMajority(watching, 2)) return middle(watching)
  const everybody = [...watching, ...slow]
  return isMajority(everybody, 1) ? middle(everybody) : undefined
}

/** Whether a median price has all others within 1 %, or at least `lead` more within than beyond. */
function isMajority(prices: readonly number[], lead: number): boolean {
  return prices.some((price) => {
    const below = prices.filter((other) => other < price).length
    const above = prices.filter((other) => other > price).length
    const near = prices.filter((other) => Math.abs(Math.log(price / other)) <= 0.01).length
    const far = prices.length - near
    return (
      2 * below <= prices.length && 2 * above <= prices.length && (far === 0 || near - far >= lead)
    )
  })
}

/** The usable exchanges, each with its mid in USD. */
export function naiveReference(
  tape: Tape,
  asset: string,
  nowMs: number,
  expectedUsd: number | undefined,
) {
  const good: { quote: ExchangeQuoteEvent; mid: number; spreadBps: number }[] = []
  for (const currency of ['USD', 'USDT', 'USDC']) {
    const rate = currency === 'USD' ? 1 : naiveRate(tape, currency, nowMs)
    for (const quote of quotesOf(tape, asset)) {
      if (quote.quote !== currency || rate === undefined) continue
      if (nowMs - quote.timeReceivedMs > 5_000 || nowMs - quote.timeExchangeMs > 10_000) continue
      if (!(quote.bid > 0) || !(quote.ask >= quote.bid)) continue
      const middlePrice = (quote.bid + quote.ask) / 2
      const spreadBps = ((quote.ask - quote.bid) / middlePrice) * 10_000
      if (spreadBps > 200) continue
      const mid = middlePrice * rate
      if (expectedUsd !== undefined && Math.abs(Math.log(mid / expectedUsd)) > 0.25) continue
      if (good.some((known) => known.quote.exchange === quote.exchange)) continue
      good.push({ quote, mid, spreadBps })
    }
  }
  if (good.length === 1) return good
  return good.filter((leg) => {
    const others = good.filter((other) => other !== leg).map(({ mid }) => mid)
    const isFar = Math.abs(Math.log(leg.mid / middle(others))) > 0.03
    return !isFar || others.some((mid) => Math.abs(Math.log(leg.mid / mid)) <= 0.01)
  })
}

/**
 * Expected move since a feed published: 1.5 bps per root second, the default without hourly bars on these tapes. For
 * a feed with a trigger the move until it was read, except for the publication delay, is at most the trigger.
 */
function naiveMove(feed: OraclePriceEvent, atMs: number, as: 'deviation' | 'bound'): number {
  const times = as === 'bound' ? 2 : 1
  const published = Math.min(feed.timeExchangeMs, feed.timeReceivedMs)
  const free = times * 1.5 * Math.sqrt(Math.abs(atMs - published) / 1_000)
  if (!isPushed(feed)) return free
  const blindSeconds =
    Math.max(0, atMs - feed.timeReceivedMs) / 1_000 + (feed.network === 'chainlink' ? 30 : 5)
  const blind = times * 1.5 * Math.sqrt(blindSeconds)
  if (as === 'bound') return Math.min(free, feed.resolutionBps + blind)
  // Standard deviation of a walk that stayed within a band of 1: sqrt(1 - 8 / pi ** 2).
  return Math.min(free, Math.sqrt((0.435236 * feed.resolutionBps) ** 2 + blind ** 2))
}

/** Published on a price move; RedStone publishes by time alone, whatever its resolution. */
function isPushed({ network, resolutionBps }: OraclePriceEvent): boolean {
  return network !== 'pyth-hermes' && network !== 'redstone' && resolutionBps > 0
}

/** Current standard error of a feed. */
function naiveError(
  feed: OraclePriceEvent,
  all: readonly OraclePriceEvent[],
  nowMs: number,
): number {
  const stated = (one: OraclePriceEvent) =>
    one.confidenceUsd === null ? 5 : (one.confidenceUsd / one.priceUsd) * 10_000
  const markets = all.filter(
    (one) =>
      one.network.startsWith('pyth') &&
      one.confidenceUsd !== null &&
      ageOf(one, nowMs) <= lateMs(one),
  )
  const least = markets.length === 0 ? 0 : Math.min(...markets.map(stated))
  const own = feed.network.startsWith('pyth') ? stated(feed) : Math.max(least, stated(feed))
  return Math.sqrt(own ** 2 + naiveMove(feed, nowMs, 'deviation') ** 2)
}

/** The undisputed network with the smallest error; without one, the best of the late or uncertain networks. */
export function naiveOracle(
  tape: Tape,
  asset: string,
  nowMs: number,
  expectedUsd: number | undefined,
): OraclePriceEvent | undefined {
  const all = feedsOf(tape, asset)
  const errorOf = (feed: OraclePriceEvent) => naiveError(feed, all, nowMs)
  const words = RANK.flatMap((network) => {
    const feeds = all.filter((feed) => feed.network === network)
    feeds.sort(
      (a, b) =>
        Number(ageOf(a, nowMs) > lateMs(a)) - Number(ageOf(b, nowMs) > lateMs(b)) ||
        errorOf(a) - errorOf(b) ||
        ageOf(a, nowMs) - ageOf(b, nowMs),
    )
    return feeds.slice(0, 1)
  })
  const fault = (feed: OraclePriceEvent) => {
    if (expectedUsd !== undefined && Math.abs(Math.log(feed.priceUsd / expectedUsd)) > 0.25)
      return 'hopeless'
    if (ageOf(feed, nowMs) > uselessMs(feed)) return 'hopeless'
    if (ageOf(feed, nowMs) > lateMs(feed)) return 'weak'
    if (feed.confidenceUsd === null) return null
    const bps = (feed.confidenceUsd / feed.priceUsd) * 10_000
    const usual = feed.ema === null ? 25 : (feed.ema.confidenceUsd / feed.ema.priceUsd) * 10_000
    return bps > Math.min(100, Math.max(20, 4 * usual)) ? 'weak' : null
  }
  const sound = words.filter((feed) => fault(feed) === null)
  const exchanges = naiveReference(tape, asset, nowMs, expectedUsd)
  const said = sound.map((feed) => ({
    feed: feed as OraclePriceEvent | null,
    price: feed.priceUsd,
    band:
      ((feed.confidenceUsd ?? 0) / feed.priceUsd) * 10_000 +
      (isPushed(feed) ? feed.resolutionBps : 1.5 * Math.sqrt(ageOf(feed, nowMs) / 1_000)),
  }))
  if (exchanges.length >= 2)
    said.push({ feed: null, price: middle(exchanges.map(({ mid }) => mid)), band: 0 })
  const agree = (a: (typeof said)[number], b: (typeof said)[number]) =>
    Math.abs(Math.log(a.price / b.price)) * 10_000 <= 25 + a.band + b.band
  const standing = sound.filter((feed) => {
    const own = said.find((one) => one.feed === feed)
    if (own === undefined) return false
    // At least three exchanges that agree, and more of them than networks that agree with this one.
    const crowd = exchanges.filter(
      ({ mid }) => Math.abs(Math.log(mid / middle(exchanges.map((one) => one.mid)))) <= 0.0025,
    )
    const friends = said.filter((one) => agree(own, one))
    const isWithThem = friends.some((one) => one.feed === null)
    if (!isWithThem && crowd.length >= 3 && crowd.length > friends.length) return false
    for (const one of said)
      for (const other of said)
        if (one !== other && one !== own && other !== own)
          if (agree(one, other) && !agree(own, one) && !agree(own, other)) return false
    return true
  })
  const weak = words.filter((feed) => fault(feed) === 'weak')
  const lasting = weak.filter((feed) => ageOf(feed, nowMs) <= uselessMs(feed) - 3_000)
  for (const group of [standing, lasting, weak])
    if (group.length > 0)
      return group.reduce((best, next) => (errorOf(next) < errorOf(best) ? next : best))
  return undefined
}

function naivePool(tape: Tape, asset: string, nowMs: number, expectedUsd: number) {
  const newest = new Map<string, PoolEvent>()
  for (const event of tape)
    if (event.kind === 'pool' && event.asset === asset) newest.set(event.pool, event)
  const usable = [...newest.values()].flatMap((event) => {
    const rate = naiveRate(tape, event.quote, nowMs)
    if (rate === undefined || nowMs - Math.min(event.timeExchangeMs, event.timeReceivedMs) > 60_000)
      return []
    const costBps = event.feeBps + (10_000 / (event.reserveQuote * rate)) * 10_000
    const price = event.price * rate
    const isSame = Math.abs(Math.log(price / expectedUsd)) <= 0.25
    return costBps <= 50 && isSame ? [{ event, price, costBps }] : []
  })
  // The expected move since the block adds to the cost.
  const cost = ({ event, costBps }: (typeof usable)[number]) => {
    const published = Math.min(event.timeExchangeMs, event.timeReceivedMs)
    return Math.sqrt(costBps ** 2 + (2.25 * Math.max(0, nowMs - published)) / 1_000)
  }
  return usable.sort((a, b) => cost(a) - cost(b))[0]
}

function expected(tape: Tape, coin: string, scale: number, nowMs: number): number | undefined {
  const venue = lastContext(tape, coin)
  if (venue === undefined || nowMs - venue.timeReceivedMs > 300_000) return undefined
  return (venue.oraclePrice / scale) * (naiveRate(tape, 'USDT', nowMs) ?? 1)
}

function lastContext(tape: Tape, coin: string) {
  return tape.findLast((event) => event.kind === 'context' && event.coin === coin) as
    | Extract<MarketEvent, { kind: 'context' }>
    | undefined
}

function quotesOf(tape: Tape, asset: string): ExchangeQuoteEvent[] {
  const newest = new Map<string, ExchangeQuoteEvent>()
  for (const event of tape)
    if (event.kind === 'exchange-quote' && event.asset === asset)
      newest.set(event.exchange + event.quote, event)
  return [...newest.values()]
}

function feedsOf(tape: Tape, asset: string): OraclePriceEvent[] {
  const newest = new Map<string, OraclePriceEvent>()
  for (const event of tape)
    if (event.kind === 'oracle-price' && event.asset === asset)
      newest.set(event.network + event.place, event)
  return [...newest.values()]
}

function ageOf(feed: OraclePriceEvent, nowMs: number): number {
  return nowMs - Math.min(feed.timeExchangeMs, feed.timeReceivedMs)
}

function beatMs({ network, heartbeatMs }: OraclePriceEvent): number {
  return network === 'chainlink' ? heartbeatMs + 7_200_000 : 2 * heartbeatMs
}

/** At least three seconds before the feed becomes useless, so that another is asked in time. */
function lateMs(feed: OraclePriceEvent): number {
  return Math.min(Math.max(10_000, beatMs(feed)), uselessMs(feed) - 3_000)
}

function uselessMs(feed: OraclePriceEvent): number {
  return Math.max(120_000, beatMs(feed))
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const low = sorted[Math.floor((sorted.length - 1) / 2)] as number
  const high = sorted[Math.ceil((sorted.length - 1) / 2)] as number
  return (low + high) / 2
}
