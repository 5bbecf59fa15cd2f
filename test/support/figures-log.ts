import type { ContextEvent, MarketEvent } from '../../src/domain/event.ts'
import type { FundingRow, MarketSample } from '../../src/domain/history.ts'
import { FUNDING_STEP_MS, SAMPLE_STEP_MS } from '../../src/domain/history.ts'
import { singleMarginTier } from '../../src/domain/listing.ts'
import { seededBuilderDexes } from '../../src/simulator/market/builder-dexes.ts'
import type { Market } from '../../src/simulator/market/market.ts'
import { drift, noiseKey } from '../../src/simulator/market/noise.ts'
import { seededMarket } from '../../src/simulator/market/seeded-market.ts'
import type { Chance } from '../simulation/chance.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** A coin that trades for a month, one quoted in thousands, one of a HIP-3 dex, and one listed recently. */
export const loggedCoins = ['BTC', 'kPEPE', 'xyz:GOLD', 'SOL'] as const
const YOUNG_COIN = 'SOL'
const YOUNG_DAYS = 4
/** Time between two contexts of a coin, shorter than the sampling period. */
const FIGURES_MS = 12 * SECOND_MS
/** Steps of the loaded history, by age. */
const rememberedSteps = [
  { withinMs: 2 * HOUR_MS, stepMs: SAMPLE_STEP_MS },
  { withinMs: 26 * HOUR_MS, stepMs: 5 * MINUTE_MS },
  { withinMs: 32 * DAY_MS, stepMs: HOUR_MS },
]
const DELISTED_COIN = 'flx:SILVER'

/**
 * Some hours of the simulated market as the engine receives them, after its loaded history: contexts every
 * few seconds, with pauses of one coin and of all, funding history an hour or two late, missing funding
 * hours, and predicted fundings of other exchanges.
 */
export function figuresLog(startMs: number, hours: number, chance: Chance): MarketEvent[] {
  const main = seededMarket({ seed: 11, startMs })
  const builders = seededBuilderDexes({ seed: 11, startMs })
  const marketOf = (coin: string): Market =>
    builders.find(({ name }) => coin.startsWith(`${name}:`))?.market ?? main
  const log: MarketEvent[] = [
    {
      kind: 'universe',
      listings: [...loggedCoins, DELISTED_COIN].map((coin) => ({
        coin,
        sizeDecimals: 2,
        maxLeverage: 10,
        marginTiers: singleMarginTier(10),
        isDelisted: coin === DELISTED_COIN,
      })),
      ...at(startMs),
    },
  ]
  for (const coin of loggedCoins) log.push(...remembered(marketOf(coin), coin, startMs))
  const pausedUntilMs = new Map<string, number>()
  const endMs = startMs + hours * HOUR_MS
  for (let timeMs = startMs + 7; timeMs < endMs; timeMs += FIGURES_MS) {
    if (chance.is(0.001)) timeMs += chance.integer(20 * SECOND_MS, 20 * MINUTE_MS)
    for (const coin of loggedCoins) {
      if (chance.is(0.001))
        pausedUntilMs.set(coin, timeMs + chance.integer(20 * SECOND_MS, 90 * MINUTE_MS))
      if (timeMs < (pausedUntilMs.get(coin) ?? 0)) continue
      log.push(contextOf(marketOf(coin), coin, timeMs))
      if (chance.is(0.004)) log.push(settled(marketOf(coin), coin, timeMs))
      if (chance.is(0.01)) log.push(elsewhere(coin, timeMs, chance))
    }
  }
  return log
}

function remembered(market: Market, coin: string, startMs: number): MarketEvent[] {
  const firstMs = startMs - (coin === YOUNG_COIN ? YOUNG_DAYS : 31) * DAY_MS
  const samples: MarketSample[] = []
  for (let timeMs = firstMs; timeMs < startMs; ) {
    const stepMs =
      rememberedSteps.find(({ withinMs }) => timeMs >= startMs - withinMs)?.stepMs ?? HOUR_MS
    timeMs = (Math.floor(timeMs / stepMs) + 1) * stepMs
    const { kind: _, timeExchangeMs, timeReceivedMs, ...context } = contextOf(market, coin, timeMs)
    // Every 17th sample is missing.
    if ((timeMs / SAMPLE_STEP_MS) % 17 !== 0)
      samples.push({ ...context, timeMs, spreadBps: null, impactSpreadBps: null })
  }
  const rows = fundings(market, coin, { fromMs: firstMs, untilMs: startMs })
  // The newest row is an estimate.
  const last = rows.pop()
  if (last !== undefined) rows.push({ ...last, premium: null, isSettled: false })
  return [
    { kind: 'sample-history', coin, samples, ...at(startMs) },
    { kind: 'funding-history', coin, rows, isRemembered: true, ...at(startMs) },
  ]
}

function settled(market: Market, coin: string, atMs: number): MarketEvent {
  const rows = fundings(market, coin, { fromMs: atMs - 3 * HOUR_MS, untilMs: atMs })
  return { kind: 'funding-history', coin, rows, ...at(atMs) }
}

function fundings(
  market: Market,
  coin: string,
  range: { fromMs: number; untilMs: number },
): FundingRow[] {
  return (
    market
      .fundingHistory(coin, range, range.untilMs, 1_000)
      .map(({ timeMs, fundingRateHourly, premium }) => ({
        coin,
        timeMs: Math.floor(timeMs / FUNDING_STEP_MS) * FUNDING_STEP_MS,
        rateHourly: fundingRateHourly,
        premium,
        isSettled: true,
      }))
      // Every 41st hour is missing at the venue.
      .filter(({ timeMs }) => (timeMs / FUNDING_STEP_MS) % 41 !== 0)
  )
}

function elsewhere(coin: string, timeMs: number, chance: Chance): MarketEvent {
  const funding = (venue: string, intervalHours: number) => ({
    venue,
    intervalHours,
    rate: chance.between(-30, 60) * 1e-5 * intervalHours,
    nextFundingMs: (Math.floor(timeMs / (intervalHours * HOUR_MS)) + 1) * intervalHours * HOUR_MS,
  })
  const fundings = [funding('BinPerp', 8), funding('HlPerp', 1), funding('BybitPerp', 4)]
  return { kind: 'venue-fundings', coin, fundings, ...at(timeMs) }
}

function contextOf(market: Market, coin: string, timeMs: number): ContextEvent {
  const context = market.context(coin, timeMs)
  if (context === undefined) throw new Error(`${coin} is listed`)
  const { impact, dayVolumeBase: _, dayNotionalUsd: dayNotional, ...figures } = context
  // Wider than the market's own moves, so that positions open and close within hours.
  const swing = (name: string) => 1 + 0.04 * drift(noiseKey(0, name, coin), timeMs / (2 * HOUR_MS))
  return {
    kind: 'context',
    coin,
    ...figures,
    dayNotional,
    openInterestBase: figures.openInterestBase * swing('interest'),
    // The venue's number of digits.
    markPrice: Number((figures.markPrice * swing('mark')).toPrecision(6)),
    impactBid: impact?.bid ?? null,
    impactAsk: impact?.ask ?? null,
    ...at(timeMs),
  }
}

function at(timeMs: number) {
  return { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
}
