import { cascadeRisk, hourlyAtrPct } from '../../liquidation/cascade.ts'
import { heatmapOf } from '../../liquidation/heatmap.ts'
import { LiquidationExposure } from '../../liquidation/liquidation-exposure.ts'
import type { RecentBar } from '../recent-bars.ts'
import { recentBars } from '../recent-bars.ts'
import type { Moment, Rule } from '../rule.ts'
import { DAY_MS } from '../rule.ts'

type Ranks = { readonly score: number; readonly control: number }

/**
 * Scores that rank the largest move of the next 24 hours, percent: the cascade score, whose control is ATR alone, and
 * ATR alone, percent, whose control is the largest move of the last 24 hours.
 */
export const cascadeRules: readonly Rule[] = [
  cascadeRule('cascade.score@1', ({ coin }) => {
    const exposure = LiquidationExposure.of(coin)
    const atrPct = hourlyAtrPct(coin)
    if (exposure === null || atrPct === null || !(coin.midPrice > 0)) return null
    const { openInterestBase, markPrice } = exposure
    const map = heatmapOf(exposure, coin.midPrice)
    const { score } = cascadeRisk(map, openInterestBase * markPrice, atrPct)
    return { score, control: atrPct }
  }),
  cascadeRule('cascade.atr@2', ({ coin, dayBars, atMs }) => {
    const score = hourlyAtrPct(coin)
    const startPrice = coin.of(recentBars).closeAt(atMs - DAY_MS)
    if (score === null || Number.isNaN(startPrice)) return null
    return { score, control: largestMovePct(dayBars(), startPrice) }
  }),
]

function cascadeRule(id: Rule['id'], ranks: (moment: Moment) => Ranks | null): Rule {
  return {
    id,
    form: 'rank',
    horizonMs: () => DAY_MS,
    make(moment) {
      const ranked = ranks(moment)
      return ranked === null ? null : { statement: { form: 'rank', ...ranked }, reference: [] }
    },
    outcome({ madeAtMs, horizonMs }, { bars }) {
      const following = bars.between(madeAtMs, madeAtMs + horizonMs)
      const start = bars.closeAt(madeAtMs)
      if (following === null || Number.isNaN(start)) return null
      return { kind: 'value', value: largestMovePct(following, start) }
    },
  }
}

function largestMovePct(bars: readonly RecentBar[], startPrice: number): number {
  const high = Math.max(...bars.map((bar) => bar.high))
  const low = Math.min(...bars.map((bar) => bar.low))
  return 100 * Math.max(high / startPrice - 1, 1 - low / startPrice)
}
