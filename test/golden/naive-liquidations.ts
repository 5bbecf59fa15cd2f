import type { MarketEvent } from '../../src/domain/event.ts'

/** One tier of one side, as the answer has it. */
export type NaiveZone = { readonly leverage: number; readonly price: number; readonly usd: number }

export type NaiveSide = {
  readonly zones: readonly NaiveZone[]
  readonly usd: number
  /** Within 1, 2 and 5 % of the current price. */
  readonly withinUsd: readonly number[]
  /** Nearest first. */
  readonly clusters: readonly { readonly price: number; readonly usd: number }[]
  /** Share of open interest whose opening was seen. */
  readonly flowShare: number
}

export type NaiveLiquidations = { readonly long: NaiveSide; readonly short: NaiveSide }

type Lot = {
  readonly what: 'flow' | 'profile'
  readonly side: 'long' | 'short'
  readonly leverage: number
  readonly price: number
  size: number
}

type Reading = { readonly timeMs: number; readonly contracts: number }

const QUARTER_MS = 15 * 60_000
const HALF_LIFE_MS = 48 * 3_600_000
const GAP_MS = 90_000
const LADDER = [3, 5, 10, 25, 50]
const SHARES = [0.15, 0.25, 0.3, 0.2, 0.1]
const BAND_ENDS_PCT = [0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, Number.POSITIVE_INFINITY]

/**
 * The liquidation map of one coin straight from the list of everything that was told of it, and as slowly
 * as that reads: every opening is a lot of its own, and every later event goes over all lots. Written
 * from `docs/numbers/liquidations.md`, without a look at the incremental code, which is tested against
 * it. It knows no accounts, and takes the events in the order in which they came.
 */
export function naiveLiquidations(
  events: readonly MarketEvent[],
  maxLeverage: number,
  currentPrice: number,
): NaiveLiquidations {
  let lots: Lot[] = []
  let last: Reading | null = null
  let mark = Number.NaN
  let trades: { side: 'buy' | 'sell'; price: number; size: number }[] = []
  let firstLiveMs = Number.POSITIVE_INFINITY
  let gap: { fromMs: number; untilMs: number } | null = null
  let isProfiled = false
  const terms = termsOf(maxLeverage)

  const sweep = (low: number, high: number) => {
    lots = lots.filter(({ side, price }) => (side === 'long' ? price < low : price > high))
  }
  const open = (what: Lot['what'], entry: number, size: number, tilt: number) => {
    for (const { leverage, share, preference, rate } of terms) {
      if (share === 0) continue
      const long = onGrid((entry * (1 - 1 / leverage)) / (1 - rate))
      const short = onGrid((entry * (1 + 1 / leverage)) / (1 + rate))
      const [more, less] = [1 + tilt * preference, 1 - tilt * preference]
      if (long < mark)
        lots.push({ what, side: 'long', leverage, price: long, size: size * share * more })
      if (short > mark)
        lots.push({ what, side: 'short', leverage, price: short, size: size * share * less })
    }
  }

  for (const event of events) {
    if (event.kind === 'mark' && event.markPrice !== undefined) {
      mark = event.markPrice
      sweep(mark, mark)
    }
    if (event.kind === 'trade' && last !== null)
      trades.push({ side: event.takerSide, price: event.price, size: event.sizeBase })
    if (event.kind === 'context') {
      mark = event.markPrice
      sweep(mark, mark)
      const now = { timeMs: event.timeExchangeMs, contracts: event.openInterestBase }
      if (last === null) firstLiveMs = now.timeMs
      else {
        if (now.timeMs - last.timeMs > GAP_MS) gap = { fromMs: last.timeMs, untilMs: now.timeMs }
        const kept = 0.5 ** ((now.timeMs - last.timeMs) / HALF_LIFE_MS)
        for (const lot of lots) lot.size *= kept
        const volume = sum(trades.map(({ size }) => size))
        const bought = sum(trades.filter(({ side }) => side === 'buy').map(({ size }) => size))
        const turnover = sum(trades.map(({ size, price }) => size * price))
        const entry = volume > 0 ? turnover / volume : mark
        const tilt = volume > 0 ? (2 * bought - volume) / volume : 0
        if (volume > 0) open('profile', entry, volume, 0)
        const grown = now.contracts - last.contracts
        if (grown > 0) open('flow', entry, grown, tilt)
        else
          for (const lot of lots)
            if (lot.what === 'flow') lot.size *= now.contracts / last.contracts
      }
      last = now
      trades = []
    }
    if (event.kind === 'history' && event.timeframe === '15m') {
      const { bars } = event
      const ends = (bar: { openTimeMs: number }) => bar.openTimeMs + QUARTER_MS
      const untilMs = Math.min(gap?.untilMs ?? firstLiveMs, event.timeExchangeMs)
      const fromMs = gap?.fromMs ?? (isProfiled ? Number.POSITIVE_INFINITY : 0)
      const missed = bars.filter((bar) => ends(bar) > fromMs && bar.openTimeMs < untilMs)
      if (gap !== null && missed.length > 0)
        sweep(
          Math.min(...missed.map(({ low }) => low)),
          Math.max(...missed.map(({ high }) => high)),
        )
      for (const [at, bar] of bars.entries()) {
        if (bar.openTimeMs < fromMs || ends(bar) > untilMs || bar.volumeBase === 0) continue
        const before = lots
        lots = []
        const heldAtMs = last?.timeMs ?? untilMs
        const size = bar.volumeBase * 0.5 ** ((heldAtMs - ends(bar)) / HALF_LIFE_MS)
        open('profile', (bar.high + bar.low + bar.close) / 3, size, 0)
        // What was traded then may be liquidated since.
        const later = bars.slice(at + 1)
        const low = Math.min(mark, ...later.map((next) => next.low))
        const high = Math.max(mark, ...later.map((next) => next.high))
        const raw = rawPrices((bar.high + bar.low + bar.close) / 3, terms)
        lots = lots.filter(({ side, leverage }) => {
          const prices = raw.get(leverage)
          if (prices === undefined) return false
          return side === 'long' ? prices.long < low : prices.short > high
        })
        lots = [...before, ...lots]
      }
      gap = null
      isProfiled = true
    }
  }
  const contracts = last?.contracts ?? 0
  const sideOf = (side: Lot['side']) =>
    summed(
      lots.filter((lot) => lot.side === side),
      { side, contracts, mark, currentPrice, terms },
    )
  return { long: sideOf('long'), short: sideOf('short') }
}

