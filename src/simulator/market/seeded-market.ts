import type { CatalogRow } from './catalog.ts'
import { catalog, maxLeverageOf, strictlyIsolatedCoins } from './catalog.ts'
import { CoinMarkets } from './coin-markets.ts'
import type { FundingRule } from './funding.ts'
import { mainDexFunding } from './funding.ts'
import { QUARTER_MS, QUARTERS_A_DAY } from './lot-bar.ts'
import type { Instrument, Market, NewListing } from './market.ts'
import { MeanRevertingPath } from './mean-reverting-path.ts'
import { bits, noiseKey, uniform } from './noise.ts'
import type { FactorExposure } from './seeded-bars.ts'
import { SeededBars } from './seeded-bars.ts'
import { SimulatedCoin } from './simulated-coin.ts'

/** Enough for 5,000 bars of four hours. */
const HISTORY_QUARTERS = 900 * QUARTERS_A_DAY
const DELISTED_DAYS_MIN = 30
const DELISTED_DAYS_SPAN = 300
const SECTORS = 5

/** Log moves of one quarter. 0.0022 is 2.2 % a day, 42 % a year. */
const COMMON_DEVIATION = 0.0022
const SECTOR_DEVIATION = 0.0016
const OWN_DEVIATION_MIN = 0.0006
const OWN_DEVIATION_SPAN = 0.0026
const COMMON_HALF_LIFE_QUARTERS = 60 * QUARTERS_A_DAY
const OWN_HALF_LIFE_QUARTERS = 25 * QUARTERS_A_DAY

/**
 * A market model without data: one common factor, five sectors and a path of its own for every coin
 * of the catalogue, so that coins move together and apart. Prices stand at the catalogue's at the
 * start, and history is walked backwards from there when it is asked for.
 */
export function seededMarket(options: {
  readonly seed: number
  readonly startMs: number
  /** Number of coins, the first of the catalogue; all if absent. */
  readonly coins?: number | undefined
}): Market {
  const newCoin = modelCoins(options.seed, options.startMs)
  return new CoinMarkets({
    clockShiftMs: 0,
    coins: catalog.slice(0, options.coins).map((row) => newCoin.ofCatalog(row)),
    newCoin: newCoin.ofListing,
  })
}

type CoinFigures = Pick<NewListing, 'priceUsd' | 'dayNotionalUsd'> & {
  readonly openInterestUsd: number
  readonly delistedAtMs: number
}

/** Makes coins that share the factors of one seed and start, funded by the rule of one dex. */
export function modelCoins(
  seed: number,
  startMs: number,
  funding: FundingRule = mainDexFunding,
): {
  readonly ofCatalog: (row: CatalogRow) => SimulatedCoin
  readonly ofListing: (listing: NewListing, atMs: number) => SimulatedCoin
} {
  const startQuarter = Math.floor(startMs / QUARTER_MS)
  const path = (
    name: string,
    stepDeviation: number,
    halfLifeSteps: number,
    anchorStep = startQuarter,
    common?: MeanRevertingPath,
  ): MeanRevertingPath =>
    new MeanRevertingPath({
      key: noiseKey(seed, 'path', name),
      anchorStep,
      stepDeviation,
      halfLifeSteps,
      ...(common === undefined ? {} : { common }),
    })
  const common = path('common', COMMON_DEVIATION, COMMON_HALF_LIFE_QUARTERS)
  const sectors = Array.from({ length: SECTORS }, (_, i) =>
    path(`sector ${i}`, SECTOR_DEVIATION, OWN_HALF_LIFE_QUARTERS, startQuarter, common),
  )

  const exposuresOf = (coin: string, key: number): FactorExposure[] => {
    const sector = sectors[bits(key, 1) % SECTORS] ?? common
    const isReference = coin === 'BTC'
    const ownDeviation = OWN_DEVIATION_MIN + OWN_DEVIATION_SPAN * uniform(key, 2)
    return [
      { path: common, weight: isReference ? 0.8 : 0.7 + 0.8 * uniform(key, 3) },
      { path: sector, weight: isReference ? 0 : 0.3 + 0.9 * uniform(key, 4) },
      {
        path: path(
          coin,
          isReference ? OWN_DEVIATION_MIN : ownDeviation,
          OWN_HALF_LIFE_QUARTERS,
          startQuarter,
          common,
        ),
        weight: 1,
      },
    ]
  }

  const coinOf = (instrument: Instrument, firstQuarter: number, figures: CoinFigures) => {
    const { coin, sizeDecimals } = instrument
    const { priceUsd: price, dayNotionalUsd } = figures
    const key = noiseKey(seed, 'coin', coin)
    const exposures = exposuresOf(coin, key)
    const source = new SeededBars({
      ...{ key, firstQuarter, sizeDecimals, price, exposures, dayNotionalUsd },
    })
    return new SimulatedCoin({ instrument, source, key, funding, ...figures })
  }

  return {
    ofCatalog(row) {
      const [coin, sizeDecimals, marginTableId, priceUsd, dayNotionalUsd, openInterestUsd] = row
      const isDelisted = row[6] === true
      const chance = uniform(noiseKey(seed, 'coin', coin), 5)
      const delistedDays = DELISTED_DAYS_MIN + Math.floor(DELISTED_DAYS_SPAN * chance)
      const delistedAtQuarter = startQuarter - delistedDays * QUARTERS_A_DAY
      const delistedAtMs = isDelisted ? delistedAtQuarter * QUARTER_MS : Number.POSITIVE_INFINITY
      const maxLeverage = maxLeverageOf(marginTableId)
      const isStrictlyIsolated = strictlyIsolatedCoins.has(coin)
      return coinOf(
        { coin, sizeDecimals, maxLeverage, marginTableId, isDelisted, isStrictlyIsolated },
        startQuarter - HISTORY_QUARTERS,
        { priceUsd, dayNotionalUsd, openInterestUsd, delistedAtMs },
      )
    },
    ofListing({ coin, sizeDecimals, maxLeverage, priceUsd, dayNotionalUsd }, atMs) {
      const marginTableId = maxLeverage
      return coinOf(
        {
          ...{ coin, sizeDecimals, maxLeverage, marginTableId },
          ...{ isDelisted: false, isStrictlyIsolated: false },
        },
        Math.floor(atMs / QUARTER_MS),
        {
          ...{ priceUsd, dayNotionalUsd, openInterestUsd: dayNotionalUsd },
          delistedAtMs: Number.POSITIVE_INFINITY,
        },
      )
    },
  }
}
