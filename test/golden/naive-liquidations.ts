import type { AccountPositionEvent, MarketEvent } from '../../src/domain/event.ts'

/** One tier of one side of the answer, in USD at the mark. */
export type NaiveZone = {
  readonly leverage: number
  readonly price: number
  readonly usd: number
  readonly observedUsd: number
  readonly beyondUsd: number
}

export type NaiveSide = {
  readonly zones: readonly NaiveZone[]
  /** Positions of less than 3x. */
  readonly belowTiers: { readonly price: number | null; readonly usd: number }
  /** On the map. */
  readonly usd: number
  readonly beyond: {
    readonly usd: number
    readonly observedUsd: number
    readonly positions: number
    readonly nearestMultiple: number | null
    readonly medianMultiple: number | null
  }
  readonly withoutPriceUsd: number
  /** Within 1, 2 and 5 % of the current price. */
  readonly withinUsd: readonly number[]
  /** Nearest first. */
  readonly clusters: readonly { readonly price: number; readonly usd: number }[]
  /** Shares of open interest on the map: observed positions, observed openings, and the prior for the remainder. */
  readonly shares: { readonly observed: number; readonly flow: number; readonly prior: number }
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
const POSITION_AGE_MS = 30 * 60_000
/** Buckets of the map below the mark (down to 0.45 times the mark) and above it (up to 2.2 times). */
const [BUCKETS_BELOW, BUCKETS_ABOVE] = [319, 315]
const BAND_ENDS_PCT = [0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, Number.POSITIVE_INFINITY]

/**
 * Reference of the liquidation map of one coin, from all of its events: every opening is a separate lot,
 * and every later event visits all lots. Written from `docs/numbers/liquidations.md`, independently of the
 * incremental code under test. It processes events in the order of their arrival, without a limit on accounts.
 */
export function naiveLiquidations(
  events: readonly MarketEvent[],
  maxLeverage: number,
  currentPrice: number,
): NaiveLiquidations {
  let lots: Lot[] = []
  let last: Reading | null = null
  /** The last reading of open interest that counts. */
  let trusted = Number.NaN
  let mark = Number.NaN
  let trades: { side: 'buy' | 'sell'; price: number; size: number }[] = []
  let firstLiveMs = Number.POSITIVE_INFINITY
  let gap: { fromMs: number; untilMs: number } | null = null
  let isProfiled = false
  let accounts: AccountPositionEvent[] = []
  const terms = termsOf(maxLeverage)

  const sweep = (low: number, high: number) => {
    lots = lots.filter(({ side, price }) => (side === 'long' ? price < low : price > high))
  }
  const move = (price: number) => {
    mark = price
    sweep(mark, mark)
    accounts = accounts.filter((one) => !isReached(one, mark))
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
    if (event.kind === 'mark' && event.markPrice !== undefined) move(event.markPrice)
    if (event.kind === 'account-position') {
      accounts = accounts.filter(({ account }) => account !== event.account)
      if (event.sizeBase !== 0) accounts.push(event)
    }
    if (event.kind === 'trade' && last !== null)
      trades.push({ side: event.takerSide, price: event.price, size: event.sizeBase })
    if (event.kind === 'context') {
      move(event.markPrice)
      const now = { timeMs: event.timeExchangeMs, contracts: event.openInterestBase }
      if (last === null) {
        firstLiveMs = now.timeMs
        trusted = now.contracts
      } else {
        if (now.timeMs - last.timeMs > GAP_MS) gap = { fromMs: last.timeMs, untilMs: now.timeMs }
        const kept = 0.5 ** ((now.timeMs - last.timeMs) / HALF_LIFE_MS)
        for (const lot of lots) lot.size *= kept
        const volume = sum(trades.map(({ size }) => size))
        const bought = sum(trades.filter(({ side }) => side === 'buy').map(({ size }) => size))
        const turnover = sum(trades.map(({ size, price }) => size * price))
        const entry = volume > 0 ? turnover / volume : mark
        const tilt = volume > 0 ? (2 * bought - volume) / volume : 0
        if (volume > 0) open('profile', entry, volume, 0)
        const close = (share: number) => {
          for (const lot of lots) if (lot.what === 'flow') lot.size *= share
        }
        const wasDoubted = last.contracts !== trusted
        if (wasDoubted && isFar(trusted, now.contracts) && !isFar(last.contracts, now.contracts)) {
          // Two readings agree with each other, and not with the one before them.
          close(Math.min(1, last.contracts / trusted))
          trusted = last.contracts
        }
        if (!isFar(trusted, now.contracts)) {
          const grown = now.contracts - trusted
          if (grown > 0) open('flow', entry, grown, tilt)
          if (grown < 0) close(now.contracts / trusted)
          trusted = now.contracts
        }
      }
      last = now
      trades = []
      accounts = accounts.filter((one) => now.timeMs - one.timeExchangeMs <= POSITION_AGE_MS)
    }
    if (event.kind === 'history' && event.timeframe === '15m') {
      const { bars } = event
      // Candles may arrive before the reading that ends a pause.
      if (last !== null && event.timeExchangeMs - last.timeMs > GAP_MS) {
        gap = { fromMs: gap?.fromMs ?? last.timeMs, untilMs: event.timeExchangeMs }
        const kept = 0.5 ** ((event.timeExchangeMs - last.timeMs) / HALF_LIFE_MS)
        for (const lot of lots) lot.size *= kept
        last = { ...last, timeMs: event.timeExchangeMs }
      }
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
        // Positions of that bar may have been liquidated since.
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
  const sideOf = (side: Lot['side']) => {
    const sign = side === 'long' ? 1 : -1
    return summed(
      lots.filter((lot) => lot.side === side),
      accounts.filter((one) => Math.sign(one.sizeBase) === sign && !isReached(one, mark)),
      { side, contracts, mark, currentPrice, terms },
    )
  }
  return { long: sideOf('long'), short: sideOf('short') }
}

/** One of two readings is more than half above the other. */
function isFar(one: number, other: number): boolean {
  return one > 1.5 * other || other > 1.5 * one
}

function isReached({ sizeBase, liquidationPrice }: AccountPositionEvent, mark: number): boolean {
  if (liquidationPrice === null) return false
  return sizeBase > 0 ? mark <= liquidationPrice : mark >= liquidationPrice
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

type Placed = {
  readonly what: Lot['what'] | 'account'
  readonly leverage: number
  /** On the grid. */
  readonly price: number
  readonly multiple: number
  readonly usd: number
}

function summed(
  lots: readonly Lot[],
  accounts: readonly AccountPositionEvent[],
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
  const sizes = accounts.map(({ sizeBase }) => Math.min(Math.abs(sizeBase), contracts))
  const scale = Math.min(1, contracts / sum(sizes))
  const observed = sizes.map((size) => size * scale)
  const unobserved = contracts - sum(sizes)
  const rest = unobserved > 1e-9 * contracts ? unobserved : 0
  // More than the open interest while a fall of it waits for the next reading.
  const flow = Math.min(1, sumOf('flow') / contracts) * rest
  const factors = { flow: flow / sumOf('flow'), profile: (rest - flow) / sumOf('profile') }
  const estimated = lots.map(({ what, leverage, price, size }): Placed => {
    const usd = size * factors[what] * mark
    return { what, leverage, price, multiple: price / mark, usd }
  })
  const known = accounts.flatMap(({ leverage, liquidationPrice }, at): Placed[] => {
    const usd = (observed[at] as number) * mark
    if (liquidationPrice === null || usd === 0) return []
    const price = nextToMark(onGrid(liquidationPrice), mark, side)
    return [{ what: 'account', leverage, price, multiple: liquidationPrice / mark, usd }]
  })
  const held = [...estimated, ...known].filter(({ usd }) => usd > 0)
  const placed = held.filter(({ price }) => isOnMap(price, mark))
  const beyond = held.filter(({ price }) => !isOnMap(price, mark))
  const away = (price: number) => Math.abs(price / currentPrice - 1) * 100
  const isOfTier = (tier: number) => (one: Placed) => tierNameOf(one.leverage, terms) === tier
  const zones = terms.map(({ leverage, isPermitted, rate }) => {
    const own = isPermitted ? placed.filter(isOfTier(leverage)) : []
    const sign = side === 'long' ? 1 : -1
    const fresh = (mark * (1 - sign / leverage)) / (1 - sign * rate)
    return {
      leverage,
      usd: usdOf(own),
      observedUsd: usdOf(own.filter(({ what }) => what === 'account')),
      beyondUsd: isPermitted ? usdOf(beyond.filter(isOfTier(leverage))) : 0,
      price: medianPriceOf(own) ?? fresh,
    }
  })
  const clusters = BAND_ENDS_PCT.map((end, at) => {
    const start = at === 0 ? Number.NEGATIVE_INFINITY : (BAND_ENDS_PCT[at - 1] as number)
    const inside = placed.filter(({ price }) => away(price) > start && away(price) <= end)
    return {
      usd: usdOf(inside),
      price: medianPriceOf(inside) ?? Number.NaN,
    }
  })
  const low = placed.filter(({ leverage }) => leverage < 3)
  const nearness = ({ multiple }: Placed) => (side === 'long' ? -multiple : multiple)
  const farther = beyond.toSorted((one, other) => nearness(one) - nearness(other))
  const shareOf = (what: Placed['what']) =>
    usdOf(placed.filter((one) => one.what === what)) / (contracts * mark)
  return {
    zones,
    belowTiers: { price: medianPriceOf(low), usd: usdOf(low) },
    usd: usdOf(placed),
    beyond: {
      usd: usdOf(beyond),
      observedUsd: usdOf(beyond.filter(({ what }) => what === 'account')),
      positions: beyond.filter(({ what }) => what === 'account').length,
      nearestMultiple: farther[0]?.multiple ?? null,
      medianMultiple: halfOf(farther)?.multiple ?? null,
    },
    withoutPriceUsd: sum(
      accounts.map((one, at) =>
        one.liquidationPrice === null ? (observed[at] as number) * mark : 0,
      ),
    ),
    withinUsd: [1, 2, 5].map((within) =>
      usdOf(placed.filter(({ price }) => away(price) <= within)),
    ),
    clusters: clusters.filter(({ usd }) => usd > 0),
    shares: { observed: shareOf('account'), flow: shareOf('flow'), prior: shareOf('profile') },
  }
}

/** The permitted tier nearest by the logarithm of leverage; undefined below 3x. */
function tierNameOf(leverage: number, terms: readonly Terms[]): number | undefined {
  if (leverage < 3) return undefined
  const doublings = (tier: Terms) => Math.abs(Math.log2(leverage) - Math.log2(tier.leverage))
  return terms
    .filter(({ isPermitted }) => isPermitted)
    .toSorted((one, other) => doublings(one) - doublings(other))[0]?.leverage
}

function usdOf(placed: readonly Placed[]): number {
  return sum(placed.map(({ usd }) => usd))
}

function medianPriceOf(placed: readonly Placed[]): number | null {
  return halfOf(placed.toSorted((one, other) => one.price - other.price))?.price ?? null
}

/** The first entry at which half of the notional is reached. */
function halfOf(sorted: readonly Placed[]): Placed | undefined {
  const half = usdOf(sorted) / 2
  let reached = 0
  return sorted.find(({ usd }) => {
    reached += usd
    return reached >= half
  })
}

/** Bucket of a price. `firstAbove` is the first bucket whose middle is not below the mark. */
function numberOf(price: number): number {
  return Math.floor(Math.log(price) / 0.0025)
}

function firstAbove(mark: number): number {
  return Math.ceil(Math.log(mark) / 0.0025 - 0.5)
}

function isOnMap(price: number, mark: number): boolean {
  const first = firstAbove(mark)
  return numberOf(price) >= first - BUCKETS_BELOW && numberOf(price) < first + BUCKETS_ABOVE
}

/** A price in the mark's bucket is moved to the nearest bucket of its side. */
function nextToMark(price: number, mark: number, side: Lot['side']): number {
  const first = firstAbove(mark)
  const number =
    side === 'long' ? Math.min(numberOf(price), first - 1) : Math.max(numberOf(price), first)
  return middleOf(number)
}

function middleOf(number: number): number {
  return Math.exp((number + 0.5) * 0.0025)
}

/** Prices on the map have a resolution of 0.25 %. */
function onGrid(price: number): number {
  return middleOf(numberOf(price))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
