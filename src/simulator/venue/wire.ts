import { marginTables } from '../market/catalog.ts'
import { traderOf } from '../market/holders.ts'
import type {
  Book,
  Candle,
  CandleInterval,
  Context,
  Instrument,
  Level,
  Market,
  SettledFunding,
  Trade,
} from '../market/market.ts'
import { candleIntervalMs } from '../market/market.ts'
import { bits, noiseKey } from '../market/noise.ts'
import { decimalText, priceDecimalsMax } from '../market/precision.ts'
import type { SimulatedDex } from './dexes.ts'
import { hexText } from './hex.ts'
import { spotNamesOf } from './spot.ts'
import { addressOf } from './traders.ts'

/** Rates, premiums and notionals have ten decimals at most. */
const FRACTION_DECIMALS = 10
const USDC_TOKEN = 0
const IMPLIED_MARGIN_TABLES_BELOW = 50
/** Fills outside an order (a liquidation, a TWAP slice) carry a hash of zeros: one order in this. */
const ORDERS_A_ZERO_HASH = 60
const ZERO_HASH = `0x${'0'.repeat(64)}`

const tradeKey = noiseKey(0, 'wire')

export function metaWire({ market, builder }: SimulatedDex): object {
  const since = builder?.growthModeSince
  const isIsolated = builder?.isCrossAllowed === false
  const instruments = market.universe()
  const universe = instruments.map((instrument) => ({
    szDecimals: instrument.sizeDecimals,
    name: instrument.coin,
    maxLeverage: instrument.maxLeverage,
    marginTableId: instrument.marginTableId,
    ...(instrument.isStrictlyIsolated || isIsolated ? { onlyIsolated: true } : {}),
    ...(instrument.isDelisted ? { isDelisted: true } : {}),
    ...(instrument.isStrictlyIsolated ? { marginMode: 'strictIsolated' } : {}),
    ...(isIsolated ? { marginMode: 'noCross' } : {}),
    ...(since === undefined ? {} : { growthMode: 'enabled', lastGrowthModeChangeTime: since }),
  }))
  // A builder's dex has the tables that its coins use.
  const tables = marginTables.filter(
    ({ id }) =>
      builder === undefined || instruments.some(({ marginTableId }) => marginTableId === id),
  )
  return {
    universe,
    marginTables: tables.map(({ id }) => [id, marginTableWire(id)]),
    collateralToken: builder?.collateralToken ?? USDC_TOKEN,
  }
}

/** @returns undefined for a table that does not exist. */
export function marginTableWire(id: number): object | undefined {
  const table = marginTables.find((candidate) => candidate.id === id)
  const isImplied = Number.isInteger(id) && id > 0 && id < IMPLIED_MARGIN_TABLES_BELOW
  if (table === undefined && !isImplied) return undefined
  const tiers = table?.tiers ?? [{ lowerBoundUsd: 0, maxLeverage: id }]
  return {
    description: table?.description ?? '',
    marginTiers: tiers.map(({ lowerBoundUsd, maxLeverage }) => ({
      lowerBound: decimalText(lowerBoundUsd, 1),
      maxLeverage,
    })),
  }
}

export function contextWire(context: Context, { sizeDecimals }: Instrument): object {
  const price = (value: number): string => decimalText(value, priceDecimalsMax(sizeDecimals))
  const { impact, midPrice, premium } = context
  return {
    funding: decimalText(context.fundingRateHourly, FRACTION_DECIMALS),
    openInterest: decimalText(context.openInterestBase, sizeDecimals),
    prevDayPx: price(context.prevDayPrice),
    dayNtlVlm: decimalText(context.dayNotionalUsd, FRACTION_DECIMALS),
    premium: premium === null ? null : decimalText(premium, FRACTION_DECIMALS),
    oraclePx: price(context.oraclePrice),
    markPx: price(context.markPrice),
    midPx: midPrice === null ? null : price(midPrice),
    impactPxs: impact === null ? null : [price(impact.bid), price(impact.ask)],
    dayBaseVlm: decimalText(context.dayVolumeBase, sizeDecimals),
  }
}

