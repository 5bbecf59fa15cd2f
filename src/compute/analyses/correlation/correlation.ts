import type { Input } from '../../../domain/document.ts'
import { isoInstant } from '../../../domain/instant.ts'
import { sectorOf, sectors } from '../../../domain/sectors.ts'
import type { MarketAnalysis } from '../../analysis.ts'
import { CONTEXT_CADENCE_MS } from '../../market/cadence.ts'
import { completenessWarnings, coveragePct } from '../../render/completeness.ts'
import { belowFloor } from '../../render/coverage-floor.ts'
import { oneAnswer } from '../../render/one-answer.ts'
import { orNull, percent, score } from '../../render/significance.ts'
import { correlationRegime } from './correlation-regime.ts'
import { CorrelationAnswer } from './correlation-schema.ts'
import {
  COMMON_RETURNS_MIN,
  CORRELATED_COINS_MAX,
  RETURN_MS,
  SHORT_WINDOW_HOURS,
  WINDOW_HOURS,
} from './correlation-window.ts'
import type { GatheredCloses } from './gathered-closes.ts'
import { gatherCloses } from './gathered-closes.ts'
import type { Average, Correlated, Measured } from './measure-correlation.ts'
import { measure } from './measure-correlation.ts'

const PERIOD_MS = 10_000
const SECTOR_COINS_MIN = 2
const EXTREMES = 3
/** Share of the other coins that must be known; the other half leaves room for coins younger than a day. */
const COVERAGE_NEEDED = 0.5

/** Share of coins that may be late before candles_1h counts as late. */
const LATE_SHARE = 0.1

/** Rolling sums were once compared with the returns; the member stays, because it is in the contract. */
const CROSS_CHECK = {
  served: 'from_scratch',
  pairs: 0,
  disagreeing: 0,
  disagreements_since_start: 0,
} as const

/** Correlation of all coins with BTC, and of the largest with each other, over 30 days of hourly returns. */
export const correlation: MarketAnalysis<GatheredCloses> = {
  contract: {
    id: 'correlation',
    offering: 'service_correlation',
    scope: 'market',
    summary:
      'Correlation of all coins with BTC and of the largest with each other, with intervals, sectors and regime',
    guide: {
      title: 'Correlation of all coins with BTC and with each other',
      useWhen:
        'you build or hedge a portfolio and want to know which coins move together, with confidence intervals.',
      notWhen: 'you want the direction of one coin (pulse).',
      returns:
        '30-day correlation of every coin with BTC, with interval and beta; a matrix of the 16 largest; sector averages; change over 24 h and 7 d; regime.',
    },
    priceUsdcAtomic: 50_000n,
    document: CorrelationAnswer,
    defaultView: '',
    viewParameters: [],
    compactOmits: ['matrix', 'stats'],
    inputAgeMsMax: Number.POSITIVE_INFINITY,
    coverageFloor: {
      counts: `coins with ${COMMON_RETURNS_MIN} hourly returns in common with BTC`,
      least: `half of the other listed coins, each with ${COMMON_RETURNS_MIN} hourly returns in common with BTC`,
    },
  },
  periodMs: PERIOD_MS,

  gather: gatherCloses,

  render: (gathered, rendering) =>
    oneAnswer(correlation.contract, rendering, () => {
      const measured = measure(gathered)
      const below = belowFloor(correlation.contract, {
        have: measured.coinsKnown,
        need: coinsNeeded(gathered),
      })
      if (below !== null || measured.kind === 'lacking')
        return below ?? { kind: 'missing-input', input: 'candles_1h' }
      const inputs = inputsOf(gathered, measured)
      const members = {
        timestamp_iso: isoInstant(rendering.renderedAtMs),
        ...bodyOf(measured),
      }
      const { hours, candles } = measured.window
      const known = { have: measured.coinsKnown, need: gathered.coinsTotal - 1 }
      return {
        members,
        sources: ['venue'],
        moreMeta: { cross_check: CROSS_CHECK },
        inputs,
        coveragePct: coveragePct(known),
        warnings: completenessWarnings({
          history: { have: hours, need: WINDOW_HOURS },
          records: { have: candles, need: hours + 1 },
          members: known,
        }),
      }
    }),
}

