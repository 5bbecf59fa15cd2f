import { cascadeRisk, hourlyAtrPct } from '../../liquidation/cascade.ts'
import { heatmapOf } from '../../liquidation/heatmap.ts'
import { LiquidationExposure } from '../../liquidation/liquidation-exposure.ts'
import type { Rule } from '../rule.ts'
import { DAY_MS } from '../rule.ts'

/** The cascade score ranks the largest move of the next 24 hours, percent; its control is ATR alone, percent. */
export const cascadeScoreRule: Rule = {
  id: 'cascade.score@1',
  form: 'rank',
  horizonMs: () => DAY_MS,
  make({ coin }) {
    const exposure = LiquidationExposure.of(coin)
    const atrPct = hourlyAtrPct(coin)
    if (exposure === null || atrPct === null || !(coin.midPrice > 0)) return null
    const { openInterestBase, markPrice } = exposure
    const map = heatmapOf(exposure, coin.midPrice)
    const { score } = cascadeRisk(map, openInterestBase * markPrice, atrPct)
    return { statement: { form: 'rank', score, control: atrPct }, reference: [] }
  },
  outcome({ madeAtMs, horizonMs }, { bars }) {
    const following = bars.between(madeAtMs, madeAtMs + horizonMs)
    const start = bars.closeAt(madeAtMs)
    if (following === null || Number.isNaN(start)) return null
    const high = Math.max(...following.map((bar) => bar.high))
    const low = Math.min(...following.map((bar) => bar.low))
    return { kind: 'value', value: 100 * Math.max(high / start - 1, 1 - low / start) }
  },
}
