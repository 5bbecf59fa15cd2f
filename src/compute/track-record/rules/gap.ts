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
import { DAY_MINUTES, minutesBefore } from '../../external/measures/minute-statistics.ts'
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
    valueAt(log, coin, [network = -1], timeMs, offMsMax) {
      const name = oracleNetworks[network]
      if (name === undefined) return Number.NaN
      return log.near(gapSeries.basis(coin, name), timeMs, offMsMax)
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
    valueAt(log, coin, [dex = -1], timeMs, offMsMax) {
      const name = dexNames[dex]
      if (name === undefined) return Number.NaN
      return log.near(gapSeries.cexDex(coin, name), timeMs, offMsMax)
    },
  }),
  gapRule(
    'gap.arb@2',
    {
      gapOf: widestPair,
      valueAt(log, coin, [buy = -1, sell = -1], timeMs, offMsMax) {
        const gapAt = (chain: Chain | undefined) =>
          chain === undefined
            ? Number.NaN
            : log.near(arbSeries.gap(coin as ArbAsset, chain), timeMs, offMsMax)
        return gapAt(chains[sell]) - gapAt(chains[buy])
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
    valueAt,
  }: {
    gapOf(moment: Moment): Gap | null
    /** Gap by the measure log, bps; NaN if unknown. */
    valueAt(log: MeasureLog, coin: string, legs: Legs, timeMs: number, offMsMax: number): number
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
      const minutes = minutesBefore(
        nowMs,
        DAY_MINUTES,
        (timeMs) => valueAt(market.log, coin.listing.coin, legs, timeMs, 0) - structuralBps,
      )
      const persistence = gapPersistence(minutes, gapBps, HORIZON_MS)
      if (persistence === null) return null
      const side = Math.sign(gapBps)
      const levelBps = side * structuralBps + REMAINING_SHARE * Math.abs(gapBps)
      return { statement: { form: 'event', ...persistence }, reference: [side, levelBps, ...legs] }
    },
    outcome({ coin, madeAtMs, horizonMs, reference }, { market }) {
      const [side = 0, levelBps = 0, ...legs] = reference
      const valueBps = valueAt(market.log, coin, legs, madeAtMs + horizonMs, NEAR_MS)
      if (Number.isNaN(valueBps)) return null
      return { kind: 'event', happened: side * valueBps >= levelBps, controlHappened: null }
    },
  }
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
