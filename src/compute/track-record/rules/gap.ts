import type { Chain } from '../../../domain/external.ts'
import { chains, oracleNetworks } from '../../../domain/external.ts'
import type { RuleId } from '../../../domain/track-record.ts'
import { arbSeries } from '../../external/arb/arb-history.ts'
import { arbMeasure } from '../../external/arb/arb-measure.ts'
import type { ArbAsset } from '../../external/arb/arb-model.ts'
import { majorAssets, PERSISTENT_SECONDS } from '../../external/arb/arb-model.ts'
import { readBasis } from '../../external/basis-reading.ts'
import { dexName, isActionable, isSound, readCexDex } from '../../external/cex-dex-reading.ts'
import { gapSeries } from '../../external/measures/gap-series.ts'
import { DAY_MINUTES } from '../../external/measures/minute-statistics.ts'
import type { MeasureLog } from '../../market/measure-log.ts'
import { bps } from '../../render/significance.ts'
import { gapPersistence, REMAINING_SHARE } from '../gap-persistence.ts'
import type { Moment, Rule } from '../rule.ts'

const HORIZON_MS = 900_000
/** Distance of the minute by which a gap is resolved. */
const NEAR_MS = 120_000
/** A sample that is older states nothing of the present. */
const SAMPLE_MS_MAX = 60_000
const POOL = 'pool'

/** What a gap is between, by positions in lists that are only extended. */
type Legs = readonly number[]

type Gap = {
  readonly gapBps: number
  /** Part of it that is permanent and not claimed. */
  readonly structuralBps: number
  readonly legs: Legs
}

/** Where the measure log has a gap: the minutes of one series, less those of another one. */
type GapSeries = { readonly of: string; readonly less?: string }

/**
 * Whether a gap that an answer states beyond its noise is still there after 15 minutes: half of it on the same side. The
 * control is the share of the day's minutes with such a gap.
 */
export const gapRules: readonly Rule[] = [
  gapRule('gap.basis@2', {
    gapOf({ coin, market, nowMs }) {
      const reading = readBasis(coin, market, nowMs)
      if (reading === null || reading.choice.weakness !== null) return null
      const { context, basisBps, band, oracle } = reading
      if (nowMs - context.timeReceivedMs > SAMPLE_MS_MAX) return null
      // As printed.
      if (bps(Math.abs(basisBps)) <= Math.max(bps(band.totalBps), 1)) return null
      return { gapBps: basisBps, structuralBps: 0, legs: [oracleNetworks.indexOf(oracle.network)] }
    },
    seriesOf(coin, [network = -1]) {
      const name = oracleNetworks[network]
      return name === undefined ? null : { of: gapSeries.basis(coin, name) }
    },
  }),
  gapRule('gap.cex_dex@2', {
    gapOf({ coin, market, nowMs }) {
      const reading = readCexDex(coin, market, nowMs)
      if (typeof reading === 'string' || !isSound(reading) || !isActionable(reading)) return null
      if (nowMs - reading.context.timeReceivedMs > SAMPLE_MS_MAX) return null
      const dex = dexNames.indexOf(dexName(reading.dex))
      return { gapBps: reading.divergenceBps, structuralBps: 0, legs: [dex] }
    },
    seriesOf(coin, [dex = -1]) {
      const name = dexNames[dex]
      return name === undefined ? null : { of: gapSeries.cexDex(coin, name) }
    },
  }),
  gapRule(
    'gap.arb@2',
    {
      gapOf: widestPair,
      seriesOf(coin, legs) {
        const [buy, sell] = legs.map((leg) => chains[leg])
        if (buy === undefined || sell === undefined) return null
        const gapOf = (chain: Chain) => arbSeries.gap(coin as ArbAsset, chain)
        return { of: gapOf(sell), less: gapOf(buy) }
      },
    },
    majorAssets,
  ),
]

/** Legs of `/cex-dex`: the pool, or an oracle network. */
const dexNames: readonly string[] = [POOL, ...oracleNetworks]

function gapRule(
  id: RuleId,
  {
    gapOf,
    seriesOf,
  }: {
    gapOf(moment: Moment): Gap | null
    /** Of a gap in bps; null for legs of another version. */
    seriesOf(coin: string, legs: Legs): GapSeries | null
  },
  coins?: readonly string[],
): Rule {
  return {
    id,
    form: 'event',
    ...(coins !== undefined && { coins }),
    horizonMs: () => HORIZON_MS,
    make(moment) {
      const gap = gapOf(moment)
      if (gap === null) return null
      const { gapBps, structuralBps, legs } = gap
      const { coin, market, nowMs } = moment
      const series = seriesOf(coin.listing.coin, legs)
      if (series === null) return null
      const minutes = dayOf(market.log, series, nowMs).map((value) => value - structuralBps)
      const persistence = gapPersistence(minutes, gapBps, HORIZON_MS)
      if (persistence === null) return null
      const side = Math.sign(gapBps)
      const levelBps = side * structuralBps + REMAINING_SHARE * Math.abs(gapBps)
      return { statement: { form: 'event', ...persistence }, reference: [side, levelBps, ...legs] }
    },
    outcome({ coin, madeAtMs, horizonMs, reference }, { market }) {
      const [side = 0, levelBps = 0, ...legs] = reference
      const series = seriesOf(coin, legs)
      const valueBps =
        series === null ? Number.NaN : valueAt(market.log, series, madeAtMs + horizonMs)
      if (Number.isNaN(valueBps)) return null
      return { kind: 'event', happened: side * valueBps >= levelBps, controlHappened: null }
    },
  }
}

/** Minutes of a day in bps, NaN where one is unknown. */
function dayOf(log: MeasureLog, { of, less }: GapSeries, nowMs: number): Float64Array {
  const minutes = log.minutes(of, nowMs, DAY_MINUTES)
  if (less === undefined) return minutes
  const others = log.minutes(less, nowMs, DAY_MINUTES)
  return minutes.map((value, at) => value - (others[at] as number))
}

/** Bps at about an instant; NaN if unknown. */
function valueAt(log: MeasureLog, { of, less }: GapSeries, timeMs: number): number {
  const value = log.near(of, timeMs, NEAR_MS)
  return less === undefined ? value : value - log.near(less, timeMs, NEAR_MS)
}

/** The pair of chains with the largest net of those that `/arb` states to persist. */
function widestPair({ coin, market, nowMs }: Moment): Gap | null {
  const latest = market.of(arbMeasure).latest
  // Without a stress index `/arb` states nothing.
  if (latest?.stress == null || nowMs - latest.sampledAtMs > SAMPLE_MS_MAX) return null
  const pair = latest.dislocations.find(
    ({ asset, ageMs }) => asset === coin.listing.coin && ageMs >= PERSISTENT_SECONDS * 1_000,
  )
  const gaps = latest.assets.find(({ asset }) => asset === pair?.asset)?.gaps
  if (pair === undefined || gaps === undefined) return null
  const legs = [chains.indexOf(pair.buyChain), chains.indexOf(pair.sellChain)]
  const [buy, sell] = legs.map((at) => gaps[at]?.structuralBps ?? Number.NaN)
  const structuralBps = (sell ?? Number.NaN) - (buy ?? Number.NaN)
  return { gapBps: pair.grossBps, structuralBps, legs }
}