type Terms = {
  readonly leverage: number
  readonly isPermitted: boolean
  readonly share: number
  readonly preference: number
  readonly rate: number
}

function termsOf(maxLeverage: number): readonly Terms[] {
  const permitted = LADDER.filter((leverage) => leverage <= maxLeverage)
  const shares = LADDER.map((leverage, at) => {
    if (leverage > maxLeverage) return 0
    return leverage === permitted.at(-1) ? sum(SHARES.slice(at)) : (SHARES[at] as number)
  })
  const logs = LADDER.map(Math.log)
  const mean = sum(logs.map((log, at) => log * (shares[at] as number)))
  const farthest = Math.max(...permitted.map((leverage) => Math.abs(Math.log(leverage) - mean)))
  return LADDER.map((leverage, at) => {
    const isPermitted = leverage <= maxLeverage
    return {
      leverage,
      isPermitted,
      share: shares[at] as number,
      preference: permitted.length > 1 ? ((logs[at] as number) - mean) / farthest : 0,
      rate: 1 / (2 * (isPermitted ? maxLeverage : leverage)),
    }
  })
}

function rawPrices(entry: number, terms: readonly Terms[]) {
  return new Map(
    terms.map(({ leverage, rate }) => [
      leverage,
      {
        long: (entry * (1 - 1 / leverage)) / (1 - rate),
        short: (entry * (1 + 1 / leverage)) / (1 + rate),
      },
    ]),
  )
}

function summed(
  lots: readonly Lot[],
  given: {
    readonly side: Lot['side']
    readonly contracts: number
    readonly mark: number
    readonly currentPrice: number
    readonly terms: readonly Terms[]
  },
): NaiveSide {
  const { side, contracts, mark, currentPrice, terms } = given
  const sumOf = (what: Lot['what']) =>
    sum(lots.filter((lot) => lot.what === what).map(({ size }) => size))
  const flow = sumOf('flow')
  const profile = sumOf('profile')
  const placed = lots.map(({ what, leverage, price, size }) => {
    const contractsOf = what === 'flow' ? size : (size / profile) * (contracts - flow)
    return { leverage, price, usd: contractsOf * price }
  })
  const away = (price: number) => Math.abs(price / currentPrice - 1) * 100
  const zones = terms.map(({ leverage, rate }) => {
    const own = placed.filter((lot) => lot.leverage === leverage).sort((a, b) => a.price - b.price)
    const usd = sum(own.map((lot) => lot.usd))
    let below = 0
    const median = own.find((lot) => {
      below += lot.usd
      return below >= usd / 2
    })
    const sign = side === 'long' ? 1 : -1
    const fresh = (mark * (1 - sign / leverage)) / (1 - sign * rate)
    return { leverage, usd, price: median?.price ?? fresh }
  })
  const clusters = BAND_ENDS_PCT.map((end, at) => {
    const start = at === 0 ? Number.NEGATIVE_INFINITY : (BAND_ENDS_PCT[at - 1] as number)
    const inside = placed.filter(({ price }) => away(price) > start && away(price) <= end)
    const usd = sum(inside.map((lot) => lot.usd))
    return { usd, price: sum(inside.map((lot) => lot.usd * lot.price)) / usd }
  })
  return {
    zones,
    usd: sum(placed.map(({ usd }) => usd)),
    withinUsd: [1, 2, 5].map((within) =>
      sum(placed.filter(({ price }) => away(price) <= within).map(({ usd }) => usd)),
    ),
    clusters: clusters.filter(({ usd }) => usd > 0),
    flowShare: flow / contracts,
  }
}

/** The map knows prices to a quarter percent. */
function onGrid(price: number): number {
  return Math.exp((Math.floor(Math.log(price) / 0.0025) + 0.5) * 0.0025)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