/** Contexts of the whole universe, by position. */
export function contextsWire(market: Market, atMs: number): readonly object[] {
  return market.universe().flatMap((instrument) => {
    const context = market.context(instrument.coin, atMs)
    return context === undefined ? [] : [contextWire(context, instrument)]
  })
}

export function levelWire(level: Level, sizeDecimals: number): object {
  return {
    px: decimalText(level.price, priceDecimalsMax(sizeDecimals)),
    sz: decimalText(level.sizeBase, sizeDecimals),
    n: level.orders,
  }
}

export function bookWire(
  book: Book,
  { coin, sizeDecimals }: Pick<Instrument, 'coin' | 'sizeDecimals'>,
  timeMs: number,
): { coin: string; time: number; levels: object[][] } {
  const side = (levels: readonly Level[]): object[] =>
    levels.map((level) => levelWire(level, sizeDecimals))
  return { coin, time: timeMs, levels: [side(book.bids), side(book.asks)] }
}

export function tradeWire(trade: Trade, { coin, sizeDecimals }: Instrument): object {
  const { taker, maker } = partiesOf(trade, coin)
  const [buyer, seller] = trade.side === 'B' ? [taker, maker] : [maker, taker]
  return {
    coin,
    side: trade.side,
    px: decimalText(trade.price, priceDecimalsMax(sizeDecimals)),
    sz: decimalText(trade.sizeBase, sizeDecimals),
    time: trade.timeMs,
    hash: tradeHash(trade),
    tid: trade.id,
    users: [addressOf(buyer), addressOf(seller)],
  }
}

/** The accounts of a trade, by their numbers. */
export function partiesOf(
  { parties, orderKey, id }: Trade,
  coin: string,
): { readonly taker: number; readonly maker: number } {
  if (parties !== undefined) return parties
  const key = bits(tradeKey, orderKey)
  return { taker: traderOf(coin, bits(key, 1)), maker: traderOf(coin, bits(key ^ id, 2)) }
}

export function tradeHash({ orderKey }: Trade): string {
  if (orderKey % ORDERS_A_ZERO_HASH === 0) return ZERO_HASH
  return `0x${hexText(bits(tradeKey, orderKey), 64)}`
}

export function candleWire(
  candle: Candle,
  { coin, sizeDecimals }: Instrument,
  interval: CandleInterval,
): object {
  const price = (value: number): string => decimalText(value, priceDecimalsMax(sizeDecimals))
  return {
    t: candle.openTimeMs,
    T: candle.openTimeMs + candleIntervalMs[interval] - 1,
    s: coin,
    i: interval,
    o: price(candle.open),
    c: price(candle.close),
    h: price(candle.high),
    l: price(candle.low),
    v: decimalText(candle.volumeBase, sizeDecimals),
    n: candle.trades,
  }
}

export function fundingWire(row: SettledFunding, coin: string): object {
  return {
    coin,
    fundingRate: decimalText(row.fundingRateHourly, FRACTION_DECIMALS),
    premium: decimalText(row.premium, FRACTION_DECIMALS),
    time: row.timeMs,
  }
}

/** Mids by name: live perpetuals, and the spot pairs that stand at their price. */
export function midsWire(market: Market, atMs: number): Record<string, string> {
  const mids: Record<string, string> = {}
  for (const { coin, sizeDecimals, isDelisted } of market.universe()) {
    const mid = isDelisted ? null : market.context(coin, atMs)?.midPrice
    if (mid === null || mid === undefined) continue
    const text = decimalText(mid, priceDecimalsMax(sizeDecimals))
    mids[coin] = text
    for (const name of spotNamesOf(coin)) mids[name] = text
  }
  return mids
}