function coinsNeeded({ coinsTotal }: GatheredCloses): number {
  const others = Math.min(coinsTotal, CORRELATED_COINS_MAX) - 1
  return Math.max(1, Math.ceil(COVERAGE_NEEDED * others))
}

function bodyOf(measured: Measured) {
  const { correlated, window, matrix, short } = measured
  const average = score(measured.average)
  const dayAgo = shown(measured.dayAgo)
  return {
    coins_analyzed: correlated.length,
    window: {
      hours: window.hours,
      candles: window.candles,
      interval: '1h',
      first_iso: isoInstant(window.firstHour * RETURN_MS),
      last_iso: isoInstant(window.lastHour * RETURN_MS),
    },
    method: 'pearson_log_returns',
    avg_correlation: average,
    regime: correlationRegime(average, measured.altcoins, window.candles),
    correlations: Object.fromEntries(correlated.map(({ coin, r }) => [coin, score(r)])),
    stats: Object.fromEntries(correlated.map((each) => [each.coin, statisticsOf(each)])),
    matrix: {
      coins: matrix.coins,
      values: matrix.values.map((row) => row.map((r) => orNull(r, score))),
    },
    sector_averages: sectorAverages(correlated),
    change: {
      avg_24h_ago: dayAgo,
      avg_7d_ago: shown(measured.weekAgo),
      delta_24h: dayAgo === null ? null : score(average - dayAgo),
    },
    short_window: {
      hours: SHORT_WINDOW_HOURS,
      avg_correlation: shown(short),
      regime: correlationRegime(shown(short), short?.coins ?? 0, Number.POSITIVE_INFINITY),
    },
    ...extremes(correlated),
  }
}

function statisticsOf({ n, beta, interval }: Correlated) {
  return {
    n,
    stderr: orNull(interval?.stderr ?? null, percent),
    ci_low: orNull(interval?.low ?? null, score),
    ci_high: orNull(interval?.high ?? null, score),
    beta: score(beta),
  }
}

function sectorAverages(correlated: readonly Correlated[]) {
  return Object.fromEntries(
    sectors.map((sector) => {
      const members = correlated.filter(({ coin }) => sectorOf(coin) === sector)
      const sum = members.reduce((total, { r }) => total + r, 0)
      return [sector, members.length < SECTOR_COINS_MIN ? null : score(sum / members.length)]
    }),
  )
}

function extremes(correlated: readonly Correlated[]) {
  const ranked = correlated.toSorted((one, other) => other.r - one.r)
  const row = ({ coin, r }: Correlated) => ({ coin, r: score(r) })
  return {
    most_correlated: ranked.slice(0, EXTREMES).map(row),
    least_correlated: ranked.toReversed().slice(0, EXTREMES).map(row),
  }
}

function shown(average: Average | null): number | null {
  return average === null ? null : score(average.average)
}

function inputsOf(gathered: GatheredCloses, { correlated, matrix }: Measured): Input[] {
  const { candlesConfirmedAtMs, contextReceivedAtMs, coins } = gathered
  const others = correlated
    .map(({ row }) => candlesConfirmedAtMs[row] as number)
    .toSorted((one, other) => one - other)
  const leaderAtMs = candlesConfirmedAtMs[coins.indexOf(matrix.coins[0] as string)] as number
  const inputs: Input[] = [
    {
      name: 'candles_1h',
      confirmedAtMs: Math.min(leaderAtMs, others[Math.floor(LATE_SHARE * others.length)] as number),
      cadenceMs: CONTEXT_CADENCE_MS,
      isLoadBearing: true,
    },
  ]
  const ranked = matrix.coins.map((coin) => contextReceivedAtMs[coins.indexOf(coin)] as number)
  const interestAtMs = Math.min(...ranked)
  // Open interest only selects the coins of the matrix.
  if (!Number.isNaN(interestAtMs))
    inputs.push({
      name: 'open_interest',
      confirmedAtMs: interestAtMs,
      cadenceMs: CONTEXT_CADENCE_MS,
      isLoadBearing: false,
    })
  return inputs
}
